// Alerts as the store keeps them: set by people, judged by one node, told with a message or not at all; and what their
// rules look at.

import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { type Alert, NEVER_NOTIFIED, OVER_QUOTA } from '../../src/rules/alerts/alert.ts';
import type { NeededAlertFacts } from '../../src/rules/alerts/alert-facts.ts';
import type { NewMessage, Outcome } from '../../src/rules/delivery/message.ts';
import type { EvaluatedAlert } from '../../src/store/ports/upkeep-store.ts';
import { countStates } from '../support/count-states.ts';
import { ACCOUNT, ERROR, message, messages, NOW, OK, OTHER_ACCOUNT, REFUSED, SECOND, settlementOf } from './given.ts';
import { type HarnessFactory, type Node, storeTests } from './harness.ts';
import { schedule } from './schedules.ts';

const MAX = 50;
const ROWS = 100;

export function alert(some: Partial<Alert> = {}): Alert {
  return {
    id: 'alr_1',
    accountId: ACCOUNT,
    rule: { type: 'messageFailed', count: 1, windowMs: 300_000, host: null, queue: null, label: null },
    target: { url: 'https://b.example/alert', format: 'json' },
    remindEveryMs: null,
    ...NEVER_NOTIFIED,
    problem: null,
    evaluatedAt: null,
    nextAt: NOW,
    createdAt: NOW,
    updatedAt: NOW,
    version: 1,
    ...some,
  };
}

export const NOTHING_LOOKED: NeededAlertFacts = {
  failedFromAt: null,
  attemptsFromAt: null,
  countedFromAt: null,
  queues: [],
  schedules: [],
  areFailedSchedulesAsked: false,
  areParkedHostsAsked: false,
  isUsageAsked: false,
};

function kept(one: Alert, some: Partial<EvaluatedAlert> = {}): EvaluatedAlert {
  return { alert: one, nextAt: NOW + 10 * SECOND, problem: null, notification: null, dayMax: null, ...some };
}

function told(one: Alert, made: NewMessage, some: Partial<EvaluatedAlert> = {}): EvaluatedAlert {
  const notified = { state: 'firing', sinceAt: NOW, notifiedAt: NOW, messageId: made.id, text: 'one failed' } as const;
  return kept(one, { notification: { message: made, notified }, ...some });
}

/** Accepts messages and ends an attempt of each of them so. */
async function end(node: Node, made: readonly NewMessage[], outcome: Outcome, at: number): Promise<void> {
  await node.store.accept(made, NOW);
  const ids = new Set(made.map(({ id }) => id));
  const claims = (await node.claims(NOW)).filter((claim) => ids.has(claim.message.id));
  await node.store.settle(
    claims.map((claim) => settlementOf(claim, outcome, at)),
    at,
  );
}

export function alertsConformance(factory: HarnessFactory): void {
  const test = storeTests(factory);
  describe('alerts', () => {
    setByPeople(test);
    judged(test);
    lookedAt(test);
  });
}

