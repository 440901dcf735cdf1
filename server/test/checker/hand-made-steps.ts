// Steps of a store made by hand, each breaking one promise or just not, for the rules that look at what the store did.

import type { BadHistory } from './bad-histories.ts';
import { arrival, asked, attempt, changedTo, content, failed, history, publish, stored } from './hand-made.ts';
import type { Change, History, StoredAttempt, StoredMessage, StoredSchedule, Word } from './history.ts';
import type { AcceptedStep, AttemptedStep, ClaimedStep, ScheduleStep, Step, TickStep } from './step.ts';

const MINUTE = 60_000;

function accepted(id: string, extra: Partial<AcceptedStep> = {}): Step {
  const nothing = { queue: null, orderKey: null, flow: null, priority: null, deduplication: null };
  return { kind: 'accepted', id, at: 0, dueAt: 0, ...nothing, ...extra };
}

function claimed(id: string, extra: Partial<ClaimedStep> = {}): Step {
  return { kind: 'claimed', id, at: 0, dueAt: 0, by: 'search', left: [], periodStartAt: null, ...extra };
}

const waits = (id: string, hasBegun = true): Step => ({ kind: 'waits', id, hasBegun });
const givenBack = (id: string, at: number): Step => ({ kind: 'waits', id, hasBegun: false, at });
const ended = (id: string, how: 'delivered' | 'failed' | 'cancelled' = 'delivered'): Step => ({
  kind: 'ended',
  id,
  how,
});
const moved = (id: string, dueAt: number): Step => ({ kind: 'changed', id, dueAt, priority: null });

/** A good history in which the store did this. */
const did = (...steps: readonly Step[]): History => history({ steps });

const keyed = (id: string, dueAt = 0) => accepted(id, { dueAt, queue: 'q', orderKey: 'q red' });
const flow = (id: string, limits: { parallelism?: number; rate?: number }) =>
  accepted(id, { flow: { key: 'f', parallelism: null, rate: null, periodMs: 1000, ...limits } });
const started = (id: string, periodStartAt: number) => claimed(id, { periodStartAt });
const once = (id: string, at: number) => accepted(id, { at, deduplication: { key: 'k', until: at + 100 } });
const ready = (...ids: string[]) => ids.map((id) => ({ id, dueAt: 0 }));

const everyTen = (extra: Partial<ScheduleStep> = {}): ScheduleStep => ({
  kind: 'schedule',
  scheduleId: 's',
  createdAt: 500,
  everyMs: 10_000,
  offsetMs: 0,
  overlap: 'allow',
  jitterMs: 0,
  isPaused: false,
  ...extra,
});
const tick = (id: string, tickAt: number, extra: Partial<TickStep> = {}): TickStep => ({
  kind: 'tick',
  scheduleId: 's',
  tickAt,
  version: 0,
  result: 'made',
  messages: [{ id, laterMs: 0 }],
  ...extra,
});
const skipped = (tickAt: number) => tick('none', tickAt, { result: 'skipped', messages: [] });
const kept = (extra: Partial<StoredSchedule> = {}): StoredSchedule => ({
  id: 's',
  createdAt: 500,
  skippedCount: 0,
  lastMessageIds: ['a'],
  ...extra,
});

/** A message that failed once and was to be tried again so much later, with a jitter of half of that second. */
function waited(ms: number): History {
  const first = attempt(1, 0, failed);
  const attempts = [{ ...first, nextAt: first.endedAt + ms }, attempt(2, 90_000)];
  return history({
    publishes: [publish([asked('m', { jitterPercent: 50, waitsMs: [1000, 0, 0] })])],
    arrivals: [arrival('m', 20), arrival('m', 90_000, { retried: 1 })],
    stored: [stored('m', { retried: 1, attempts })],
  });
}

