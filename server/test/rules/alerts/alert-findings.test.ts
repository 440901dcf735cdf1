// What a rule of an alert finds, at the limits of its window and of its share, and the exact sentence and facts that its
// target gets.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Alert, AlertRule } from '../../../src/rules/alerts/alert.ts';
import type { AlertFacts, AttemptFact, FailedFact, QueueFact, RunFact } from '../../../src/rules/alerts/alert-facts.ts';
import { findingOf, type NodeAlertFacts } from '../../../src/rules/alerts/alert-findings.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const MEBIBYTE = 1024 * 1024;
const NOW = Date.UTC(2026, 0, 15, 12);
const ANY = { host: null, queue: null, label: null };
const EVERY = { host: 'a.example', queue: 'bills', label: 'red' };

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
const NO_SIGHT: NodeAlertFacts = { dayMax: null, storedBytes: 0, storedBytesMax: null, freeBytes: null };

interface Given {
  readonly rule: AlertRule;
  readonly facts?: Partial<AlertFacts>;
  readonly state?: Alert['state'];
  readonly sight?: Partial<NodeAlertFacts>;
}

/** Of an alert that was made two hours ago and judged just now. */
function found({ rule, facts = {}, state = 'calm', sight = {} }: Given) {
  const alert = { rule, state, evaluatedAt: NOW, createdAt: NOW - 120 * MINUTE } as Alert;
  return findingOf(alert, { ...NO_FACTS, ...facts }, { ...NO_SIGHT, ...sight }, NOW);
}

const MEANT = { kind: 'publish', host: 'a.example:443', queueName: 'bills', labels: ['red'], endedAt: NOW } as const;
const failed = (endedAt = NOW): FailedFact => ({ ...MEANT, endedAt, scheduleId: null });
const attempt = (some: Partial<AttemptFact> = {}): AttemptFact => ({
  ...MEANT,
  outcome: 'answered',
  status: 500,
  nextAt: null,
  ...some,
});
const times = <T>(count: number, each: T): T[] => Array.from({ length: count }, () => each);

const messageFailed = { type: 'messageFailed', count: 1, windowMs: 5 * MINUTE, ...ANY } as const;
const failureRate = { type: 'failureRate', share: 0.5, windowMs: 5 * MINUTE, minimum: 3, ...ANY } as const;
const queueStalled = { type: 'queueStalled', olderThanMs: 10 * MINUTE, queue: null } as const;
const hostFailing = { type: 'hostFailing', attempts: 2, host: null } as const;
const scheduleFailed = { type: 'scheduleFailed', schedule: null } as const;
const quotaNear = { type: 'quotaNear', share: 0.8 } as const;

test('messageFailed counts from the first instant of its window on, and says how many', () => {
  const of = (count: number, isCut = false, endedAt = NOW) => ({
    failed: { rows: times(count, failed(endedAt)), isCut },
  });
  const rule = messageFailed;
  assert.deepEqual(found({ rule, facts: of(1, false, NOW - 5 * MINUTE) }), {
    isWrong: true,
    text: '1 message failed within 5m.',
    facts: { failed: 1 },
  });
  assert.deepEqual(found({ rule, facts: of(1, false, NOW - 5 * MINUTE - 1) }), {
    isWrong: false,
    text: 'No message failed for 5m.',
    facts: { failed: 0 },
  });
  assert.equal(found({ rule, facts: of(2) })!.text, '2 messages failed within 5m.');
  assert.deepEqual(found({ rule, facts: of(1, true) }), {
    isWrong: true,
    text: '1 or more messages failed within 5m.',
    facts: { failed: 1, isCut: true },
  });
  assert.equal(found({ rule, facts: of(2, true) })!.text, '2 or more messages failed within 5m.');
});

test('rows that were cut before the window began, or all of them, may hide some; older ones hide none', () => {
  const isCut = (...ages: readonly number[]) => {
    const rows = ages.map((ageMs) => failed(NOW - ageMs));
    return found({ rule: messageFailed, facts: { failed: { rows, isCut: true } } })!.facts.isCut;
  };
  assert.equal(isCut(0, 5 * MINUTE - 1), true);
  assert.equal(isCut(0, 5 * MINUTE), true, 'the next may have ended at the same instant');
  assert.equal(isCut(0, 5 * MINUTE + 1), undefined);
  assert.equal(isCut(0, 0, 5 * MINUTE + 1), undefined);
  assert.equal(isCut(), true);
});

test('a sentence names the host, the queue and the label of its rule', () => {
  const facts = { failed: { rows: [failed()], isCut: false } };
  const scope = 'at a.example in queue bills with label red';
  assert.equal(found({ rule: { ...messageFailed, ...EVERY }, facts })!.text, `1 message failed ${scope} within 5m.`);
  assert.equal(found({ rule: { ...messageFailed, ...EVERY } })!.text, `No message failed ${scope} for 5m.`);
});