function setByPeople(test: ReturnType<typeof storeTests>): void {
  test.onTwo('are read back as they were set; a change keeps what the target was told', async ({ a, b }) => {
    const one = alert({ remindEveryMs: 60_000 });
    assert.deepEqual(await a.store.saveAlert({ ...one, version: 0 }, MAX), one);
    assert.deepEqual(await b.store.getAlert(ACCOUNT, one.id), one);
    await a.store.notifyAlerts([told(one, message({ kind: 'alert' }))], NOW);
    const change = alert({
      rule: { type: 'quotaNear', share: 0.5 },
      updatedAt: NOW + 5,
      createdAt: NOW + 5,
      nextAt: 0,
    });
    const changed = await b.store.saveAlert(change, MAX);
    assert.deepEqual(changed, await a.store.getAlert(ACCOUNT, one.id));
    assert.deepEqual(
      [
        changed!.nextAt,
        changed!.rule,
        changed!.remindEveryMs,
        changed!.state,
        changed!.sinceAt,
        changed!.createdAt,
        changed!.updatedAt,
      ],
      [NOW + 10 * SECOND, change.rule, null, 'firing', NOW, NOW, NOW + 5],
    );
    assert.deepEqual((await a.store.listAlerts(ACCOUNT)).entries, [changed]);
  });

  test('belong to one account, also under the same id', async ({ a }) => {
    await a.store.saveAlert(alert(), MAX);
    assert.equal(await a.store.getAlert(OTHER_ACCOUNT, 'alr_1'), null);
    assert.equal(await a.store.deleteAlert(OTHER_ACCOUNT, 'alr_1'), false);
    await a.store.saveAlert(alert({ accountId: OTHER_ACCOUNT, remindEveryMs: 90_000 }), MAX);
    assert.equal((await a.store.getAlert(ACCOUNT, 'alr_1'))!.remindEveryMs, null);
    assert.equal(await a.store.deleteAlert(ACCOUNT, 'alr_1'), true);
    assert.equal(await a.store.deleteAlert(ACCOUNT, 'alr_1'), false);
    assert.deepEqual(
      (await a.store.listAlerts(OTHER_ACCOUNT)).entries.map(({ accountId }) => accountId),
      [OTHER_ACCOUNT],
    );
  });

  test.onTwo('are at most as many as allowed, whoever makes them at once', async ({ a, b }) => {
    const made = await Promise.all(
      [a, b, a, b].map(({ store }, index) => store.saveAlert(alert({ id: `alr_${index}` }), 2)),
    );
    assert.equal(made.filter((each) => each !== null).length, 2);
    const [{ id }] = (await a.store.listAlerts(ACCOUNT)).entries as [Alert];
    assert.notEqual(
      await a.store.saveAlert(alert({ id, updatedAt: NOW + 1 }), 2),
      null,
      'a change makes no more of them',
    );
  });

  test('a list comes in pieces, ordered by id', async ({ a }) => {
    for (const id of ['c', 'a', 'b']) await a.store.saveAlert(alert({ id }), MAX);
    const part = { after: null, limit: 2, bytesMax: 1_000_000 };
    const first = await a.store.listAlerts(ACCOUNT, part);
    assert.deepEqual([first.entries.map(({ id }) => id), first.hasMore], [['a', 'b'], true]);
    const rest = await a.store.listAlerts(ACCOUNT, { ...part, after: 'b' });
    assert.deepEqual([rest.entries.map(({ id }) => id), rest.hasMore], [['c'], false]);
  });
}

