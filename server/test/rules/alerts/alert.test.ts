// Alerts as decisions: what a person may write, when a rule applies, when it is over, and what its target is told.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type Alert,
  type AlertRule,
  alertBody,
  eventToReport,
  nextEvaluationAt,
  notifiedStateAfter,
} from '../../../src/rules/alerts/alert.ts';
import type { AlertFacts, AttemptFact, FailedFact } from '../../../src/rules/alerts/alert-facts.ts';
import { failuresFrom, isNamedHost, neededFacts } from '../../../src/rules/alerts/alert-facts.ts';
import { findingOf, type NodeAlertFacts } from '../../../src/rules/alerts/alert-findings.ts';
import { readAlert, shownDefinition } from '../../../src/rules/alerts/alert-rules.ts';
import { parseTargetUrl } from '../../../src/rules/publish/destination.ts';
import { alert } from '../../conformance/alerts.ts';
import { NOW, SECOND } from '../../conformance/given.ts';

const MINUTE = 60 * SECOND;
const ANY = { host: null, queue: null, label: null };
const ON_DISK = { freeBytes: 1000 };

const read = (rule: unknown, target: unknown = { url: 'https://b.example/alert' }, rest = {}) =>
  readAlert({ rule, target, ...rest }, ON_DISK);

test('a rule gets its defaults, and is shown as it can be written again', () => {
  for (const [rule, shown] of [
    [{ type: 'messageFailed' }, { type: 'messageFailed', count: 1, window: '5m' }],
    [
      { type: 'failureRate', share: 0.25, window: 90, host: 'A.example', label: 'red' },
      { type: 'failureRate', share: 0.25, window: '1m30s', minimum: 10, host: 'a.example', label: 'red' },
    ],
    [
      { type: 'queueStalled', queue: 'q', olderThan: '600s' },
      { type: 'queueStalled', olderThan: '10m', queue: 'q' },
    ],
    [
      { type: 'hostFailing', host: 'a.example:8443' },
      { type: 'hostFailing', attempts: 10, host: 'a.example:8443' },
    ],
    [{ type: 'scheduleFailed', schedule: '' }, { type: 'scheduleFailed' }],
    [{ type: 'quotaNear' }, { type: 'quotaNear', share: 0.8 }],
    [{ type: 'diskLow' }, { type: 'diskLow', freeBytes: 1000 }],
  ] as const) {
    const found = read(rule, undefined, { remindEvery: '1h' });
    assert.ok('definition' in found, JSON.stringify(found));
    const again = shownDefinition(found.definition);
    assert.deepEqual(again.rule, shown);
    assert.equal(again.remindEvery, '1h');
    assert.deepEqual(again.target, { url: 'https://b.example/alert', format: 'json' });
    assert.deepEqual(readAlert(again, ON_DISK), found);
  }
});

test('everything that is wrong is said at once, with its field', () => {
  const found = readAlert(
    {
      rule: { type: 'failureRate', share: 2, window: '1s', minimum: 0, host: 'a/b', queue: 'a b', labels: 'x' },
      target: { url: 'ftp://x', format: 'xml' },
      remindEvery: 'often',
      colour: 'red',
    },
    ON_DISK,
  );
  assert.ok('problems' in found);
  assert.deepEqual(
    found.problems.map((line) => line.split(':')[0]),
    [
      'colour',
      'rule.labels',
      'rule.share',
      'rule.window',
      'rule.minimum',
      'rule.host',
      'rule.queue',
      'target.format',
      'target.url',
      'remindEvery',
    ],
  );
  assert.match(found.problems[1]!, /did you mean "label"/);
});