/** `m` changed twice at the same time, by who had read these versions. */
function changedTwice(one: Partial<Change>, other: Partial<Change>): History {
  const [change] = changedTo('n').changes!;
  return history({
    ...changedTo('n'),
    changes: [
      { ...change!, ...one },
      { ...change!, ...other },
    ],
  });
}

const hostIs = (state: 'parked' | 'opening' | 'open', isByHand = false, parkedAt = 100): Step => ({
  kind: 'host',
  host: 'h',
  state,
  parkedAt: state === 'open' ? null : parkedAt,
  isByHand,
});
const answered = (at = 200): Step => ({ kind: 'answered', host: 'h', at });
const down = (at = 0, node = 'one'): Step => ({ kind: 'down', host: 'h', node, at });
const tenDown = (node = 'one') => Array.from({ length: 10 }, (_, index) => down(index, node));
const parkedUntil = (probeAt: number): Step => ({
  kind: 'host',
  host: 'h',
  state: 'parked',
  parkedAt: 100,
  probeAt,
  isByHand: false,
});
const probeClaimed = (at: number, probeAt: number) =>
  claimed('a', { at, parked: { host: 'h', underWay: 1, isOwner: true, probeAt } });
const atHost = (id: string, underWay: number, isOwner = true) =>
  claimed(id, { parked: { host: 'h', underWay, isOwner, probeAt: null } });
const attempted = (id: string, extra: Partial<AttemptedStep>): Step => ({
  kind: 'attempted',
  id,
  host: 'h',
  parks: true,
  mustBeFree: true,
  isFree: true,
  ...extra,
});
const debounced = (id: string, at = 0, extra: Partial<AcceptedStep> = {}) =>
  accepted(id, { at, debounceKey: 'k', ...extra });
const replaced = (id: string, at = 1): Step => ({ kind: 'replaced', id, key: 'k', at });

/** `m` published twice with a debounce key, and sent as it was first. */
function sentAs(which: 'm' | 'n'): History {
  const key = { debounceKey: 'k', id: 'm' };
  return history({
    publishes: [
      publish([{ ...asked('m'), ...key }]),
      publish([{ ...asked('n'), ...key }], { askedAt: 10, endedAt: 15 }),
    ],
    stored: [stored('m', content(which))],
    arrivals: [arrival('m', 40, content(which))],
  });
}

/** A message with one retry, tried three times; the first attempts used up none, or did. */
function triedFreely(isFree: boolean): History {
  const first = attempt(1, 0, { ...failed, isFree });
  return history({
    publishes: [publish([asked('m', { retriesMax: 1, waitsMs: [0] })])],
    arrivals: [arrival('m', 20), arrival('m', 120), arrival('m', 220, { retried: 1 })],
    stored: [stored('m', { retriesMax: 1, retried: 1, attempts: [first, attempt(2, 100, failed), attempt(3, 200)] })],
  });
}

const word = (extra: Partial<Word> = {}): Word => {
  const nothing = { retry: false, wantedAt: null, at: 50 } as const;
  return { messageId: 'm', attempt: 1, kind: 'ok', reply: 'ended', ...nothing, ...extra };
};

/** `m`, which awaits acks, with these attempts and these words of its receiver. */
function worked(
  words: readonly Word[],
  attempts: readonly StoredAttempt[],
  extra: Partial<StoredMessage> = {},
): History {
  const arrivals = attempts.map((_, index) => arrival('m', 20 + 20_000 * index, { retried: index }));
  const retried = attempts.length - 1;
  return history({ words, arrivals, stored: [stored('m', { awaitAckMs: 1000, attempts, retried, ...extra })] });
}