test('failureRate says the share in per cent, and counts the minutes from the first of its window on', () => {
  const counts = (bad: number, good: number, at = NOW) => ({ counted: [{ at, delivered: good, failed: bad }] });
  const rule = failureRate;
  assert.deepEqual(found({ rule, facts: counts(2, 1) }), {
    isWrong: true,
    text: '2 of 3 messages failed within 5m: 66.7 %.',
    facts: { failed: 2, ended: 3, share: 2 / 3 },
  });
  assert.deepEqual(found({ rule }), {
    isWrong: false,
    text: '0 of 0 messages failed within 5m: 0 %, which is below the limit.',
    facts: { failed: 0, ended: 0, share: 0 },
  });
  const first = counts(3, 0, NOW - 5 * MINUTE);
  assert.equal(found({ rule, facts: first })!.facts.failed, 3);
  assert.equal(found({ rule, facts: counts(3, 0, NOW - 5 * MINUTE - 1) })!.facts.failed, 0);
  const told = (endedAt: number) => ({ ...first, notified: [{ end: 'failed' as const, endedAt }] });
  assert.equal(found({ rule, facts: told(NOW - 5 * MINUTE) })!.facts.failed, 2);
  assert.equal(found({ rule, facts: told(NOW - 5 * MINUTE - 1) })!.facts.failed, 3);
});

test('failureRate is over below 80 % of its limit, not at 80 %', () => {
  const rate = (bad: number) =>
    found({
      rule: failureRate,
      state: 'firing',
      facts: { counted: [{ at: NOW, delivered: 1000 - bad, failed: bad }] },
    })!.isWrong;
  assert.deepEqual([399, 400].map(rate), [false, true]);
});

test('failureRate of some messages counts attempts from the first instant of its window on', () => {
  const rule = { ...failureRate, ...EVERY };
  const of = (endedAt: number, isCut = false) => ({ attempts: { rows: times(4, attempt({ endedAt })), isCut } });
  const scope = 'at a.example in queue bills with label red';
  assert.deepEqual(found({ rule, facts: of(NOW - 5 * MINUTE) }), {
    isWrong: true,
    text: `4 of 4 messages failed ${scope} within 5m: 100 %.`,
    facts: { failed: 4, ended: 4, share: 1 },
  });
  assert.equal(found({ rule, facts: of(NOW - 5 * MINUTE - 1) })!.facts.ended, 0);
  assert.deepEqual(found({ rule, facts: of(NOW, true) }), {
    isWrong: true,
    text: `4 of the newest 4 messages failed ${scope} within 5m: 100 %.`,
    facts: { failed: 4, ended: 4, share: 1, isCut: true },
  });
});

test('queueStalled names the queues from the one that waits longest on, and says which are paused', () => {
  const queue = (name: string, ageMs: number, isPaused = false): QueueFact => ({
    name,
    isPaused,
    oldestDueAt: NOW - ageMs,
  });
  const queues = [queue('b', 11 * MINUTE, true), queue('a', 90.5 * MINUTE + 1), queue('c', 12 * MINUTE)];
  assert.deepEqual(found({ rule: queueStalled, facts: { queues } }), {
    isWrong: true,
    text: 'The oldest message in queue a, c, b has been due for 1h30m30s.',
    facts: {
      stalled: [
        { queue: 'a', oldestDueAt: NOW - 90.5 * MINUTE - 1 },
        { queue: 'c', oldestDueAt: NOW - 12 * MINUTE },
        { queue: 'b', oldestDueAt: NOW - 11 * MINUTE, paused: true },
      ],
    },
  });
  const paused = found({ rule: queueStalled, facts: { queues: [queue('b', 11 * MINUTE, true)] } })!;
  assert.equal(paused.text, 'The oldest message in queue b has been due for 11m; the queue is paused.');
  const four = [...queues, queue('d', 10 * MINUTE)];
  const many = found({ rule: queueStalled, facts: { queues: four } })!;
  assert.equal(many.text, 'The oldest message in queue a, c, b and 1 more has been due for 1h30m30s.');
  assert.equal(found({ rule: queueStalled })!.text, 'No message in any queue has been due for long.');
  const one = found({ rule: { ...queueStalled, queue: 'b' } })!;
  assert.equal(one.text, 'No message in queue b has been due for long.');
});

test('hostFailing names the hosts from the one that failed most often in a row on', () => {
  const rows = [
    ...times(2, attempt({ host: 'a.example:443' })),
    ...times(4, attempt({ host: 'b.example:443' })),
    ...times(3, attempt({ host: 'c.example:443' })),
  ];
  assert.deepEqual(found({ rule: hostFailing, facts: { attempts: { rows, isCut: false } } }), {
    isWrong: true,
    text: 'The last 4 attempts to b.example:443, c.example:443, a.example:443 failed: no connection, no response in time, or a status of 500 or more.',
    facts: {
      hosts: [
        { host: 'b.example:443', failedInARow: 4 },
        { host: 'c.example:443', failedInARow: 3 },
        { host: 'a.example:443', failedInARow: 2 },
      ],
    },
  });
  assert.deepEqual(found({ rule: hostFailing }), {
    isWrong: false,
    text: 'Every host responds again, or was not called for an hour.',
    facts: { hosts: [] },
  });
  assert.equal(
    found({ rule: { ...hostFailing, host: 'b.example' } })!.text,
    'b.example responds again, or was not called for an hour.',
  );
  const lately = found({ rule: hostFailing, facts: { attempts: { rows: [], isCut: true } } })!;
  assert.equal(lately.text, 'Every host responds again, or was not called lately.');
});