test('a host is kept as messages have it, however it is written', () => {
  for (const [given, kept] of [
    ['Shop.example:8443', 'shop.example:8443'],
    ['a.example:80', 'a.example:80'],
    ['0x7f.1', '127.0.0.1'],
    ['[0:0::1]', '[::1]'],
    ['[::1]:80', '[::1]:80'],
  ] as const) {
    const found = read({ type: 'hostFailing', host: given });
    assert.ok('definition' in found, given);
    assert.deepEqual(shownDefinition(found.definition).rule.host, kept);
    const { host } = found.definition.rule as { host: string };
    const target = parseTargetUrl(`http://${given}/x`);
    assert.ok('host' in target && isNamedHost(target.host, host), given);
  }
  for (const host of [
    'http://a.example',
    'a.example/',
    'a@b.example',
    'a b',
    'a:0',
    ':80',
    '',
    7,
    'm\u00fcnchen.example',
  ]) {
    const found = read({ type: 'hostFailing', host });
    assert.equal('problems' in found, host !== '', String(host));
  }
});

test('nobody can be told when the quota is used up, so quotaNear must begin before', () => {
  assert.ok('definition' in read({ type: 'quotaNear', share: 0.99 }));
  const found = read({ type: 'quotaNear', share: 1 });
  assert.ok('problems' in found);
  assert.match(found.problems[0]!, /^rule.share: .*below 1.*no message can be sent/);
  assert.ok('definition' in read({ type: 'failureRate', share: 1 }));
});

test('what is no alert at all is refused, whatever it is', () => {
  for (const given of [null, 7, [], 'x', {}, { rule: [], target: 1 }, { rule: { type: 'constructor' }, target: {} }]) {
    const found = readAlert(given, ON_DISK);
    assert.ok('problems' in found && found.problems.length >= 2, JSON.stringify(found));
  }
  const many = Object.fromEntries(Array.from({ length: 1000 }, (_, n) => [`field${n}`.repeat(100), n]));
  const found = read({ type: 'quotaNear', ...many });
  assert.ok('problems' in found && found.problems.join().length < 1000);
});

test('a service whose data is in a database has no disk to watch', () => {
  const found = readAlert({ rule: { type: 'diskLow' }, target: { url: 'https://b.example' } }, { freeBytes: null });
  assert.ok('problems' in found);
  assert.match(found.problems[0]!, /^rule.type: .*database/);
});

test('begin, remind and over: each at its time, and nothing in between', () => {
  const wrong = { isWrong: true, text: 'bad', facts: {} };
  const right = { ...wrong, isWrong: false };
  const calm = alert({ remindEveryMs: 10 * MINUTE });
  assert.equal(eventToReport(calm, right, NOW), null);
  assert.equal(eventToReport(calm, null, NOW), null);
  assert.equal(eventToReport(calm, wrong, NOW), 'begin');
  const begun = { ...calm, ...notifiedStateAfter('begin', calm, { messageId: 'msg_1', text: 'bad', at: NOW }) };
  assert.deepEqual([begun.state, begun.sinceAt, begun.notifiedAt, begun.messageId], ['firing', NOW, NOW, 'msg_1']);
  assert.equal(eventToReport(begun, null, NOW + 60 * MINUTE), null);
  assert.equal(eventToReport(begun, wrong, NOW + 10 * MINUTE - 1), null);
  assert.equal(eventToReport(begun, wrong, NOW + 10 * MINUTE), 'remind');
  const later = NOW + 10 * MINUTE;
  const reminded = { ...begun, ...notifiedStateAfter('remind', begun, { messageId: 'msg_2', text: 'bad', at: later }) };
  assert.deepEqual([reminded.sinceAt, reminded.notifiedAt], [NOW, later]);
  assert.equal(eventToReport(reminded, wrong, later + 10 * MINUTE - 1), null);
  assert.equal(eventToReport({ ...reminded, remindEveryMs: null }, wrong, later + 60 * MINUTE), null);
  assert.equal(eventToReport(begun, right, NOW + MINUTE - 1), null, 'it lasts at least a minute');
  assert.equal(eventToReport(begun, right, NOW + MINUTE), 'over');
  assert.deepEqual(notifiedStateAfter('over', begun, { messageId: 'msg_3', text: 'good', at: later }), {
    state: 'calm',
    sinceAt: null,
    notifiedAt: later,
    messageId: 'msg_3',
    text: 'good',
  });
});

