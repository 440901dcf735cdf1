// What a node does about parked hosts: it decides at once for itself, reports it, and leaves hosts to their owner.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Attempt, Claim, Message } from '../../src/rules/delivery/message.ts';
import { afterNews, type HostNews, leftAt, mayOwn, type Parking } from '../../src/rules/hosts/parking.ts';
import { nodeMax } from '../../src/rules/limits/budgets.ts';
import type { ParkedHost } from '../../src/store/ports/host-store.ts';
import { StoreUnavailable } from '../../src/store/ports/store.ts';
import { HostParking } from '../../src/upkeep/parking.ts';
import { message } from '../conformance/given.ts';

const NOW = 1_800_000_000_000;
const HOST = 'down.example:443';

/** A store of hosts that all nodes of a test share, in memory. */
class Hosts {
  readonly rows = new Map<string, ParkedHost>();
  readonly reported: HostNews[] = [];
  isGone = false;
  /** Writes, and then says that it does not know whether it has. */
  isReplyLost = false;

  readonly store = {
    noteHosts: async (news: readonly HostNews[]) => {
      if (this.isGone) throw new Error('gone');
      this.reported.push(...news);
      const noted = news.map((each) => {
        const key = `${each.accountId} ${each.host}`;
        const row = this.rows.get(key);
        const { parking } = afterNews(row?.parking ?? null, each, null);
        const leaves = leftAt(each, parking);
        const owned = { owner: row?.owner ?? null, ownedUntil: leaves ?? row?.ownedUntil ?? null };
        if (parking) this.rows.set(key, { ...row, ...each, ...owned, parking });
        else this.rows.delete(key);
        return parking;
      });
      if (this.isReplyLost) throw new StoreUnavailable('doubtful', 'the reply was lost');
      return noted;
    },
    listParked: async () => [...this.rows.values()].filter(({ parking }) => parking.parkedAt !== null),
    ownParked: async (node: string, now: number, until: number) => {
      for (const [key, row] of this.rows) {
        if (!mayOwn(row, node, now)) continue;
        this.rows.set(key, { ...row, owner: node, ownedUntil: until });
      }
      return this.rows.size;
    },
    endOpening: async (hosts: readonly Pick<ParkedHost, 'accountId' | 'host' | 'parking'>[]) => {
      for (const { accountId, host } of hosts) this.rows.delete(`${accountId} ${host}`);
    },
  };
}

let claims = 0;

function claim(outage: 'park' | null = 'park', host = HOST): Claim {
  claims += 1;
  // Of a claimed message, only what a new one has matters here.
  const claimed = message({ host, outage }) as Message;
  return { lease: `lease ${claims}`, message: claimed, tier: 'free', signingKey: 'key' };
}

function attempt(status: number, startedAt: number): Attempt {
  const end = { outcome: 'answered', status, error: null, nextAt: null } as const;
  const answer = { responseHeaders: [], responseBody: new Uint8Array(0), isResponseBodyCut: false };
  return { number: 1, startedAt, endedAt: startedAt + 1, ...end, ...answer };
}

/** A node, and its clock. */
function nodeOver(hosts: Hosts, node: string) {
  const time = { now: NOW };
  const parking = new HostParking({
    store: hosts.store,
    node,
    isSending: true,
    now: () => time.now,
    isByHand: false,
  });
  const send = (status: number, one = claim()) => {
    parking.started(one);
    parking.note(one, attempt(status, time.now));
    parking.ended(one);
    return one;
  };
  const room = () => parking.rooms().map(([, , slots]) => slots)[0];
  const state = () => [...hosts.rows.values()][0]?.parking as Parking | undefined;
  return { time, parking, send, room, state, run: () => parking.task.run() };
}

