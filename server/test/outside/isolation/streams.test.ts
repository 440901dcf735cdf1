// The budgets of live streams: an account has its share of them, all readers of an account cost the store a bounded
// number of reads, and accounts take turns.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodeMax } from '../../../src/rules/limits/budgets.ts';
import type { EventPage } from '../../../src/store/ports/message-store.ts';
import type { Store } from '../../../src/store/ports/store.ts';
import { type Rider, refusal, startRider } from '../../support/harness.ts';
import type { Cleanup } from '../../support/receiver.ts';
import { openTail, type Tail } from '../../support/tail.ts';
import { waitFor } from '../../support/wait.ts';
import { poolUsed } from './pools.ts';

const LATER = { 'Service-Delay': '1d' };

async function openTails(t: Cleanup, rider: Rider, token: string, queries: readonly string[]): Promise<Tail[]> {
  const tails: Tail[] = [];
  for (const query of queries) tails.push((await openTail(t, rider, { token, query })).read());
  return tails;
}

test('one account opens as many live streams as it can: it gets its share, and another is served', async (t) => {
  const rider = await startRider(t);
  const hostile = await rider.account('hostile');
  const quiet = await rider.account('quiet');
  const share = nodeMax('streams') / 2;
  const held = await openTails(t, rider, hostile.token, Array<string>(share).fill(''));
  const refused = await rider.call('GET', '/v2/events/stream', { token: hostile.token });
  refusal(refused, 429, 'share_used');
  assert.equal(refused.headers['retry-after'], '1');
  assert.equal(await poolUsed(rider, 'streams'), share);

  const tail = (await openTail(t, rider, { token: quiet.token })).read();
  await rider.published('http://127.0.0.1:1/', { token: quiet.token, headers: LATER });
  await tail.received(1);
  tail.close();
  for (const each of held) each.close();
  await waitFor('the streams to be given back', async () => (await poolUsed(rider, 'streams')) === 0);
  (await openTail(t, rider, { token: hostile.token })).close();
});

/** Holds every read of the journal until it is let go. */
function holdReads(store: Store) {
  const held: { readonly accountId: string; readonly go: () => void; readonly ended: Promise<EventPage> }[] = [];
  const { listEvents } = store;
  const hold: Store['listEvents'] = (accountId, filter, page) => {
    const { promise, resolve: go } = Promise.withResolvers<void>();
    const ended = promise.then(() => listEvents(accountId, filter, page));
    held.push({ accountId, go, ended });
    return ended;
  };
  Object.assign(store, { listEvents: hold });
  return {
    accounts: () => held.map(({ accountId }) => accountId),
    /** Lets the one go that waits longest. Resolves with its account when it has ended. */
    letGo: async (): Promise<string | undefined> => {
      const longest = held.shift();
      longest?.go();
      await longest?.ended;
      return longest?.accountId;
    },
  };
}

test('readers of one account that all want something else are read for one after the other, accounts in turn', async (t) => {
  const rider = await startRider(t);
  const hostile = await rider.account('hostile');
  const quiet = await rider.account('quiet');
  const reads = holdReads(rider.postrider.store);
  const queries = Array.from({ length: 30 }, (_, i) => `?label=l${i}`);
  const many = await openTails(t, rider, hostile.token, queries);
  const tail = (await openTail(t, rider, { token: quiet.token })).read();
  for (const token of [hostile.token, quiet.token]) {
    await rider.published('http://127.0.0.1:1/', { token, headers: { ...LATER, 'Service-Label': 'l29' } });
  }
  const bothBegin = () =>
    waitFor('the reads to begin', () => {
      rider.clock.advance(100);
      return reads.accounts().length === nodeMax('streamReads');
    });
  await bothBegin();
  assert.deepEqual(reads.accounts().toSorted(), [hostile.accountId, quiet.accountId].toSorted());
  const first = await reads.letGo();
  if (first !== quiet.accountId) {
    await bothBegin();
    assert.equal(await reads.letGo(), quiet.accountId, 'the other account waits behind one read, not behind thirty');
  }
  await tail.received(1);
  await waitFor('the reader whose label it is', async () => {
    assert.ok(reads.accounts().filter((id) => id === hostile.accountId).length <= 1);
    await reads.letGo();
    return many[29]!.events.length > 0;
  });
});

test('readers of one account that want the same share a read, and an account without news costs none', async (t) => {
  const rider = await startRider(t);
  const idle = await rider.account('idle');
  const busy = await rider.account('busy');
  await openTails(t, rider, idle.token, Array<string>(20).fill(''));
  const tails = await openTails(t, rider, busy.token, Array<string>(20).fill(''));
  await rider.quiet();
  const counted = new Map<string, number>();
  const { listEvents } = rider.postrider.store;
  const count: Store['listEvents'] = (accountId, filter, page) => {
    counted.set(accountId, (counted.get(accountId) ?? 0) + 1);
    return listEvents(accountId, filter, page);
  };
  Object.assign(rider.postrider.store, { listEvents: count });
  await rider.published('http://127.0.0.1:1/', { token: busy.token, headers: LATER });
  for (const tail of tails) await tail.received(1);
  assert.ok(counted.get(busy.accountId)! <= 2, `${counted.get(busy.accountId)} reads for 20 readers`);
  assert.equal(counted.get(idle.accountId), undefined);
});

test('a store that refuses every read at once ends the live streams of a node, and everybody else is still answered', async (t) => {
  const rider = await startRider(t);
  const tail = (await openTail(t, rider)).read();
  const { store } = rider.postrider;
  const { journalEnd } = store;
  let asked = 0;
  const away: Store['journalEnd'] = async (accountId) => {
    asked += 1;
    // Were it asked for ever, nothing else would run, not even the end of this test.
    if (asked > 100) return journalEnd(accountId);
    throw new Error('away');
  };
  Object.assign(store, { journalEnd: away });
  await rider.published('http://127.0.0.1:1/', { headers: LATER });
  await waitFor('the stream to end', () => {
    rider.clock.advance(100);
    return tail.isEnded;
  });
  assert.ok(asked <= 3, `asked ${asked} times for one reader`);
  assert.equal(await poolUsed(rider, 'streams'), 0);
});