const NO_FACTS: AlertFacts = {
  failed: { rows: [], isCut: false },
  attempts: { rows: [], isCut: false },
  counted: [],
  notified: [],
  queues: [],
  schedules: [],
  parkedHosts: [],
  used: 0,
};
const NO_STORED = { storedBytes: 0, storedBytesMax: null };
const SIGHT: NodeAlertFacts = { ...NO_STORED, dayMax: null, freeBytes: null };

function finding(
  rule: AlertRule,
  facts: Partial<AlertFacts>,
  some: Partial<Alert> = {},
  sight: NodeAlertFacts = SIGHT,
) {
  return findingOf(alert({ rule, createdAt: NOW - 60 * MINUTE, ...some }), { ...NO_FACTS, ...facts }, sight, NOW);
}

const isWrong = (...given: Parameters<typeof finding>) => finding(...given)?.isWrong;
const FIRING: Partial<Alert> = { state: 'firing', sinceAt: NOW - 30 * MINUTE };

const MEANT = { kind: 'publish', host: 'a.example:443', queueName: null, labels: [], endedAt: NOW } as const;
const failed = (some: Partial<FailedFact> = {}): FailedFact => ({ ...MEANT, scheduleId: null, ...some });
const attempt = (some: Partial<AttemptFact> = {}): AttemptFact => ({
  ...MEANT,
  outcome: 'answered',
  status: 200,
  nextAt: null,
  ...some,
});

test('messageFailed: as many as asked within the window; over when none is left in it; alerts do not count', () => {
  const rule: AlertRule = { type: 'messageFailed', count: 2, windowMs: 5 * MINUTE, ...ANY };
  const of = (rows: readonly FailedFact[]) => ({ failed: { rows, isCut: false } });
  assert.equal(isWrong(rule, of([failed()])), false);
  assert.equal(isWrong(rule, of([failed(), failed({ kind: 'callback' })])), true);
  assert.equal(isWrong(rule, of([failed(), failed({ kind: 'alert' })])), false);
  assert.equal(isWrong(rule, of([failed(), failed({ endedAt: NOW - 5 * MINUTE - 1 })]), { evaluatedAt: NOW }), false);
  assert.equal(isWrong(rule, of([failed()]), FIRING), true, 'one is enough to go on');
  assert.equal(isWrong(rule, of([failed({ endedAt: NOW - 5 * MINUTE - 1 })]), FIRING), false);
  const scoped = { ...rule, count: 1, host: 'a.example', queue: 'q', label: 'red' };
  assert.equal(isWrong(scoped, of([failed({ queueName: 'q', labels: ['red'] })])), true);
  assert.equal(isWrong(scoped, of([failed({ queueName: 'q', labels: ['blue'] })])), false);
  assert.equal(isWrong({ ...scoped, host: 'example' }, of([failed({ queueName: 'q', labels: ['red'] })])), false);
  const others = { failed: { rows: [failed(), failed()], isCut: true } };
  assert.equal(finding(scoped, others, FIRING), null, 'others fill what was read: it is not known to be over');
  assert.equal(isWrong(scoped, others), false);
});

test('messageFailed counts what failed since the last look, however long ago, but nothing before the alert was made', () => {
  const window = 5 * MINUTE;
  const calm = alert({ createdAt: NOW - 60 * MINUTE, evaluatedAt: NOW - 50 * MINUTE });
  assert.equal(failuresFrom(calm, window, NOW), NOW - 50 * MINUTE);
  assert.equal(failuresFrom({ ...calm, evaluatedAt: NOW - SECOND }, window, NOW), NOW - window);
  assert.equal(failuresFrom({ ...calm, ...FIRING, state: 'firing' }, window, NOW), NOW - window);
  assert.equal(failuresFrom(alert({ createdAt: NOW - MINUTE }), window, NOW), NOW - MINUTE);
  const rule: AlertRule = { type: 'messageFailed', count: 1, windowMs: window, ...ANY };
  const rows = [failed({ endedAt: NOW - 40 * MINUTE })];
  const late = finding(rule, { failed: { rows, isCut: false } }, { evaluatedAt: NOW - 50 * MINUTE });
  assert.equal(late!.text, '1 message failed within 50m.');
});