test('the tenth failure stops messages at once; only the owner then sends a probe, one at a time', async () => {
  const hosts = new Hosts();
  const [a, b] = [nodeOver(hosts, 'a'), nodeOver(hosts, 'b')];
  for (let count = 0; count < 9; count += 1) a.send(503);
  assert.equal(a.room(), undefined);
  a.send(503);
  assert.equal(a.room(), 0);
  assert.equal(hosts.reported.length, 0);
  await a.run();
  await b.run();
  assert.deepEqual([hosts.reported.length, hosts.reported[0]!.failures], [1, 10]);
  for (const { time } of [a, b]) time.now += 5001;
  assert.deepEqual([a.room(), b.room()], [1, 0]);
  const probe = claim();
  a.parking.started(probe);
  assert.deepEqual([a.room(), a.parking.trialOf(probe)], [0, 'probe']);
  a.parking.note(probe, attempt(503, a.time.now));
  a.parking.ended(probe);
  assert.equal(a.room(), 0);
  await a.run();
  assert.equal(a.state()!.failedProbes, 1);
});

test('a node whose time as the owner is over sends nothing; another one takes the host over', async () => {
  const hosts = new Hosts();
  const [a, b] = [nodeOver(hosts, 'a'), nodeOver(hosts, 'b')];
  for (let count = 0; count < 10; count += 1) a.send(503);
  await a.run();
  for (const { time } of [a, b]) time.now += 20_000;
  assert.equal(a.room(), 0);
  await b.run();
  assert.equal(b.room(), 1);
  await a.run();
  assert.equal(a.room(), 0);
});

test('what could not be reported is reported later, with what has happened since', async () => {
  const hosts = new Hosts();
  const a = nodeOver(hosts, 'a');
  hosts.isGone = true;
  for (let count = 0; count < 6; count += 1) a.send(503);
  await assert.rejects(a.run());
  for (let count = 0; count < 4; count += 1) a.send(503);
  hosts.isGone = false;
  await a.run();
  assert.equal(hosts.reported.at(-1)!.failures, 10);
  assert.ok(a.parking.isParked({ accountId: 'acc_1', host: HOST }));
});

test('failures that the store may have counted are not reported again: ten in a row park a host, and no fewer', async () => {
  const hosts = new Hosts();
  const a = nodeOver(hosts, 'a');
  hosts.isReplyLost = true;
  for (let count = 0; count < 6; count += 1) a.send(503);
  await assert.rejects(a.run(), /lost/);
  hosts.isReplyLost = false;
  for (let count = 0; count < 3; count += 1) a.send(503);
  await a.run();
  assert.deepEqual(
    hosts.reported.map(({ failures }) => failures),
    [6, 3],
  );
  assert.equal(hosts.rows.get(`acc_1 ${HOST}`)?.parking.parkedAt, null);
  a.send(503);
  await a.run();
  assert.ok(a.parking.isParked({ accountId: 'acc_1', host: HOST }));
});

test('an answer that the store may not know is reported again, without the failures beside it', async () => {
  const hosts = new Hosts();
  const a = nodeOver(hosts, 'a');
  for (let count = 0; count < 5; count += 1) a.send(503);
  await a.run();
  a.send(200);
  a.send(503);
  hosts.isReplyLost = true;
  await assert.rejects(a.run(), /lost/);
  hosts.isReplyLost = false;
  await a.run();
  assert.deepEqual(
    hosts.reported.map(({ answers, failures }) => [answers, failures]),
    [
      [0, 5],
      [1, 1],
      [1, 0],
    ],
  );
});

test('messages that do not park are not counted, unless messages park for their host', async () => {
  const hosts = new Hosts();
  const a = nodeOver(hosts, 'a');
  for (let count = 0; count < 20; count += 1) a.send(503, claim(null));
  await a.run();
  assert.equal(hosts.reported.length, 0);
  a.send(503);
  for (let count = 0; count < 9; count += 1) a.send(503, claim(null));
  assert.equal(a.room(), 0);
  assert.equal(a.parking.trialOf(a.send(503, claim(null))), null);
});

