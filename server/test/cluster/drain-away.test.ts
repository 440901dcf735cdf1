// A node that is told to stop while its database is away stops all the same, says what it left, and another one does it.

import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { type Exit, ServerProcess } from '../crash/server-process.ts';
import { ask } from '../support/client.ts';
import { startReceiver } from '../support/receiver.ts';
import { proxiedDatabase } from './proxied-database.ts';
import type { TcpProxy } from './tcp-proxy.ts';

const AWAY = [
  ['refuses connections', (proxy: TcpProxy) => proxy.refuse()],
  ['is silent', (proxy: TcpProxy) => proxy.blackhole()],
] as const;

/** The time to drain, and 10 s of its own. */
const ENDED_MS_MAX = 1000 + 10_000;
/** A busy machine starts timers late; a drain that never ends is not taken for that. */
const LATE_MS_MAX = 10_000;

function endedInTime(stopping: Promise<Exit>): Promise<Exit> {
  const late = wait(ENDED_MS_MAX + LATE_MS_MAX, null, { ref: false }).then(() => assert.fail('it has not ended'));
  return Promise.race([stopping, late]);
}

/** A node behind a network that can be taken away; with `direct`, the way to its database that stays. */
async function givenNode(t: TestContext) {
  const { url, direct, proxy } = await proxiedDatabase(t);
  const node = new ServerProcess(['--store', url, '--drain', '1s']);
  t.after(() => node.kill());
  return { node, proxy, direct };
}

describe('a drain while the database is away', { concurrency: true }, () => {
  for (const [how, takeAway] of AWAY) {
    test(`a drain ends while the database ${how}; what it left is delivered by the next node`, async (t) => {
      const { node: first, proxy, direct } = await givenNode(t);
      let answer = () => {};
      const answered = new Promise<void>((resolve) => {
        answer = resolve;
      });
      const receiver = await startReceiver(t, async () => {
        await answered;
        return 200;
      });
      const { api, token } = await first.ready;
      const headers = { Authorization: `Bearer ${token}` };
      for (let count = 0; count < 2; count += 1) {
        assert.equal((await ask(api, `/v2/publish/${receiver.url}`, { method: 'POST', headers })).status, 201);
      }
      await receiver.received(2);
      takeAway(proxy);
      const stopping = first.stop();
      answer();
      const { code } = await endedInTime(stopping);
      assert.equal(code, 3, first.stderr);
      assert.match(first.stderr, /the store did not respond\. The result of 2 attempts could not be stored/);
      const second = new ServerProcess(['--store', direct]);
      t.after(() => second.kill());
      await second.ready;
      await receiver.received(4);
      assert.equal((await second.stop()).code, 0);
    });

    test(`a node without attempts in flight reports that it could not sign off while the database ${how}`, async (t) => {
      const { node, proxy } = await givenNode(t);
      await node.ready;
      takeAway(proxy);
      const { code } = await endedInTime(node.stop());
      assert.equal(code, 3, node.stderr);
      assert.match(node.stderr, /the store did not respond\. The results of all attempts are stored/);
    });
  }
});