test('failureRate: the share of ended messages, with a minimum; over well below it', () => {
  const rule: AlertRule = { type: 'failureRate', share: 0.5, windowMs: 5 * MINUTE, minimum: 4, ...ANY };
  const counts = (bad: number, good: number, notified: AlertFacts['notified'] = []) => ({
    counted: [
      { at: NOW - 60 * MINUTE, delivered: 0, failed: 1000 },
      { at: NOW - MINUTE, delivered: good, failed: bad },
    ],
    notified,
  });
  assert.equal(isWrong(rule, counts(2, 2)), true);
  assert.equal(isWrong(rule, counts(2, 3)), false);
  assert.equal(isWrong(rule, counts(3, 0)), false, 'too few to tell');
  const ended = (end: 'delivered' | 'failed', at = NOW) => ({ end, endedAt: at });
  assert.equal(isWrong(rule, counts(2, 2, [ended('failed')])), false, 'one of the failed is that of an alert');
  assert.equal(isWrong(rule, counts(4, 5, [ended('delivered')])), true, 'one of the delivered is that of an alert');
  assert.equal(isWrong(rule, counts(4, 5, [ended('delivered', NOW - 60 * MINUTE)])), false);
  assert.equal(isWrong(rule, counts(41, 59), FIRING), true);
  assert.equal(isWrong(rule, counts(39, 61), FIRING), false);
  assert.equal(isWrong(rule, counts(0, 0), FIRING), false);
  const scoped: AlertRule = { ...rule, host: 'a.example' };
  const bad = attempt({ status: 500 });
  const rows = [bad, bad, attempt(), attempt()];
  const noise = [
    attempt({ host: 'b.example:443' }),
    attempt({ status: 500, nextAt: NOW + 1 }),
    { ...bad, kind: 'alert' as const },
  ];
  assert.equal(isWrong(scoped, { attempts: { rows: [...rows, ...noise], isCut: false } }), true);
  assert.equal(isWrong(scoped, { attempts: { rows: [...rows, attempt()], isCut: false } }), false);
  const cut = finding(scoped, { attempts: { rows, isCut: true } });
  assert.equal(cut!.facts.isCut, true);
  assert.match(cut!.text, /the newest 4 messages/);
  const others = { attempts: { rows: [attempt({ host: 'b.example:443' })], isCut: true } };
  assert.equal(finding(scoped, others, FIRING), null, 'others fill what was read: it is not known to be over');
  assert.equal(isWrong(scoped, others), false);
});

test('queueStalled: the oldest message is due for too long; over when it is younger than half of that', () => {
  const rule: AlertRule = { type: 'queueStalled', olderThanMs: 10 * MINUTE, queue: null };
  const queue = (name: string, minutes: number) => ({ name, isPaused: false, oldestDueAt: NOW - minutes * MINUTE });
  assert.equal(isWrong(rule, { queues: [queue('a', 9), queue('b', -5)] }), false);
  assert.equal(isWrong(rule, { queues: [queue('a', 9), queue('b', 10)] }), true);
  assert.equal(isWrong({ ...rule, queue: 'a' }, { queues: [queue('a', 9), queue('b', 10)] }), false);
  assert.equal(isWrong(rule, { queues: [queue('a', 6)] }, FIRING), true);
  assert.equal(isWrong(rule, { queues: [queue('a', 4)] }, FIRING), false);
  const paused = finding(rule, { queues: [{ ...queue('a', 90), isPaused: true }] });
  assert.match(paused!.text, /queue a has been due for 1h30m; the queue is paused/);
});

