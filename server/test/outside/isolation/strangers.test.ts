// Callers without a token: whatever they open, send slowly or leave unread, callers with a token get in and are served.
// The limits are those of the service, with one lane and with four.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent } from 'node:http';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { type Postrider, startPostrider } from '../../../src/node/main.ts';
import { parseConfig } from '../../../src/node/settings/config.ts';
import { nodeMax } from '../../../src/rules/limits/budgets.ts';
import { part } from '../../support/campaign.ts';
import { ask } from '../../support/client.ts';
import type { Cleanup } from '../../support/receiver.ts';
import { waitFor } from '../../support/wait.ts';

/** More than the node has room for. */
const MANY = nodeMax('connections') + 200;
const PUBLISHES = 20;

/** Each says one byte of a body that is announced, and nothing more. */
const SLOW_BODIES = {
  'the session of the console':
    'POST /console/session HTTP/1.1\r\nHost: localhost\r\nX-Postrider-Console: 1\r\nContent-Length: 9\r\n\r\n{',
  'a page of the docs': 'GET /docs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{',
};

for (const lanes of part === 'short' ? [1] : part === 'rest' ? [4] : [1, 4]) {
  suite(`with ${lanes === 1 ? 'one lane' : `${lanes} lanes`}`, () => {
    const data = mkdtempSync(join(tmpdir(), 'postrider-strangers-'));
    let postrider: Postrider;
    let token: string;

    before(async () => {
      const place = ['--data', data, '--port', '0', '--host', '127.0.0.1', '--lanes', String(lanes)];
      const parsed = parseConfig('serve', [...place, '--log-level', 'silent'], {});
      assert.ok('config' in parsed);
      postrider = await startPostrider(parsed.config);
      token = postrider.token!;
      const allListen = new RegExp(`^postrider_lanes ${lanes}$`, 'm');
      if (lanes > 1) {
        await waitFor('all lanes', async () => allListen.test((await ask(postrider.url, '/metrics', {})).text));
      }
    });

    after(async () => {
      await postrider.close();
      rmSync(data, { recursive: true });
    });

    /** On a new connection: one that was idle before the crowd came is the first that the service closes. */
    const agent = new Agent({ keepAlive: false });
    const publish = () =>
      ask(
        postrider.url,
        '/v2/publish/http://192.0.2.1/',
        {
          method: 'POST',
          body: 'hello',
          headers: { Authorization: `Bearer ${token}`, 'Service-Delay': '1h' },
        },
        agent,
      ).then(
        ({ status }) => status,
        (error: Error) => error.message,
      );

    async function crowd(t: Cleanup, say: string): Promise<Socket[]> {
      const sockets: Socket[] = [];
      const port = Number(new URL(postrider.url).port);
      for (let count = 0; count < MANY; count += 1) {
        const socket = connect({ port, host: '127.0.0.1' });
        socket.on('error', () => {});
        socket.on('connect', () => socket.write(say));
        t.after(() => void socket.destroy());
        sockets.push(socket.resume());
        if (count % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
      }
      await waitFor('all of them to have been taken', () =>
        sockets.every((socket) => socket.bytesWritten > 0 || socket.destroyed),
      );
      return sockets;
    }

    for (const [what, say] of Object.entries(SLOW_BODIES)) {
      test(`${MANY} callers that send one byte of a body to ${what}: every new publish is accepted`, async (t) => {
        await crowd(t, say);
        const statuses: (number | string)[] = [];
        for (let count = 0; count < PUBLISHES; count += 1) statuses.push(await publish());
        assert.deepEqual(statuses, Array(PUBLISHES).fill(201));
      });
    }
  });
}
