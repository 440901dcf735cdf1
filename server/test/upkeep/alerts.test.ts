// Alerts are judged by the clock: told once on any number of nodes, through restarts, at most every so often, never
// about themselves, and in bounded steps.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ALERT_LABEL, type Alert } from '../../src/rules/alerts/alert.ts';
import type { NewMessage, Outcome } from '../../src/rules/delivery/message.ts';
import { eachMax } from '../../src/rules/limits/budgets.ts';
import { DEFAULT_TIERS } from '../../src/rules/limits/tier.ts';
import type { Store } from '../../src/store/ports/store.ts';
import { alertKeeper, type PlanAlert } from '../../src/upkeep/alerts.ts';
import { alert } from '../conformance/alerts.ts';
import {
  ACCOUNT,
  KEYS,
  limits,
  message,
  messages,
  NOW,
  OK,
  REFUSED,
  SECOND,
  settlementOf,
} from '../conformance/given.ts';
import { claimDue } from '../support/claim-due.ts';
import { Site } from './given-engine.ts';

const MINUTE = 60 * SECOND;
const EVERY = 10 * SECOND;

const toTarget = (url: string, body: string) =>
  message({ kind: 'alert', labels: [ALERT_LABEL], url, body: new TextEncoder().encode(body) });

/** A node that only judges alerts. */
function keeperOver(
  store: Store,
  some: { plan?: PlanAlert; freeBytes?: () => number | null; isByHand?: boolean } = {},
) {
  const problems: string[] = [];
  const keeper = alertKeeper({
    store,
    tiers: DEFAULT_TIERS,
    plan: async ({ target }, _account, body) => ({ message: toTarget(target.url, body) }),
    freeBytes: () => null,
    onProblem: ({ id }, why) => problems.push(`${id}: ${why}`),
    ...some,
  });
  return { ...keeper, problems };
}

/** What was told since the last time, oldest first; each of them is delivered, or fails. */
async function toldBy(store: Store, now: number, outcome: Outcome = OK): Promise<{ event: string; at: number }[]> {
  const { claims } = await claimDue(store, now, limits());
  await store.settle(
    claims.map((claim) => settlementOf(claim, outcome, now)),
    now,
  );
  return claims.map(({ message: { body } }) => {
    const { event, at } = JSON.parse(new TextDecoder().decode(body)) as { event: string; at: number };
    return { event, at: at - NOW };
  });
}

async function fail(store: Store, dead: readonly NewMessage[], at: number): Promise<void> {
  await store.accept(dead, at);
  const { claims } = await claimDue(store, at, limits());
  await store.settle(
    claims.map((claim) => settlementOf(claim, REFUSED, at)),
    at,
  );
}

test('several nodes over one file tell the target once: when it begins, and when it is over', async () => {
  const site = await Site.open();
  const stores = ['nod_a', 'nod_b', 'nod_c'].map((node) => site.store(node));
  const [store] = stores as [Store];
  const nodes = stores.map((each) => keeperOver(each));
  await store.saveAlert(alert(), 50);
  const told: { event: string; at: number }[] = [];
  for (let now = NOW; now <= NOW + 10 * MINUTE; now += EVERY) {
    if (now === NOW + MINUTE) await fail(store, messages(3), now);
    await Promise.all(nodes.map((node) => node.run(now)));
    told.push(...(await toldBy(store, now)));
  }
  assert.deepEqual(told, [
    { event: 'begin', at: MINUTE },
    { event: 'over', at: 6 * MINUTE + EVERY },
  ]);
  assert.equal((await store.getAlert(ACCOUNT, 'alr_1'))!.state, 'calm');
});