test('hostFailing says for which of its hosts messages are parked', () => {
  const rows = ['a', 'b'].flatMap((name) => times(2, attempt({ host: `${name}.example:443` })));
  const facts = { attempts: { rows, isCut: false }, parkedHosts: ['b.example:443', 'c.example:443'] };
  assert.deepEqual(found({ rule: hostFailing, facts }), {
    isWrong: true,
    text: 'The last 2 attempts to a.example:443, b.example:443 failed: no connection, no response in time, or a status of 500 or more. Messages that park wait for b.example:443.',
    facts: {
      hosts: [
        { host: 'a.example:443', failedInARow: 2 },
        { host: 'b.example:443', failedInARow: 2, isParked: true },
      ],
    },
  });
});

test('hostFailing looks an hour back, its first instant included', () => {
  const at = (endedAt: number) =>
    found({ rule: hostFailing, facts: { attempts: { rows: times(2, attempt({ endedAt })), isCut: false } } })!.isWrong;
  assert.deepEqual([NOW - 60 * MINUTE, NOW - 60 * MINUTE - 1].map(at), [true, false]);
});

test('scheduleFailed names the schedules; the run with the latest time is the newest, however the runs are ordered', () => {
  const of = (...schedules: readonly (readonly [string, ...RunFact[]])[]) => ({
    schedules: schedules.map(([id, ...runs]) => ({ id, runs })),
  });
  const bad: RunFact = { state: 'failed', createdAt: NOW - 2 * MINUTE };
  const good: RunFact = { state: 'delivered', createdAt: NOW - MINUTE };
  assert.deepEqual(found({ rule: scheduleFailed, facts: of(['a', bad], ['b', bad, good], ['c', good, bad]) }), {
    isWrong: true,
    text: 'The last run of schedule a failed.',
    facts: { schedules: ['a'] },
  });
  assert.equal(
    found({ rule: scheduleFailed, facts: of(['a', bad], ['b', bad], ['c', bad], ['d', bad], ['e', bad]) })!.text,
    'The last run of schedule a, b, c and 2 more failed.',
  );
  assert.deepEqual(found({ rule: scheduleFailed }), {
    isWrong: false,
    text: 'The last run of every schedule did not fail, or was deleted.',
    facts: { schedules: [] },
  });
  const one = found({ rule: { ...scheduleFailed, schedule: 'a' } })!;
  assert.equal(one.text, 'The last run of schedule a did not fail, or was deleted.');
});

test('quotaNear says what is near its limit: the messages of the day, what is stored, or both', () => {
  const near = (used: number, sight: Partial<NodeAlertFacts>) => found({ rule: quotaNear, facts: { used }, sight });
  const day = { dayMax: 100 };
  const full = { storedBytes: 9 * MEBIBYTE - 1, storedBytesMax: 10 * MEBIBYTE };
  assert.deepEqual(near(80, day), {
    isWrong: true,
    text: '80 of the 100 messages of the day are used.',
    facts: { used: 80, dayMax: 100 },
  });
  assert.deepEqual(near(79, day), {
    isWrong: false,
    text: '79 of the 100 messages of the day are used, which is below the limit.',
    facts: { used: 79, dayMax: 100 },
  });
  assert.deepEqual(near(79, full), {
    isWrong: true,
    text: '8 MiB of 10 MiB are stored.',
    facts: { used: 79, ...full },
  });
  assert.deepEqual(near(79, { ...day, ...full }), {
    isWrong: true,
    text: '8 MiB of 10 MiB are stored.',
    facts: { used: 79, ...day, ...full },
  });
  assert.deepEqual(near(80, { ...day, ...full }), {
    isWrong: true,
    text: '80 of the 100 messages of the day are used, and 8 MiB of 10 MiB are stored.',
    facts: { used: 80, ...day, ...full },
  });
  assert.deepEqual(near(80, { ...day, storedBytes: 0, storedBytesMax: 1 })!.facts, { used: 80, dayMax: 100 });
});

test('diskLow says how much is free, and its limit', () => {
  const rule = { type: 'diskLow', freeBytes: 2048 * MEBIBYTE } as const;
  const freeBytes = 1500 * MEBIBYTE - 1;
  assert.deepEqual(found({ rule, sight: { freeBytes } }), {
    isWrong: true,
    text: '1,499 MiB are free on the disk of the data; the limit is 2,048 MiB.',
    facts: { freeBytes, limitBytes: 2048 * MEBIBYTE },
  });
});
