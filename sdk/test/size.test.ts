// How many bytes of the SDK a program ships: bundled, minified and compressed as its users do it.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { rolldown } from 'rolldown';

async function bytesOf(code: string): Promise<number> {
  const build = await rolldown({
    input: 'program',
    platform: 'browser',
    plugins: [
      {
        name: 'program',
        resolveId: (id) => (id === 'program' ? join(import.meta.dirname, 'program.js') : null),
        load: (id) => (id.endsWith('program.js') ? code : null),
      },
    ],
  });
  const { output } = await build.generate({ format: 'esm', minify: true });
  await build.close();
  return gzipSync(output[0].code, { level: 9 }).length;
}

const ONE_CALL = `import { calls, connect } from 'postrider-sdk';
const send = connect({ baseUrl: location.origin, token: prompt() });
console.log(await send(calls.publish({ url: prompt(), json: {} })));`;
const WITH_RETRIES = `import { calls, connect, retry } from 'postrider-sdk';
const send = connect({ baseUrl: location.origin, token: prompt() }, retry());
console.log(await send(calls.publish({ url: prompt(), json: {} })));`;
const RECEIVER = `import { receive } from 'postrider-sdk/hono';
console.log(receive({ keys: [prompt()] }, () => {}));`;
const ALL = `import { Postrider } from 'postrider-sdk';
console.log(new Postrider({ baseUrl: prompt() }));`;

test('one call is at most 2 KB, with retries 2.4 KB, a receiver 2.2 KB, and the whole client 6.3 KB', async () => {
  const sizes = {
    oneCall: await bytesOf(ONE_CALL),
    withRetries: await bytesOf(WITH_RETRIES),
    receiver: await bytesOf(RECEIVER),
    all: await bytesOf(ALL),
  };
  const isSmall = sizes.oneCall <= 2040 && sizes.withRetries <= 2470 && sizes.receiver <= 2200 && sizes.all <= 6300;
  assert.ok(isSmall, JSON.stringify(sizes));
  // A bundle that has lost what it should do would be small as well.
  assert.ok(sizes.oneCall > 800 && sizes.all > sizes.oneCall * 2, JSON.stringify(sizes));
});