test('a restart in between changes nothing, and what failed before it is told after it', async () => {
  const site = await Site.open();
  const first = site.store('nod_a');
  await first.saveAlert(alert(), 50);
  await keeperOver(first).run(NOW);
  await fail(first, [message()], NOW + SECOND);
  await first.close();
  const second = site.store('nod_b');
  const hour = 60 * MINUTE;
  await keeperOver(second).run(NOW + hour);
  assert.deepEqual(await toldBy(second, NOW + hour), [{ event: 'begin', at: hour }]);
  await second.close();
  const third = site.store('nod_c');
  await keeperOver(third).run(NOW + hour + EVERY);
  assert.deepEqual(await toldBy(third, NOW + hour + EVERY), [], 'it lasts at least a minute');
  await keeperOver(third).run(NOW + hour + 2 * MINUTE);
  assert.deepEqual(await toldBy(third, NOW + hour + 2 * MINUTE), [{ event: 'over', at: hour + 2 * MINUTE }]);
});

test('reminders come at most every so often, and end with the alert', async () => {
  const site = await Site.open();
  const store = site.store('nod_a');
  const keeper = keeperOver(store);
  await store.saveAlert(alert({ remindEveryMs: 3 * MINUTE }), 50);
  const told: { event: string; at: number }[] = [];
  for (let now = NOW; now <= NOW + 16 * MINUTE; now += EVERY) {
    if (now <= NOW + 7 * MINUTE && (now - NOW) % MINUTE === 0) await fail(store, [message()], now);
    await keeper.run(now);
    told.push(...(await toldBy(store, now)));
  }
  assert.deepEqual(told, [
    { event: 'begin', at: 0 },
    { event: 'remind', at: 3 * MINUTE },
    { event: 'remind', at: 6 * MINUTE },
    { event: 'remind', at: 9 * MINUTE },
    { event: 'remind', at: 12 * MINUTE },
    { event: 'over', at: 12 * MINUTE + EVERY },
  ]);
});

test('a message of an alert that fails raises no alert, not even another one', async () => {
  const site = await Site.open();
  const store = site.store('nod_a');
  const keeper = keeperOver(store);
  const scope = { host: null, queue: null, label: null };
  const others: Alert['rule'][] = [
    { type: 'failureRate', share: 0.01, windowMs: 5 * MINUTE, minimum: 1, ...scope },
    { type: 'failureRate', share: 0.01, windowMs: 5 * MINUTE, minimum: 1, ...scope, host: 'a.example' },
    { type: 'hostFailing', attempts: 2, host: null },
  ];
  await store.saveAlert(alert(), 50);
  await fail(store, messages(1, { queueName: 'q' }), NOW);
  await keeper.run(NOW);
  assert.equal((await toldBy(store, NOW, REFUSED)).length, 1);
  // From here on only messages of alerts fail: the window of the first failure is over, and so is its alert.
  const later = NOW + 6 * MINUTE;
  await keeper.run(later);
  assert.deepEqual(await toldBy(store, later, REFUSED), [{ event: 'over', at: 6 * MINUTE }]);
  for (const [index, rule] of others.entries()) {
    await store.saveAlert(alert({ id: `other_${index}`, rule, nextAt: later, createdAt: NOW }), 50);
  }
  for (let now = later + EVERY; now <= later + MINUTE; now += EVERY) {
    await keeper.run(now);
    assert.deepEqual(await toldBy(store, now), []);
  }
});

test('one step judges a bounded number of alerts, and those that waited longest come first', async () => {
  const site = await Site.open();
  const store = site.store('nod_a');
  const max = eachMax('dueAlerts');
  for (const account of ['acc_x', 'acc_y', 'acc_z']) {
    await store.createAccount({ id: account, name: account, tier: 'free', createdAt: NOW }, KEYS);
    for (let index = 0; index < 50; index += 1) {
      await store.saveAlert(alert({ id: `alr_${index}`, accountId: account }), 50);
    }
  }
  await store.saveAlert(alert({ nextAt: NOW + 1 }), 50);
  const looks: string[] = [];
  const watched: Store = {
    ...store,
    alertFacts: (accountId, ...rest) => {
      looks.push(accountId);
      return store.alertFacts(accountId, ...rest);
    },
  };
  const keeper = keeperOver(watched);
  const left = async () => (await store.dueAlerts(NOW + 2, 1000)).due.length;
  assert.equal(await left(), 151);
  assert.ok((await keeper.run(NOW + 2)) < SECOND, 'the rest follows soon');
  assert.equal(await left(), 151 - max);
  assert.ok(looks.length <= 3, 'one look for each account');
  await keeper.run(NOW + 2);
  assert.equal(await left(), 0);
  assert.equal(looks.filter((account) => account === ACCOUNT).length, 1);
  const nextAt = (await store.dueAlerts(NOW + 2, 1)).nextAt!;
  assert.equal(await keeper.run(NOW + 2), Math.min(5 * SECOND, nextAt - NOW - 2), 'then it waits');
  assert.equal(await keeper.run(nextAt - 3), 3, 'until the first of them is due again');
});