function judged(test: ReturnType<typeof storeTests>): void {
  test('are due at their time, those that have waited longest first, as many as asked', async ({ a }) => {
    assert.deepEqual(await a.store.dueAlerts(NOW, 10), { due: [], nextAt: null });
    for (const [id, after] of [
      ['c', 3],
      ['a', 1],
      ['b', 2],
      ['d', 9],
    ] as const) {
      await a.store.saveAlert(alert({ id, nextAt: NOW + after }), MAX);
    }
    const due = async (now: number, limit: number) => (await a.store.dueAlerts(now, limit)).due.map(({ id }) => id);
    assert.deepEqual(await due(NOW, 10), []);
    assert.equal((await a.store.dueAlerts(NOW, 10)).nextAt, NOW + 1);
    assert.deepEqual(await due(NOW + 3, 10), ['a', 'b', 'c']);
    assert.deepEqual(await due(NOW + 3, 2), ['a', 'b']);
  });

  test.onTwo('the target is told once, with its message, by the first node', async ({ a, b }) => {
    const one = (await a.store.saveAlert(alert(), MAX))!;
    const asked = await Promise.all(
      [a, b, a, b].map(async ({ store }) => {
        const made = message({ kind: 'alert' });
        const [result] = await store.notifyAlerts([told(one, made)], NOW + 1);
        return { id: made.id, result };
      }),
    );
    const [winner, ...others] = asked.toSorted(
      (x, y) => Number(y.result === 'notified') - Number(x.result === 'notified'),
    );
    assert.equal(winner!.result, 'notified');
    assert.deepEqual(
      others.map(({ result }) => result),
      ['lost', 'lost', 'lost'],
    );
    assert.deepEqual(await b.store.notifyAlerts([told(one, message({ kind: 'alert' }))], NOW + 2), ['lost']);
    const after = (await b.store.getAlert(ACCOUNT, one.id))!;
    assert.deepEqual(
      [after.state, after.sinceAt, after.messageId, after.text, after.evaluatedAt, after.nextAt, after.version],
      ['firing', NOW, winner!.id, 'one failed', NOW + 1, NOW + 10 * SECOND, 2],
    );
    assert.equal((await countStates(a.store)).pending, 1);
    assert.deepEqual(await b.claimedIds(NOW + 1), [winner!.id]);
    assert.deepEqual((await a.store.usage(ACCOUNT, '2026-01-01', '2026-01-01')).entries, [
      { day: '2026-01-01', kind: 'alert', count: 1 },
    ]);
  });

  test('one that was changed or deleted meanwhile is not told; the others are', async ({ a }) => {
    const [one, two, three] = [
      (await a.store.saveAlert(alert(), MAX))!,
      (await a.store.saveAlert(alert({ id: 'alr_2' }), MAX))!,
      (await a.store.saveAlert(alert({ id: 'alr_3', accountId: OTHER_ACCOUNT }), MAX))!,
    ];
    await a.store.saveAlert(alert({ updatedAt: NOW + 1 }), MAX);
    await a.store.deleteAlert(ACCOUNT, two.id);
    const made = [one, two, three].map(({ accountId }) => message({ accountId, kind: 'alert' }));
    const results = await a.store.notifyAlerts(
      [one, two, three].map((each, index) => told(each, made[index]!)),
      NOW,
    );
    assert.deepEqual(results, ['lost', 'lost', 'notified']);
    assert.deepEqual(await a.claimedIds(NOW), [made[2]!.id]);
    assert.equal((await a.store.getAlert(ACCOUNT, one.id))!.state, 'calm');
    await a.store.deleteAlert(OTHER_ACCOUNT, three.id);
    const anew = { ...three, createdAt: NOW + 1, version: 1 };
    assert.deepEqual(await a.store.saveAlert(anew, MAX), anew);
    const late = told(three, message({ accountId: OTHER_ACCOUNT, kind: 'alert' }));
    assert.deepEqual(await a.store.notifyAlerts([late], NOW), ['lost'], 'it was deleted and made again');
    assert.equal((await countStates(a.store)).pending, 0);
  });

  test('a judgement without a message only moves the next time; a problem is kept with it', async ({ a }) => {
    const one = (await a.store.saveAlert(alert(), MAX))!;
    assert.deepEqual(await a.store.notifyAlerts([kept(one, { problem: 'the disk is full' })], NOW + 2), ['kept']);
    const after = { ...one, nextAt: NOW + 10 * SECOND, version: 2 };
    const seen = await a.store.getAlert(ACCOUNT, one.id);
    assert.deepEqual(seen, { ...after, problem: 'the disk is full' }, 'what it was judged up to stays');
    assert.deepEqual(await a.store.notifyAlerts([kept(after)], NOW + 2), ['kept']);
    assert.deepEqual(await a.store.getAlert(ACCOUNT, one.id), { ...after, evaluatedAt: NOW + 2, version: 3 });
    assert.equal((await countStates(a.store)).pending, 0);
  });

  test('over the daily quota nothing is told, and the alert says so', async ({ a }) => {
    const one = (await a.store.saveAlert(alert(), MAX))!;
    await a.store.accept(messages(2), NOW);
    assert.deepEqual(await a.store.notifyAlerts([told(one, message({ kind: 'alert' }), { dayMax: 2 })], NOW), [
      'overQuota',
    ]);
    const after = (await a.store.getAlert(ACCOUNT, one.id))!;
    assert.deepEqual(
      [after.state, after.messageId, after.problem, after.evaluatedAt],
      ['calm', null, OVER_QUOTA, null],
    );
    assert.equal((await countStates(a.store)).pending, 2);
    assert.deepEqual(await a.store.notifyAlerts([told(after, message({ kind: 'alert' }), { dayMax: 3 })], NOW), [
      'notified',
    ]);
    assert.equal((await a.store.getAlert(ACCOUNT, one.id))!.problem, null);
    // Two at once, with room for one.
    const both = [alert({ id: 'alr_2' }), alert({ id: 'alr_3' })];
    const saved = await Promise.all(both.map(async (each) => (await a.store.saveAlert(each, MAX))!));
    const asked = saved.map((each) => told(each, message({ kind: 'alert' }), { dayMax: 4 }));
    assert.deepEqual(await a.store.notifyAlerts(asked, NOW), ['notified', 'overQuota']);
  });
}

