// The budget of name look-ups: an account whose names are never answered waits for itself, and its messages with it. The
// names of others are looked up meanwhile, and waiting for a look-up is no attempt.

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { test } from 'node:test';
import type { Network } from '../../../src/delivery/egress/dial.ts';
import { nodeMax } from '../../../src/rules/limits/budgets.ts';
import { startRider, temporaryFolder } from '../../support/harness.ts';
import { lacks } from '../../support/machine.ts';
import { startReceiver } from '../../support/receiver.ts';
import { waitFor } from '../../support/wait.ts';
import { startChild } from './child.ts';
import { poolUsed } from './pools.ts';

const ANSWER = ['127.0.0.1'];

/**
 * A resolver with as many threads as the process has for look-ups. A name that starts with "silent" holds its thread
 * until it is let go; a name that comes when all are held waits for a thread.
 */
function resolver(threads: number) {
  const line: (() => void)[] = [];
  const held: (() => void)[] = [];
  let freeThreads = threads;
  const next = () => {
    while (freeThreads > 0 && line.length > 0) {
      freeThreads -= 1;
      line.shift()!();
    }
  };
  const network: Network = {
    connect,
    lookup: (hostname) =>
      new Promise((resolve) => {
        const answer = () => {
          freeThreads += 1;
          resolve(ANSWER);
          next();
        };
        line.push(() => (hostname.startsWith('silent') ? void held.push(answer) : answer()));
        next();
      }),
  };
  return {
    network,
    heldCount: () => held.length,
    letGo: () => {
      for (const answer of held.splice(0)) answer();
    },
  };
}

test('100 names whose servers are silent: the messages of another account are delivered, and none of it fails', async (t) => {
  const names = resolver(nodeMax('lookups'));
  const rider = await startRider(t, { network: names.network });
  const receiver = await startReceiver(t);
  const hostile = await rider.account('hostile');
  const quiet = await rider.account('quiet');
  const share = nodeMax('lookups') / 2;
  const silent: string[] = [];
  for (let i = 0; i < 100; i += 1) {
    silent.push(await rider.published(`http://silent${i}.test:${receiver.port}/`, { token: hostile.token }));
  }
  await waitFor('the account to have its share of look-ups', () => names.heldCount() === share);
  assert.equal(await poolUsed(rider, 'lookups'), share);
  for (let i = 0; i < 20; i += 1) {
    const id = await rider.published(`http://good${i}.test:${receiver.port}/`, { token: quiet.token });
    const { state, attempts } = await rider.ended(id, quiet.token);
    assert.equal(state, 'DELIVERED');
    assert.equal(attempts.length, 1);
  }
  assert.equal(names.heldCount(), share);

  // What waits for its turn has not been tried, however long it waits.
  const headers = { 'Service-Timeout': '1s' };
  const last = await rider.published(`http://silent100.test:${receiver.port}/`, { token: hostile.token, headers });
  silent.push(last);
  rider.clock.advance(4_000);
  assert.deepEqual((await rider.message(last, hostile.token)).attempts, []);
  await waitFor('all to be delivered', async () => {
    names.letGo();
    return (await rider.message(last, hostile.token)).state === 'DELIVERED';
  });
  for (const id of silent) {
    const { attempts, retried } = await rider.ended(id, hostile.token);
    assert.equal(attempts.length, 1);
    assert.equal(retried, 0);
  }
  const { attempts } = await rider.message(last, hostile.token);
  assert.equal(attempts[0]!.startedAt, rider.clock.now(), 'it began when its name could be looked up');
  assert.equal(await poolUsed(rider, 'lookups'), 0);
});

test('a name that is silent fails its own messages, after 5 seconds, and those that wait behind it have their turn', async (t) => {
  const names = resolver(nodeMax('lookups'));
  const rider = await startRider(t, { network: names.network });
  const receiver = await startReceiver(t);
  const share = nodeMax('lookups') / 2;
  const headers = { 'Service-Retries': '0' };
  const ids: string[] = [];
  for (let i = 0; i < share; i += 1) {
    ids.push(await rider.published(`http://silent${i}.test:${receiver.port}/`, { headers }));
  }
  await waitFor('the look-ups', () => names.heldCount() === share);
  const behind = await rider.published(`http://behind.test:${receiver.port}/`, { headers });
  await rider.advance(5_000);
  for (const id of ids) {
    const { attempts, state } = await rider.ended(id);
    assert.equal(state, 'FAILED');
    assert.match(attempts[0]!.error!, /name lookup took longer than 5 s/);
  }
  assert.equal((await rider.message(behind)).attempts.length, 0);
  names.letGo();
  assert.equal((await rider.ended(behind)).state, 'DELIVERED');
  assert.equal(await poolUsed(rider, 'lookups'), 0);
});

test('a node that stops gives back what waits for a look-up, and another delivers it in one attempt', async (t) => {
  const names = resolver(nodeMax('lookups'));
  const receiver = await startReceiver(t);
  const data = temporaryFolder(t);
  const first = await startRider(t, { network: names.network, data });
  for (let i = 0; i < nodeMax('lookups') / 2; i += 1) await first.published(`http://silent${i}.test:1/`);
  await waitFor('the look-ups', () => names.heldCount() === nodeMax('lookups') / 2);
  const id = await first.published(`http://behind.test:${receiver.port}/`);
  await first.quiet();
  await first.close();
  const second = await startRider(t, { network: resolver(nodeMax('lookups')).network, data, now: first.clock.now() });
  const { attempts } = await second.ended(id);
  assert.deepEqual(
    attempts.map(({ outcome }) => outcome),
    ['answered'],
  );
});

test('the process has two threads for each look-up of the budget', { skip: lacks('linux') }, async (t) => {
  const child = await startChild(t, [], { UV_THREADPOOL_SIZE: '4' });
  // The threads are made with the first look-up.
  await child.call('POST', `/v2/publish/http://localhost:${child.receiver.port}/`);
  await child.receiver.received(1);
  const tasks = `/proc/${child.pid}/task`;
  const names = readdirSync(tasks).map((task) => readFileSync(`${tasks}/${task}/comm`, 'utf8').trim());
  const threads = names.filter((name) => name === 'libuv-worker').length;
  assert.ok(threads >= 2 * nodeMax('lookups'), `${threads} threads`);
});