test('hostFailing: so many failures in a row; an answer below 500 ends the row', () => {
  const rule: AlertRule = { type: 'hostFailing', attempts: 3, host: null };
  const down = [
    attempt({ outcome: 'unreachable', status: null }),
    attempt({ status: 503 }),
    attempt({ outcome: 'timedOut', status: null }),
  ];
  const of = (rows: readonly AttemptFact[], isCut = false) => ({ attempts: { rows, isCut } });
  assert.equal(isWrong(rule, of(down)), true);
  assert.equal(isWrong(rule, of(down.slice(1))), false);
  assert.equal(isWrong(rule, of([attempt({ status: 404 }), ...down])), false, 'it answers');
  assert.equal(isWrong(rule, of([down[0]!, attempt(), ...down])), false);
  assert.equal(isWrong(rule, of([attempt({ outcome: 'interrupted', status: null }), ...down])), true);
  assert.equal(isWrong(rule, of([attempt({ host: 'b.example:443' }), ...down])), true);
  assert.equal(isWrong(rule, of(down.map((each) => ({ ...each, kind: 'alert' as const })))), false);
  assert.equal(isWrong({ ...rule, host: 'b.example' }, of(down)), false);
  assert.equal(isWrong(rule, of(down.slice(1)), FIRING), false);
  assert.equal(isWrong(rule, of(down.slice(1), true), FIRING), true, 'the row may be longer than what was read');
  assert.equal(finding({ ...rule, host: 'c.example' }, of(down, true), FIRING), null, 'nothing is known about it');
  const cut = finding(rule, of([attempt({ host: 'b.example:443' })], true), FIRING)!;
  assert.deepEqual([cut.isWrong, cut.facts.isCut], [false, true]);
  assert.match(cut.text, /not called lately/);
  assert.equal('isCut' in finding(rule, of(down))!.facts, false);
});

test('scheduleFailed: the newest run with a known end failed; over with the next that was delivered', () => {
  const rule: AlertRule = { type: 'scheduleFailed', schedule: null };
  const of = (...states: readonly (readonly ['failed' | 'delivered' | 'pending', number])[]) => ({
    schedules: [{ id: 's', runs: states.map(([state, minutes]) => ({ state, createdAt: NOW - minutes * MINUTE })) }],
  });
  assert.equal(isWrong(rule, of(['failed', 5])), true);
  assert.equal(isWrong(rule, of(['pending', 1], ['failed', 5])), true);
  assert.equal(isWrong(rule, of(['delivered', 1], ['failed', 5])), false);
  assert.equal(isWrong(rule, of(['delivered', 1], ['failed', 1])), true, 'one endpoint of a topic failed');
  assert.equal(isWrong(rule, of(['pending', 1], ['delivered', 1], ['failed', 5])), true);
  assert.equal(isWrong({ ...rule, schedule: 'other' }, of(['failed', 5])), false);
  assert.equal(isWrong(rule, of()), false);
});

test('quotaNear and diskLow: by what the node knows; without that, nothing is said', () => {
  const quota: AlertRule = { type: 'quotaNear', share: 0.8 };
  assert.equal(finding(quota, { used: 1000 }), null);
  assert.equal(isWrong(quota, { used: 1000 }, FIRING), false, 'the account got a tier without a quota');
  assert.equal(isWrong(quota, { used: 79 }, {}, { ...NO_STORED, dayMax: 100, freeBytes: null }), false);
  assert.equal(isWrong(quota, { used: 80 }, {}, { ...NO_STORED, dayMax: 100, freeBytes: null }), true);
  const stored = (storedBytes: number) => ({ ...SIGHT, storedBytes, storedBytesMax: 1000 });
  assert.equal(finding(quota, {}, {}, stored(799)), null);
  assert.equal(isWrong(quota, {}, {}, stored(800)), true);
  assert.equal(isWrong(quota, {}, FIRING, stored(799)), false);
  assert.equal(isWrong(quota, { used: 1 }, {}, { ...stored(800), dayMax: 100 }), true);
  const disk: AlertRule = { type: 'diskLow', freeBytes: 1000 };
  const free = (freeBytes: number) => ({ ...NO_STORED, dayMax: null, freeBytes });
  assert.equal(finding(disk, {}), null);
  assert.equal(isWrong(disk, {}, {}, free(1000)), false);
  assert.equal(isWrong(disk, {}, {}, free(999)), true);
  assert.equal(isWrong(disk, {}, FIRING, free(1099)), true);
  assert.equal(isWrong(disk, {}, FIRING, free(1100)), false);
});

