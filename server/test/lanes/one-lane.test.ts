// A system that does not let sockets share a port: the process has one lane, and that lane has all of the limits.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { startPostrider } from '../../src/node/main.ts';
import { parseConfig } from '../../src/node/settings/config.ts';
import { ask } from '../support/client.ts';

type Listen = (this: Server, options: { readonly reusePort?: boolean }, ...rest: unknown[]) => Server;

test('without shared ports there is one lane, and it has all of the limits', async (t) => {
  const sockets = Server.prototype as unknown as { listen: Listen };
  const { listen } = sockets;
  sockets.listen = function (options, ...rest) {
    if (!options.reusePort) return listen.call(this, options, ...rest);
    process.nextTick(() => this.emit('error', Object.assign(new Error('listen ENOTSUP'), { code: 'ENOTSUP' })));
    return this;
  };
  const data = mkdtempSync(join(tmpdir(), 'postrider-one-lane-'));
  t.after(() => {
    sockets.listen = listen;
    rmSync(data, { recursive: true });
  });
  const argv = ['--data', data, '--port', '0', '--host', '127.0.0.1', '--lanes', '4', '--log-level', 'silent'];
  const parsed = parseConfig('serve', argv, {});
  assert.ok('config' in parsed);
  const postrider = await startPostrider(parsed.config);
  const { text } = await ask(postrider.url, '/metrics', {}).finally(() => postrider.close());
  assert.match(text, /^postrider_pool_max\{pool="slots"\} 1000$/m);
  assert.match(text, /^postrider_pool_max\{pool="reads"\} 64$/m);
  assert.doesNotMatch(text, /^postrider_lanes /m);
});