const takenOn = attempt(1, 0, { status: 202 });
const unheard = (startedAt = 0) => attempt(1, startedAt, { status: 202, outcome: 'noAck' });
const rejected = attempt(1, 0, { status: 202, outcome: 'rejected' });
const second = (extra: Partial<StoredAttempt> = {}) => attempt(2, 20_000, { status: 202, ...extra });
const failure = (extra: Partial<Word> = {}) => word({ kind: 'failed', retry: true, ...extra });
const awaiting = (id: string, deadlineAt: number): Step => ({ kind: 'awaiting', id, deadlineAt });
const waitsAfter = (id: string, outcome: 'noAck' | 'interrupted' | 'rejected', at: number): Step => ({
  kind: 'waits',
  id,
  hasBegun: true,
  end: { outcome, at },
});

const twice = (count: number) => Array.from({ length: count }, (_, index) => `m${index}`);

export const BAD_STEPS: readonly BadHistory[] = [
  ['acks', 'a 202 that was taken for success', worked([], [takenOn])],
  ['acks', 'success by a word that was refused', worked([word({ reply: 'gone' })], [takenOn])],
  ['acks', 'success by the word of an attempt before', worked([word({ reply: 'unknown' })], [unheard(), second()])],
  ['acks', 'a retry after success was acknowledged', worked([word(), word({ attempt: 2 })], [takenOn, second()])],
  ['acks', 'a request after success was acknowledged', worked([word({ at: 19 })], [takenOn])],
  ['acks', 'a confirmed word that did not count', worked([word()], [unheard()], { state: 'failed', retriesMax: 0 })],
  ['acks', 'two words of one attempt that both count', worked([word(), failure()], [takenOn])],
  ['acks', 'a failure that nobody has reported', worked([word({ attempt: 2 })], [rejected, second()])],
  ['acks', 'a cancel of what was acknowledged', worked([word()], [takenOn], { state: 'cancelled' })],
  [
    'acks',
    'a retry that the receiver did not want',
    worked([failure({ retry: false }), word({ attempt: 2 })], [rejected, second()]),
  ],
  [
    'acks',
    'an extension that was confirmed and not made',
    worked(
      [word({ kind: 'progress', reply: 'noted', wantedAt: 900, deadlineAt: 500, latestAt: 2000 }), word()],
      [takenOn],
    ),
  ],
  [
    'acks',
    'one given up before the deadline that its receiver was told',
    worked(
      [
        word({ kind: 'progress', reply: 'noted', deadlineAt: unheard().endedAt + 1, latestAt: unheard().endedAt + 2 }),
        word({ attempt: 2 }),
      ],
      [unheard(), second()],
    ),
  ],
  [
    'awaited acks',
    'an attempt that was cut off while its ack was awaited',
    did(accepted('a'), claimed('a'), awaiting('a', 50), waitsAfter('a', 'interrupted', 60)),
  ],
  [
    'awaited acks',
    'one given up before its deadline',
    did(accepted('a'), claimed('a'), awaiting('a', 50), waitsAfter('a', 'noAck', 49)),
  ],
  [
    'awaited acks',
    'one given up before the deadline that was extended',
    did(accepted('a'), claimed('a'), awaiting('a', 50), awaiting('a', 90), waitsAfter('a', 'noAck', 60)),
  ],
  [
    'awaited acks',
    'one claimed again while its ack is awaited',
    did(accepted('a'), claimed('a'), awaiting('a', 50), claimed('a')),
  ],
  [
    'order keys',
    'a later one while the first awaits its ack',
    did(keyed('a'), keyed('b'), claimed('a'), awaiting('a', 50), claimed('b')),
  ],
  [
    'flow keys',
    'one more while another awaits its ack',
    did(flow('a', { parallelism: 1 }), flow('b', { parallelism: 1 }), claimed('a'), awaiting('a', 50), claimed('b')),
  ],
  ['parkings', 'a host that was parked after nine failures', did(...tenDown().slice(1), hostIs('parked'))],
  [
    'parkings',
    'a host that was parked by responses of a client error',
    did(...tenDown().map(({ kind: _, ...each }) => ({ ...each, kind: 'answered' }) as Step), hostIs('parked')),
  ],
  [
    'parkings',
    'ten failures with a response among them',
    did(
      ...tenDown().slice(1),
      { kind: 'answered', host: 'h', node: 'one', at: 20 },
      down(30),
      hostIs('parked', false, 9000),
    ),
  ],
  ['probes', 'a first probe less than five seconds after the host was parked', did(parkedUntil(100 + 4999))],
  [
    'probes',
    'a message that is sent to a parked host before its probe is due',
    did(parkedUntil(5100), probeClaimed(5000, 5100)),
  ],
  ['parked hosts', 'two probes at once', did(hostIs('parked'), atHost('a', 1), atHost('b', 2))],
  ['parked hosts', 'a probe of a node that does not own the host', did(hostIs('parked'), atHost('a', 1, false))],
  [
    'parked hosts',
    'a burst at a host that is back',
    did(hostIs('parked'), answered(), hostIs('opening'), atHost('a', 2)),
  ],
  [
    'parked hosts',
    'more at once than were answered since it was parked again',
    did(
      hostIs('parked'),
      answered(),
      answered(),
      hostIs('opening'),
      atHost('a', 2),
      hostIs('parked', false, 300),
      answered(99),
      atHost('b', 2),
    ),
  ],
  [
    'parked hosts',
    'more at once than a step allows',
    did(hostIs('parked'), answered(), answered(), hostIs('opening'), answered(), atHost('a', 3)),
  ],
  ['parked attempts', 'a probe that used up a retry', did(hostIs('parked'), attempted('a', { isFree: false }))],
  [
    'parked attempts',
    'a message that retries and used up none',
    did(hostIs('parked'), attempted('a', { parks: false })),
  ],
  ['parked attempts', 'one that used up none at a host that is up', did(attempted('a', {}))],
  ['attempt counts', 'an attempt too many, which used up a retry', triedFreely(false)],
  ['debounce keys', 'two that wait with one key', did(debounced('a'), debounced('b', 5))],
  [
    'debounce keys',
    'two that wait, the first given back unsent',
    did(debounced('a'), claimed('a'), waits('a', false), debounced('b', 5)),
  ],
  [
    'debounce keys',
    'one that is given back beside a newer one',
    did(debounced('a'), claimed('a'), debounced('b', 5), givenBack('a', 6)),
  ],
  ['debounce keys', 'the place of one that was claimed', did(debounced('a'), claimed('a'), replaced('a'))],
  [
    'debounce keys',
    'the place of one that has expired',
    did(debounced('a', 0, { mustStartBefore: 5 }), replaced('a', 5)),
  ],
  ['changes', 'an older body sent than the newest with its key', sentAs('m')],
  ['order keys', 'two under way', did(keyed('a'), keyed('b'), claimed('a'), claimed('b'))],
  ['order keys', 'a later one first', did(keyed('a'), keyed('b'), claimed('b'))],
  [
    'order keys',
    'a later one while the first waits for its retry',
    did(keyed('a'), keyed('b'), claimed('a'), waits('a'), claimed('b')),
  ],
  [
    'flow keys',
    'more than its parallelism',
    did(flow('a', { parallelism: 1 }), flow('b', { parallelism: 1 }), claimed('a'), claimed('b')),
  ],
  [
    'flow keys',
    'more than it was pinned to',
    did(
      flow('a', { parallelism: 2 }),
      flow('b', { parallelism: 2 }),
      { kind: 'flowPinned', key: 'f', parallelism: 1 },
      claimed('a'),
      claimed('b'),
    ),
  ],
  [
    'flow keys',
    'a start of a paused key',
    did(flow('a', { parallelism: 1 }), { kind: 'flowPaused', key: 'f', isPaused: true }, claimed('a')),
  ],
  [
    'flow keys',
    'more starts than its rate',
    did(flow('a', { rate: 1 }), flow('b', { rate: 1 }), started('a', 0), started('b', 0)),
  ],
  [
    'flow keys',
    'a period that begins too early',
    did(flow('a', { rate: 1 }), flow('b', { rate: 1 }), started('a', 0), started('b', 999)),
  ],
  [
    'priorities',
    'a lower one first',
    did(accepted('a', { priority: 9 }), accepted('b', { priority: 0 }), claimed('b', { left: ready('a') })),
  ],
  [
    'priorities',
    'an older one of the same priority left',
    did(accepted('a'), accepted('b'), claimed('b', { dueAt: 1, left: ready('a') })),
  ],
  [
    'priorities',
    'an aged one left, which no priority is ahead of any more',
    did(
      accepted('a', { priority: 0 }),
      accepted('b', { priority: 9 }),
      claimed('b', { dueAt: 9 * MINUTE + 1, left: ready('a') }),
    ),
  ],
  [
    'priorities',
    'one of a queue that was given a high priority',
    did(
      { kind: 'queueSet', queue: 'q', priority: 9 },
      accepted('a', { queue: 'q' }),
      accepted('b'),
      claimed('b', { left: ready('a') }),
    ),
  ],
  [
    'priorities',
    'one whose priority was raised',
    did(
      accepted('a'),
      accepted('b'),
      { kind: 'changed', id: 'a', dueAt: null, priority: 8 },
      claimed('b', { left: ready('a') }),
    ),
  ],
  [
    'priorities',
    'one that is overtaken again and again as others are accepted',
    did(
      accepted('a'),
      ...twice(30).flatMap((id) => [accepted(id), claimed(id, { dueAt: 1, by: 'accept', left: ready('a') })]),
    ),
  ],
  ['duplicates', 'two messages of one id', did(once('a', 0), once('b', 99))],
  ['duplicates', 'two messages of one id, the first delivered', did(once('a', 0), ended('a'), once('b', 99))],
  ['duplicates', 'a duplicate after the window', did(once('a', 0), { kind: 'duplicate', of: 'a', key: 'k', at: 100 })],
  [
    'duplicates',
    'a duplicate of what has failed',
    did(once('a', 0), ended('a', 'failed'), { kind: 'duplicate', of: 'a', key: 'k', at: 50 }),
  ],
  ['schedules', 'a tick that ran twice', did(everyTen(), tick('a', 10_000), tick('b', 10_000))],
  [
    'schedules',
    'a tick that made two messages',
    did(
      everyTen(),
      tick('a', 10_000, {
        messages: [
          { id: 'a', laterMs: 0 },
          { id: 'b', laterMs: 0 },
        ],
      }),
    ),
  ],
  ['schedules', 'a tick at another time', did(everyTen(), tick('a', 15_000))],
  [
    'schedules',
    'an interval that does not count from its creation',
    did(everyTen({ offsetMs: null, createdAt: 3500 }), tick('a', 20_000)),
  ],
  [
    'schedules',
    'a tick while it is paused',
    did(everyTen(), { kind: 'schedulePaused', scheduleId: 's', isPaused: true }, tick('a', 10_000, { version: 1 })),
  ],
  [
    'schedules',
    'a tick made from what it was before a change',
    did(everyTen(), everyTen({ jitterMs: 5 }), tick('a', 10_000)),
  ],
  ['schedules', 'two open although it skips', did(everyTen({ overlap: 'skip' }), tick('a', 10_000), tick('b', 20_000))],
  [
    'schedules',
    'a tick skipped although none is open',
    did(everyTen({ overlap: 'skip' }), tick('a', 10_000), ended('a'), skipped(20_000)),
  ],
  ['schedules', 'a tick skipped although it may overlap', did(everyTen(), tick('a', 10_000), skipped(20_000))],
  [
    'schedules',
    'a message later than its jitter',
    did(everyTen({ jitterMs: 5 }), tick('a', 10_000, { messages: [{ id: 'a', laterMs: 6 }] })),
  ],
  [
    'schedules',
    'a change that forgot what it skipped',
    history({
      steps: [everyTen({ overlap: 'skip' }), tick('a', 10_000), skipped(20_000), everyTen({ overlap: 'skip' })],
      schedules: [kept()],
    }),
  ],
  [
    'schedules',
    'a change that forgot its last message',
    history({ steps: [everyTen(), tick('a', 10_000)], schedules: [kept({ lastMessageIds: [] })] }),
  ],
  [
    'schedules',
    'a change that made it anew',
    history({ steps: [everyTen(), tick('a', 10_000)], schedules: [kept({ createdAt: 700 })] }),
  ],
  [
    'schedules',
    'a message that no tick made',
    history({
      stored: [stored('m'), stored('t', { kind: 'schedule', headers: [['X-Tick', 's 10000']] })],
      arrivals: [arrival('m', 20), arrival('t', 20, { headers: [['X-Tick', 's 10000']] })],
      tickHeader: 'X-Tick',
    }),
  ],
  [
    'schedules',
    'a tick whose message is gone',
    history({ steps: [everyTen(), tick('a', 10_000)], tickHeader: 'X-Tick' }),
  ],
  ['retry jitter', 'a wait longer than the jitter allows', waited(1501)],
  ['retry jitter', 'a wait shorter than it was asked for', waited(999)],
  ['lost changes', 'two changes of one version', changedTwice({ ifMatch: '0-0' }, { ifMatch: '0-0' })],
  ['lost changes', 'two changes that made one version', changedTwice({ version: '0-1' }, { version: '0-1' })],
];