test('all alerts of an account are judged at the same times, those of another account at others', () => {
  const times = [0, 1, 5000, 9999].map((ms) => nextEvaluationAt('acc_1', NOW + ms));
  for (const at of times) assert.equal((at - times[0]!) % 10_000, 0);
  assert.ok(times.every((at, index) => at > NOW + [0, 1, 5000, 9999][index]! && at <= NOW + 20_000));
  assert.equal(nextEvaluationAt('acc_1', times[0]!), times[0]! + 10_000, 'never the same time again');
  assert.notEqual((nextEvaluationAt('acc_2', NOW) - times[0]!) % 10_000, 0);
  const ids = Array.from({ length: 1000 }, (_, n) => `acc_${n}`);
  for (const now of [0, 1, 9999, NOW]) {
    const all = ids.map((id) => nextEvaluationAt(id, now));
    assert.ok(all.every((at) => Number.isInteger(at) && at > now && at <= now + 10_000));
    assert.ok(new Set(all).size > 500, 'spread over the ten seconds');
  }
});

test('the alerts of an account are looked at together, and only at what they need', () => {
  const rules: AlertRule[] = [
    { type: 'failureRate', share: 0.5, windowMs: 5 * MINUTE, minimum: 1, ...ANY },
    { type: 'queueStalled', olderThanMs: MINUTE, queue: 'a' },
    { type: 'queueStalled', olderThanMs: MINUTE, queue: 'b' },
  ];
  const look = neededFacts(
    rules.map((rule) => alert({ rule })),
    NOW,
  );
  assert.deepEqual(look, {
    failedFromAt: null,
    attemptsFromAt: null,
    countedFromAt: NOW - 5 * MINUTE,
    queues: ['a', 'b'],
    schedules: [],
    areFailedSchedulesAsked: false,
    areParkedHostsAsked: false,
    isUsageAsked: false,
  });
  const all = neededFacts(
    [
      alert({ rule: { type: 'queueStalled', olderThanMs: MINUTE, queue: null } }),
      alert({ rule: { type: 'scheduleFailed', schedule: null } }),
      alert({ rule: { type: 'hostFailing', attempts: 3, host: null } }),
      alert({ rule: { type: 'quotaNear', share: 1 } }),
    ],
    NOW,
  );
  assert.deepEqual(
    [all.queues, all.areFailedSchedulesAsked, all.failedFromAt, all.isUsageAsked, all.areParkedHostsAsked],
    ['all', true, 0, true, true],
  );
  assert.equal(all.attemptsFromAt, NOW - 60 * MINUTE);
});

test('the body: JSON with the facts, or the text alone for a chat, in which no markup of others works', () => {
  const told = {
    event: 'begin',
    text: '2 messages failed with label <!channel> & more.',
    facts: { failed: 2 },
    at: NOW,
  } as const;
  const shown = { type: 'messageFailed' };
  assert.deepEqual(JSON.parse(alertBody(alert({ id: 'bills' }), shown, told)), {
    alertId: 'bills',
    event: 'begin',
    rule: shown,
    since: NOW,
    at: NOW,
    text: told.text,
    facts: { failed: 2 },
  });
  const chat = alert({ id: 'bills', target: { url: 'https://c.example', format: 'slack' } });
  assert.deepEqual(JSON.parse(alertBody(chat, shown, told)), {
    text: '[bills] 2 messages failed with label &lt;!channel&gt; &amp; more.',
  });
});