function lookedAt(test: ReturnType<typeof storeTests>): void {
  test('an account without messages has no facts', async ({ a }) => {
    const everything = {
      failedFromAt: 0,
      attemptsFromAt: 0,
      countedFromAt: NOW - 60 * SECOND,
      queues: 'all',
      schedules: ['scd_1'],
      areFailedSchedulesAsked: true,
      areParkedHostsAsked: true,
      isUsageAsked: true,
    } as const;
    assert.deepEqual(await a.store.alertFacts(ACCOUNT, everything, NOW, ROWS), {
      failed: { rows: [], isCut: false },
      attempts: { rows: [], isCut: false },
      counted: [],
      notified: [],
      queues: [],
      schedules: [{ id: 'scd_1', runs: [] }],
      parkedHosts: [],
      used: 0,
    });
  });

  test('parked hosts: those of the account, without one that opens, and only if they are asked for', async ({ a }) => {
    const hosts = ['c.example:443', 'a.example:443', 'b.example:443'];
    for (const host of hosts) await a.store.parkHost(ACCOUNT, host, NOW, 9, 9);
    await a.store.parkHost(OTHER_ACCOUNT, 'd.example:443', NOW, 9, 9);
    await a.store.resumeHost(ACCOUNT, 'b.example:443', NOW + 1);
    const parked = async (areParkedHostsAsked: boolean, rows = ROWS) =>
      (await a.store.alertFacts(ACCOUNT, { ...NOTHING_LOOKED, areParkedHostsAsked }, NOW + 2, rows)).parkedHosts;
    assert.deepEqual(await parked(true), ['a.example:443', 'c.example:443']);
    assert.deepEqual(await parked(true, 1), ['a.example:443']);
    assert.deepEqual(await parked(false), []);
  });

  test('failed messages: the newest first, since a time, of one account, up to a limit', async ({ a }) => {
    const labelled = { labels: ['red', 'blue'], queueName: 'line' } as const;
    await end(a, [message({ host: 'old.example:443' })], REFUSED, NOW + 1);
    await end(a, [message(labelled)], REFUSED, NOW + 5);
    await end(a, [message({ kind: 'alert' })], REFUSED, NOW + 7);
    await end(a, [message()], OK, NOW + 8);
    await end(a, [message({ accountId: OTHER_ACCOUNT })], REFUSED, NOW + 9);
    const failed = async (fromAt: number, rows: number) =>
      (await a.store.alertFacts(ACCOUNT, { ...NOTHING_LOOKED, failedFromAt: fromAt }, NOW + 10, rows)).failed;
    const { rows, isCut } = await failed(NOW + 5, ROWS);
    assert.deepEqual(
      rows.map(({ kind, endedAt }) => [kind, endedAt - NOW]),
      [
        ['alert', 7],
        ['publish', 5],
      ],
    );
    assert.equal(isCut, false);
    assert.deepEqual(rows[1], {
      kind: 'publish',
      host: 'a.example:443',
      queueName: 'line',
      labels: ['red', 'blue'],
      endedAt: NOW + 5,
      scheduleId: null,
    });
    assert.deepEqual(
      (await failed(0, 2)).rows.map(({ endedAt }) => endedAt - NOW),
      [7, 5],
    );
    assert.equal((await failed(0, 2)).isCut, true);
    assert.equal((await failed(0, 3)).isCut, false);
  });

  test('ended attempts: how each ended, also one that delivered at once', async ({ a }) => {
    await end(a, [message({ retriesMax: 1 })], ERROR, NOW + 1);
    await end(a, [message({ host: 'b.example:443' })], OK, NOW + 2);
    await end(a, [message()], { kind: 'timedOut', timeoutMs: 5 }, NOW + 3);
    await end(a, [message({ accountId: OTHER_ACCOUNT })], OK, NOW + 4);
    await a.store.accept(messages(5, { dueAt: NOW + 60 * SECOND }), NOW + 5);
    const attempts = async (fromAt: number, rows: number) =>
      (await a.store.alertFacts(ACCOUNT, { ...NOTHING_LOOKED, attemptsFromAt: fromAt }, NOW + 10, rows)).attempts;
    const { rows, isCut } = await attempts(NOW, ROWS);
    assert.deepEqual(
      rows.map(({ host, endedAt, outcome, status, nextAt }) => [
        host[0],
        endedAt - NOW,
        outcome,
        status,
        nextAt !== null,
      ]),
      [
        ['a', 3, 'timedOut', null, true],
        ['b', 2, 'answered', 200, false],
        ['a', 1, 'answered', 500, true],
      ],
    );
    assert.equal(isCut, false);
    assert.deepEqual(
      (await attempts(NOW + 2, ROWS)).rows.map(({ endedAt }) => endedAt - NOW),
      [3, 2],
    );
    assert.deepEqual(
      await attempts(NOW - 1, 5),
      { rows: [], isCut: true },
      'steps that are no attempts count for the limit',
    );
  });

  test('counts by minute, and the usage of the day', async ({ a }) => {
    await end(a, messages(2), OK, NOW + 1);
    await end(a, [message()], REFUSED, NOW + 60 * SECOND);
    const look = { ...NOTHING_LOOKED, countedFromAt: NOW, isUsageAsked: true };
    const { counted, used } = await a.store.alertFacts(ACCOUNT, look, NOW + 61 * SECOND, ROWS);
    assert.deepEqual(counted, [
      { at: NOW, delivered: 2, failed: 0 },
      { at: NOW + 60 * SECOND, delivered: 0, failed: 1 },
    ]);
    assert.equal(used, 3);
    // The messages of alerts are counted with the others, and told apart.
    await end(a, [message({ kind: 'alert', labels: ['alert', 'x'] })], OK, NOW + 62 * SECOND);
    await end(a, [message({ kind: 'alert', labels: ['alert'] })], REFUSED, NOW + 63 * SECOND);
    await end(a, [message({ labels: ['alert'] })], OK, NOW + 64 * SECOND);
    await a.store.accept([message({ kind: 'alert', labels: ['alert'] })], NOW);
    const told = async (fromAt: number, rows = ROWS) =>
      (await a.store.alertFacts(ACCOUNT, { ...look, countedFromAt: fromAt }, NOW + 65 * SECOND, rows)).notified;
    const [delivered, failed] = [
      { endedAt: NOW + 62 * SECOND, end: 'delivered' },
      { endedAt: NOW + 63 * SECOND, end: 'failed' },
    ];
    assert.deepEqual(await told(NOW), [failed, delivered]);
    assert.deepEqual(await told(NOW + 63 * SECOND), [failed]);
    assert.deepEqual(await told(NOW, 3), [failed], 'the newest ones, up to a limit');
    assert.equal((await a.store.alertFacts(OTHER_ACCOUNT, look, NOW, ROWS)).used, 0);
  });

  test('queues: when the oldest open message became due, and whether the queue is paused', async ({ a }) => {
    await a.store.saveQueue(ACCOUNT, 'b', { isPaused: true }, NOW);
    for (const [queueName, dueAt] of [
      ['c', NOW + 50],
      ['a', NOW - 9],
      ['a', NOW - 5],
      ['b', NOW - 2],
    ] as const) {
      await a.store.accept([message({ queueName, dueAt })], NOW);
    }
    await end(a, [message({ queueName: 'ended' })], REFUSED, NOW + 1);
    const queues = async (named: NeededAlertFacts['queues'], rows = ROWS) =>
      (await a.store.alertFacts(ACCOUNT, { ...NOTHING_LOOKED, queues: named }, NOW, rows)).queues;
    const [first, second, third] = [
      { name: 'a', isPaused: false, oldestDueAt: NOW - 9 },
      { name: 'b', isPaused: true, oldestDueAt: NOW - 2 },
      { name: 'c', isPaused: false, oldestDueAt: NOW + 50 },
    ];
    assert.deepEqual(await queues('all'), [first, second, third]);
    assert.deepEqual(await queues('all', 2), [first, second]);
    assert.deepEqual(await queues(['b', 'none', 'ended']), [second]);
  });

  test('schedules: their newest messages, those that were named and those that failed', async ({ a }) => {
    const run = (scheduleId: string, createdAt: number) => message({ kind: 'schedule', scheduleId, createdAt });
    for (const id of ['bad', 'good', 'idle']) await a.store.saveSchedule(schedule({ id }));
    await end(a, [run('bad', NOW - 3)], REFUSED, NOW + 1);
    await end(a, [run('bad', NOW - 2)], OK, NOW + 2);
    await end(a, [run('good', NOW - 3)], OK, NOW + 2);
    await end(a, [message({ kind: 'callback', scheduleId: 'good' })], REFUSED, NOW + 3);
    const schedules = async (some: Partial<NeededAlertFacts>, rows = ROWS) =>
      (await a.store.alertFacts(ACCOUNT, { ...NOTHING_LOOKED, ...some }, NOW + 5, rows)).schedules;
    const bad = {
      id: 'bad',
      runs: [
        { createdAt: NOW - 2, state: 'delivered' },
        { createdAt: NOW - 3, state: 'failed' },
      ],
    };
    assert.deepEqual(await schedules({ failedFromAt: 0, areFailedSchedulesAsked: true }), [bad]);
    const good = { id: 'good', runs: [{ createdAt: NOW - 3, state: 'delivered' }] };
    assert.deepEqual(await schedules({ schedules: ['good', 'bad'] }), [good, bad]);
    // Other failures fill what is read, so that nobody knows which schedules have some.
    await end(a, messages(20), REFUSED, NOW + 4);
    const any = { failedFromAt: 0, areFailedSchedulesAsked: true };
    assert.deepEqual(await schedules(any, 20), [bad, good], 'as many as there is room for');
    await a.store.deleteSchedule(ACCOUNT, 'bad');
    assert.deepEqual(await schedules(any), [{ id: 'bad', runs: [] }], 'nothing of a schedule that is deleted');
    assert.deepEqual(await schedules({ schedules: ['bad'] }), [{ id: 'bad', runs: [] }]);
  });
}
