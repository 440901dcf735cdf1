// A whole app of Next.js with both of its routers: its types are checked, it is built and started as in production, and
// it gets real deliveries.

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { Postrider } from 'postrider-sdk';
import { sharedService } from '../../../console/test/service.ts';
import { buildSdk } from '../../../packaging/build.ts';
import { installed, ownEnvironment, programFolder } from '../../../packaging/installed.ts';
import { checkReceiver } from '../frameworks/check-receiver.ts';

const OPTIONS = `() => ({ keys: process.env.SIGNING_KEYS!.split(','), bodyBytesMax: 100_000 })`;
const APP = `import { receive } from 'postrider-sdk/next';
import { handle } from '../../handler';
export const POST = receive(${OPTIONS}, handle);`;
const PAGES = `import { receivePages } from 'postrider-sdk/next';
import { handle } from '../../handler';
export default receivePages(${OPTIONS}, handle);`;

const FILES = {
  'package.json': '{"type":"module"}',
  // Its packages are in the folder above. Next.js would look for them at the top of the checkout.
  'next.config.mjs': `import { dirname } from 'node:path';
export default { turbopack: { root: dirname(import.meta.dirname) } };`,
  'app/layout.tsx': `import type { ReactNode } from 'react';
export default function Layout({ children }: { children: ReactNode }) { return <html><body>{children}</body></html>; }`,
  'app/hook/route.ts': APP,
  'app/edge/route.ts': `export const runtime = 'edge';\n${APP}`,
  'pages/api/hook.ts': `export const config = { api: { bodyParser: false } };\n${PAGES}`,
  'pages/api/parsed.ts': PAGES,
};

const service = sharedService();
const ends: (() => unknown)[] = [];
let url = '';
let said = '';

before(
  async () => {
    const packages = await installed(join(import.meta.dirname, 'next'));
    buildSdk(join(packages, 'node_modules', 'postrider-sdk'));
    const folder = programFolder(packages);
    ends.push(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
    cpSync(join(import.meta.dirname, '..', 'frameworks', 'handler.ts'), join(folder, 'handler.ts'));
    for (const [name, text] of Object.entries(FILES)) {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      writeFileSync(join(folder, name), text);
    }
    const { current, next } = await service().client.getKeys();
    const SIGNING_KEYS = [next, current].join(',');
    url = await startApp(folder, { ...ownEnvironment(), NEXT_TELEMETRY_DISABLED: '1', SIGNING_KEYS });
  },
  { timeout: 900_000 },
);

after(async () => {
  for (const end of ends.reverse()) await end();
});

async function startApp(folder: string, env: NodeJS.ProcessEnv): Promise<string> {
  const next = join(folder, '..', 'node_modules', 'next', 'dist', 'bin', 'next');
  await promisify(execFile)(process.execPath, [next, 'build'], { cwd: folder, env });
  const child = spawn(process.execPath, [next, 'start', '-H', '127.0.0.1', '-p', '0'], {
    cwd: folder,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const gone = once(child, 'exit');
  ends.push(async () => {
    child.kill();
    await gone;
  });
  return new Promise((resolve, reject) => {
    gone.then(() => reject(new Error(`next start has ended: ${said}`)));
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        said += text;
        const [found] = /http:\/\/127\.0\.0\.1:\d+/.exec(said) ?? [];
        if (found !== undefined) resolve(found);
      });
    }
  });
}

for (const [name, path] of [
  ['app router', '/hook'],
  ['app router, on the edge', '/edge'],
  ['pages router', '/api/hook'],
] as const) {
  test(`Next.js, ${name}: a delivery is verified, handled and answered; what is no delivery is refused`, () =>
    checkReceiver(service(), name, async () => ({ url: `${url}${path}`, close: async () => {} })));
}

test('Next.js, pages router: a body that Next.js has parsed is told as a mistake of the program', async () => {
  const postrider = new Postrider({ baseUrl: service().url, token: service().token });
  const { messageId } = await postrider.publish({ url: `${url}/api/parsed`, json: { a: 1 }, retries: 0 });
  const { state, attempts } = await postrider.waitFor(messageId);
  assert.deepEqual([state, attempts[0]?.responseStatus], ['FAILED', 500]);
  assert.match(said, /the body was parsed before it could be verified/);
});
