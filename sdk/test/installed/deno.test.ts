// The client, a receiver and a service for tests in Deno.

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, globSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { sharedService } from '../../../console/test/service.ts';
import { buildSdk } from '../../../packaging/build.ts';
import { installed, ownEnvironment, programFolder } from '../../../packaging/installed.ts';
import { bundled } from '../frameworks/bundle.ts';
import { checkReceiver } from '../frameworks/check-receiver.ts';
import { EXPECTED } from '../scenario.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');

const service = sharedService();
let folder = '';
let deno = '';

before(async () => {
  const packages = await installed(join(import.meta.dirname, 'deno'));
  deno = globSync(join(packages, 'node_modules', '@deno', '*', 'deno*')).find((file) => existsSync(file)) ?? '';
  assert.notEqual(deno, '', 'npm has no Deno for this machine');
  buildSdk(join(packages, 'node_modules', 'postrider-sdk'));
  folder = programFolder(packages);
});

after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));

function program(name: string, text: string): string {
  const file = join(folder, name);
  writeFileSync(file, text);
  return file;
}

async function printed(file: string, ...allowed: string[]): Promise<unknown> {
  const { stdout } = await promisify(execFile)(deno, ['run', '--no-prompt', ...allowed, file], {
    cwd: folder,
    env: ownEnvironment(),
    timeout: 300_000,
  });
  return JSON.parse(stdout.trim().split('\n').at(-1)!);
}

test('in Deno a program does what it does in Node.js', async () => {
  const code = await bundled(join(import.meta.dirname, '..', 'scenario.ts'));
  const place = { url: service().url, token: service().token, run: 'deno' };
  const call = `console.log(JSON.stringify(await scenario(${JSON.stringify(place)})));`;
  assert.deepEqual(await printed(program('program.js', `${code}\n${call}`), '--allow-net'), EXPECTED);
});

test('Deno.serve: a delivery is verified, handled and answered; what is no delivery is refused', async () => {
  const handler = await bundled(join(import.meta.dirname, '..', 'frameworks', 'handler.ts'));
  program('handler.js', handler);
  await checkReceiver(service(), 'Deno', async (keys) => {
    const file = program(
      'server.js',
      `import { receive } from 'postrider-sdk/workers';
import { handle } from './handler.js';
Deno.serve({ hostname: '127.0.0.1', port: 0, onListen: ({ port }) => console.log(port) },
  receive(${JSON.stringify({ keys, bodyBytesMax: 100_000 })}, handle));`,
    );
    const child = spawn(deno, ['run', '--no-prompt', '--allow-net', file], {
      cwd: folder,
      env: ownEnvironment(),
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const gone = once(child, 'exit');
    const [port] = (await Promise.race([once(child.stdout, 'data'), gone.then(() => ['0'])])) as [unknown];
    return {
      url: `http://127.0.0.1:${String(port).trim()}/hook`,
      close: async () => {
        child.kill();
        await gone;
      },
    };
  });
});

test('a test in Deno starts a service and moves its clock', async () => {
  const command = [process.execPath, join(ROOT, 'server', 'bin', 'postrider.js')];
  const file = program(
    'clock.js',
    `import { startPostrider } from 'postrider-sdk/testing';
await using postrider = await startPostrider({ command: ${JSON.stringify(command)} });
const { messageId } = await postrider.client.publish({ url: postrider.url + '/dev/sink/ok', delay: '1h' });
await postrider.clock.advance('1h');
const { state } = await postrider.client.messages.get(messageId);
const inside = await startPostrider({ inProcess: true }).catch((error) => error.message);
console.log(JSON.stringify({ state, inside }));`,
  );
  const { state, inside } = (await printed(file, '--allow-all')) as Record<string, string>;
  assert.equal(state, 'DELIVERED');
  assert.match(inside!, /needs Node\.js 24/);
});