test('a host that flaps is parked again at once, and a host that is back is not run over', async () => {
  const hosts = new Hosts();
  const a = nodeOver(hosts, 'a');
  for (let count = 0; count < 10; count += 1) a.send(503);
  for (let flap = 0; flap < 5; flap += 1) {
    await a.run();
    a.time.now += 5001;
    a.send(200);
    await a.run();
    assert.equal(a.room(), 1);
    a.send(503);
    assert.equal(a.room(), 0);
  }
  await a.run();
  a.time.now += 5001;
  a.send(200);
  for (const expected of [1, 2, 4, 8, 16, 32, 64]) {
    await a.run();
    assert.equal(a.room(), expected);
    for (let count = 0; count < expected; count += 1) a.send(200);
  }
  await a.run();
  assert.equal(a.room(), undefined);
});

test('while an attempt to a host that opens is under way, however long it takes, the host does not open by itself', async () => {
  const hosts = new Hosts();
  const a = nodeOver(hosts, 'a');
  for (let count = 0; count < 10; count += 1) a.send(503);
  await a.run();
  a.time.now += 5001;
  a.send(200);
  await a.run();
  const slow = claim();
  a.parking.started(slow);
  for (let count = 0; count < 20; count += 1) {
    a.time.now += 10_000;
    await a.run();
  }
  assert.equal(a.room(), 0);
  a.parking.ended(slow);
  a.time.now += 1000;
  await a.run();
  assert.equal(a.room(), undefined);
});

test('hosts that once failed, however many, do not keep a node from parking others', async () => {
  const hosts = new Hosts();
  const a = nodeOver(hosts, 'a');
  for (let count = 0; count < nodeMax('parkedHosts'); count += 1)
    a.send(503, claim('park', `gone-${count}.example:443`));
  await a.run();
  for (let count = 0; count < 10; count += 1) a.send(503);
  assert.equal(a.room(), 0);
});

test('what cannot be reported is bounded', async () => {
  const hosts = new Hosts();
  hosts.isGone = true;
  const a = nodeOver(hosts, 'a');
  const max = nodeMax('parkedHosts');
  for (let count = 0; count < max + 9; count += 1) a.send(503, claim('park', `gone-${count}.example:443`));
  await assert.rejects(a.run());
  hosts.isGone = false;
  await a.run();
  assert.equal(hosts.reported.length, max);
});

test('a node whose probe failed leaves the host to another node: its own network may be the reason', async () => {
  const hosts = new Hosts();
  const [a, b] = [nodeOver(hosts, 'a'), nodeOver(hosts, 'b')];
  for (let count = 0; count < 10; count += 1) a.send(503);
  await a.run();
  for (const { time } of [a, b]) time.now += 5001;
  assert.equal(a.room(), 1);
  a.send(503);
  for (const { time } of [a, b]) time.now += 1;
  await a.run();
  await b.run();
  for (const { time } of [a, b]) time.now += 10_000;
  assert.deepEqual([a.room(), b.room()], [0, 1]);
  // Without another node it takes the host again, in time for the next probe.
  b.send(503);
  await b.run();
  for (let count = 0; count < 5; count += 1) {
    b.time.now += 1000;
    await b.run();
  }
  b.time.now += 15_001;
  await b.run();
  assert.equal(b.room(), 1);
});

test('a host that sometimes fails is reported once in a look, not with every attempt', async () => {
  const hosts = new Hosts();
  const a = nodeOver(hosts, 'a');
  let woken = 0;
  a.parking.task.onStart(() => {
    woken += 1;
  });
  for (let count = 0; count < 20; count += 1) {
    a.send(503);
    a.send(200);
  }
  assert.equal(woken, 0);
  await a.run();
  assert.equal(hosts.reported.length, 1);
  for (let count = 0; count < 10; count += 1) a.send(503);
  assert.equal(woken, 1);
});