test('an account that cannot be read, or a target that cannot be told, does not hold up the others', async () => {
  const site = await Site.open();
  const store = site.store('nod_a');
  await store.createAccount({ id: 'acc_bad', name: 'bad', tier: 'free', createdAt: NOW }, KEYS);
  await store.saveAlert(alert({ accountId: 'acc_bad', id: 'unreadable' }), 50);
  await store.saveAlert(alert({ id: 'untellable', target: { url: 'https://no.example', format: 'json' } }), 50);
  await store.saveAlert(alert({ id: 'unwritable' }), 50);
  await store.saveAlert(alert(), 50);
  await fail(store, [message()], NOW);
  const broken: Store = {
    ...store,
    alertFacts: async (accountId, ...rest) => {
      if (accountId === 'acc_bad') throw new Error('too slow');
      return store.alertFacts(accountId, ...rest);
    },
    notifyAlerts: async (judged, now) => {
      if (judged.some((each) => each.alert.id === 'unwritable' && each.notification))
        throw new Error('no room in table 7');
      return store.notifyAlerts(judged, now);
    },
  };
  const plan: PlanAlert = async ({ id, target }, _account, body) =>
    id === 'untellable'
      ? { problem: { code: 'disk_full', message: 'the disk is full' } }
      : { message: toTarget(target.url, body) };
  const keeper = keeperOver(broken, { plan });
  await keeper.run(NOW);
  assert.deepEqual(await toldBy(store, NOW), [{ event: 'begin', at: 0 }]);
  assert.deepEqual(keeper.problems.toSorted(), [
    'unreadable: the messages of the account could not be read: too slow',
    'untellable: the disk is full',
    'unwritable: the message to the target could not be stored: no room in table 7',
  ]);
  await keeper.run(NOW + EVERY);
  assert.equal(keeper.problems.length, 3, 'each reason is logged once');
  const unread = await store.getAlert('acc_bad', 'unreadable');
  assert.equal(unread!.problem, 'the messages of the account could not be read', 'the error itself is not shown');
  const unwritten = await store.getAlert(ACCOUNT, 'unwritable');
  assert.equal(unwritten!.problem, 'the message to the target could not be stored');
  assert.equal((await store.getAlert(ACCOUNT, 'untellable'))!.problem, 'the disk is full');
  assert.equal((await store.getAlert(ACCOUNT, 'untellable'))!.state, 'calm', 'it begins when its target is told');
});

test('what failed while the target could not be told is told later, however long that took', async () => {
  const site = await Site.open();
  const store = site.store('nod_a');
  const trouble = { isDiskFull: true, isUnreadable: false };
  const tiers = { ...DEFAULT_TIERS, free: { ...DEFAULT_TIERS.free, messagesPerDayMax: 1 } };
  const keeper = alertKeeper({
    store: {
      ...store,
      alertFacts: async (...given) => {
        if (trouble.isUnreadable) throw new Error('too slow');
        return store.alertFacts(...given);
      },
    },
    tiers,
    plan: async ({ target }, _account, body) =>
      trouble.isDiskFull
        ? { problem: { code: 'disk_full', message: 'the disk is full' } }
        : { message: toTarget(target.url, body) },
    freeBytes: () => null,
    onProblem: () => {},
  });
  await store.saveAlert(alert(), 50);
  await fail(store, [message()], NOW + SECOND);
  // Three reasons, each for longer than the window: the disk, the account, the quota of the day.
  const told: { event: string; at: number }[] = [];
  const hour = 60 * MINUTE;
  for (let now = NOW + 2 * SECOND; now <= NOW + 25 * hour; now += 10 * MINUTE) {
    trouble.isDiskFull = now < NOW + hour;
    trouble.isUnreadable = !trouble.isDiskFull && now < NOW + 2 * hour;
    await keeper.run(now);
    told.push(...(await toldBy(store, now)));
  }
  assert.deepEqual(
    told.map(({ event }) => event),
    ['begin'],
    'over would be the second message of the day',
  );
  assert.ok(told[0]!.at >= 24 * hour - (NOW % (24 * hour)) && told[0]!.at <= 25 * hour);
});