export const GOOD_STEPS: readonly (readonly [what: string, history: History])[] = [
  ['a 202 whose ack came', worked([word()], [takenOn])],
  ['an ack whose reply was lost', worked([word({ reply: 'unknown' })], [takenOn])],
  [
    'one without an ack that was retried, and whose late ack was refused',
    worked([word({ reply: 'gone', at: 900 }), word({ attempt: 2, at: 30_000 })], [unheard(), second()]),
  ],
  [
    'a failure that was reported, and a second attempt with success',
    worked([failure(), word({ attempt: 2, at: 30_000 })], [rejected, second()]),
  ],
  ['one that its receiver wanted no retry for', worked([failure({ retry: false })], [rejected], { state: 'failed' })],
  [
    'a failure that was reported, and a cancel before the retry',
    {
      ...worked([failure()], [{ ...rejected, nextAt: 900 }], { state: 'cancelled' }),
      cancels: [{ messageId: 'm', outcome: 'cancelled', endedAt: 500 }],
    },
  ],
  [
    'one given up when its extended deadline was over',
    did(accepted('a'), claimed('a'), awaiting('a', 50), awaiting('a', 90), waitsAfter('a', 'noAck', 90), claimed('a')),
  ],
  [
    'a host parked by ten failures that two nodes have seen, and its first probe five seconds later',
    did(
      ...tenDown().slice(4),
      { kind: 'answered', host: 'h', node: 'two', at: 10 },
      ...tenDown('two').slice(6),
      hostIs('parked', false, 9000),
      probeClaimed(14_000, 14_000),
    ),
  ],
  [
    'a parked host that is back, with 1, 2 and 4 at once',
    did(
      ...tenDown(),
      hostIs('parked'),
      atHost('a', 1),
      attempted('a', {}),
      atHost('b', 1),
      answered(),
      hostIs('opening'),
      atHost('c', 1),
      answered(),
      atHost('d', 2),
      answered(),
      answered(),
      atHost('e', 4),
      hostIs('open'),
    ),
  ],
  [
    'a host that a person resumed',
    did(hostIs('parked', true), hostIs('opening', true), atHost('a', 1), answered(), atHost('b', 2)),
  ],
  [
    'an attempt that used up no retry before the store knew of it',
    did(...tenDown(), attempted('a', { mustBeFree: false }), hostIs('parked')),
  ],
  ['an attempt too many, which used up no retry', triedFreely(true)],
  ['the newest with a key', sentAs('n')],
  [
    'one with a key that takes the place of another',
    did(debounced('a'), replaced('a'), claimed('a'), ended('a'), debounced('b', 5)),
  ],
  [
    'one with a key beside one that was tried',
    did(debounced('a'), claimed('a'), waits('a'), debounced('b', 5), replaced('b', 6)),
  ],
  [
    'one with a key that is given back beside an older one, which ends',
    did(
      debounced('a'),
      claimed('a'),
      debounced('b', 5),
      claimed('b'),
      givenBack('a', 6),
      { kind: 'ended', id: 'a', how: 'cancelled', isOvertaken: true },
      givenBack('b', 7),
    ),
  ],
  [
    'one with a key that was tried, and is given back beside a newer one',
    did(debounced('a'), claimed('a'), waits('a'), claimed('a'), debounced('b', 5), givenBack('a', 6)),
  ],
  ['one with a key beside one that has expired', did(debounced('a', 0, { mustStartBefore: 5 }), debounced('b', 5))],
  [
    'two of an order key, one after the other',
    did(keyed('a'), keyed('b'), claimed('a'), waits('a'), claimed('a'), ended('a'), claimed('b'), ended('b')),
  ],
  [
    'an order key whose first was given a later time',
    did(keyed('a'), keyed('b'), moved('a', 5), claimed('b'), ended('b'), claimed('a')),
  ],
  [
    'a flow key that is full, and free again',
    did(flow('a', { parallelism: 1 }), flow('b', { parallelism: 1 }), claimed('a'), waits('a'), claimed('b')),
  ],
  [
    'a start that was taken back',
    did(flow('a', { rate: 1 }), flow('b', { rate: 1 }), started('a', 0), waits('a', false), started('b', 0)),
  ],
  ['a period after another', did(flow('a', { rate: 1 }), flow('b', { rate: 1 }), started('a', 0), started('b', 1000))],
  [
    'a higher one first',
    did(accepted('a', { priority: 4 }), accepted('b'), claimed('b', { dueAt: MINUTE - 1, left: ready('a') })),
  ],
  [
    'one that starts as it is accepted',
    did(accepted('a'), accepted('b'), claimed('b', { dueAt: 1, by: 'accept', left: ready('a') })),
  ],
  [
    'an id again, after its window',
    did(once('a', 0), { kind: 'duplicate', of: 'a', key: 'k', at: 99 }, once('b', 100)),
  ],
  ['an id again, after its message failed', did(once('a', 0), ended('a', 'failed'), once('b', 50))],
  [
    'an id again, while its message is being cancelled',
    did(once('a', 0), { kind: 'cancelRequested', id: 'a' }, once('b', 50)),
  ],
  [
    'a schedule that was paused and changed',
    history({
      steps: [
        everyTen({ overlap: 'skip' }),
        tick('z', 10_000),
        skipped(20_000),
        ended('z'),
        { kind: 'schedulePaused', scheduleId: 's', isPaused: true },
        { kind: 'schedulePaused', scheduleId: 's', isPaused: false },
        everyTen({ everyMs: 7000, offsetMs: null, jitterMs: 50 }),
        tick('a', 28_000, { version: 3, messages: [{ id: 'a', laterMs: 50 }] }),
      ],
      schedules: [kept({ skippedCount: 1 })],
    }),
  ],
  [
    'a tick that comes again after the clock was set back',
    did(everyTen(), tick('a', 10_000), { kind: 'clockSetBack' }, tick('b', 10_000)),
  ],
  ['a wait that is longer by the jitter', waited(1500)],
  [
    'two changes, of one version each',
    changedTwice({ ifMatch: '0-0', version: '0-1' }, { ifMatch: '0-1', version: '0-2' }),
  ],
];