test('a clock that is moved by hand stops for alerts only while a judgement may change', async () => {
  const site = await Site.open();
  const store = site.store('nod_a');
  const keeper = keeperOver(store, { isByHand: true });
  let now = NOW;
  /** Wakes the keeper at a time, as a message does that comes or ends, and makes the stops that it asks for. */
  async function stopsAfter(at: number, max = 50) {
    now = at;
    const told: { event: string; at: number }[] = [];
    for (let stops = 0; stops < max; stops += 1) {
      const waitMs = await keeper.run(now);
      if (waitMs >= keeper.dueBelowMs) return { stops, told };
      now += waitMs;
      told.push(...(await toldBy(store, now)));
    }
    return { stops: max, told };
  }
  await store.saveAlert(alert({ nextAt: NOW + 5 * SECOND }), 50);
  await store.createAccount({ id: 'acc_x', name: 'x', tier: 'free', createdAt: NOW }, KEYS);
  await store.saveAlert(alert({ accountId: 'acc_x', nextAt: NOW + 7 * SECOND }), 50);
  assert.ok((await stopsAfter(NOW)).stops <= 10);
  for (const accountId of [ACCOUNT, 'acc_x']) {
    assert.ok((await store.getAlert(accountId, 'alr_1'))!.evaluatedAt! > NOW, 'each was judged');
  }
  const failedAt = NOW + 24 * 60 * MINUTE;
  await fail(store, [message()], failedAt);
  const { stops, told } = await stopsAfter(failedAt);
  assert.deepEqual(
    told.map(({ event }) => event),
    ['begin', 'over'],
  );
  assert.ok(stops < 50 && now <= failedAt + 10 * MINUTE, 'then it stops no more');
  await store.saveAlert(
    alert({ id: 'stalled', rule: { type: 'queueStalled', olderThanMs: 5 * MINUTE, queue: null } }),
    50,
  );
  const madeAt = failedAt + 24 * 60 * MINUTE;
  assert.ok((await stopsAfter(madeAt)).stops <= 10, 'no queue has a message');
  const waitsFrom = madeAt + 24 * 60 * MINUTE;
  await store.saveQueue(ACCOUNT, 'line', { isPaused: true }, waitsFrom);
  await store.accept([message({ queueName: 'line', dueAt: waitsFrom, createdAt: waitsFrom })], waitsFrom);
  const stalled = await stopsAfter(waitsFrom, 30);
  assert.deepEqual(
    stalled.told.map(({ event }) => event),
    ['begin'],
  );
  assert.equal(stalled.stops, 30, 'it goes on while the alert fires');
});

test('diskLow follows the free space that the node sees', async () => {
  const site = await Site.open();
  const store = site.store('nod_a');
  let free: number | null = null;
  const keeper = keeperOver(store, { freeBytes: () => free });
  await store.saveAlert(alert({ rule: { type: 'diskLow', freeBytes: 1000 } }), 50);
  const told: string[] = [];
  for (const [index, bytes] of [null, 2000, 900, 1050, 1200].entries()) {
    free = bytes;
    const now = NOW + index * MINUTE;
    await keeper.run(now);
    told.push((await toldBy(store, now)).map(({ event }) => event).join());
  }
  assert.deepEqual(told, ['', '', 'begin', '', 'over']);
});
