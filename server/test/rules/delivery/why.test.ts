// Why a message is not delivered yet: the reason, and the earliest time of its next attempt.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Message } from '../../../src/rules/delivery/message.ts';
import { NEVER_AT } from '../../../src/rules/delivery/recovery.ts';
import {
  cappedCount,
  type First,
  type WhyInput,
  waitsForOthers,
  whyNotDelivered,
} from '../../../src/rules/delivery/why.ts';
import { type Parking, parkedByHand } from '../../../src/rules/hosts/parking.ts';
import type { FlowKey } from '../../../src/rules/lines/flow-key.ts';
import type { Queue } from '../../../src/rules/lines/queue.ts';
import { claimOf, NOW } from '../given.ts';

const HOUR = 3_600_000;
const DUE: Message = { ...claimOf({}).message, id: 'msg_1', state: 'pending', dueAt: NOW };
const LATER: Message = { ...DUE, dueAt: NOW + HOUR };
const AT_LATER = `${new Date(NOW + HOUR).toISOString()}, in 1h`;

const QUEUE: Queue = {
  accountId: 'acc_1',
  name: 'orders',
  parallelism: 1,
  isPaused: false,
  expiresMs: null,
  priority: null,
  outage: null,
  createdAt: 0,
  updatedAt: 0,
  lag: 3,
};
const KEY: FlowKey = {
  key: 'shop',
  limits: { parallelism: null, rate: null, periodMs: 60_000 },
  isParallelismPinned: false,
  isRatePinned: false,
  isPaused: false,
  active: 0,
  waiting: 0,
  windowStartAt: NOW - 20_000,
  windowCount: 0,
};

function why(message: Message, some: Partial<WhyInput> = {}) {
  return whyNotDelivered({
    message,
    queue: null,
    ahead: null,
    flowKey: null,
    flowAhead: null,
    isDraining: false,
    paceMs: null,
    now: NOW,
    ...some,
  });
}

test('a count stops at its budget', () => {
  assert.deepEqual(cappedCount(5, 5), { count: 5 });
  assert.deepEqual(cappedCount(6, 5), { count: 5, isCountCut: true });
});

test('a message that has ended says how', () => {
  const ended: Message = { ...DUE, endedAt: NOW, state: 'delivered' };
  assert.deepEqual(why(ended), { reason: 'ended', text: 'it has ended: delivered' });
  assert.deepEqual(why({ ...ended, state: 'failed', failure: 'no route' }), {
    reason: 'ended',
    text: 'it has ended: failed: no route',
  });
});

test('an attempt under way, a requested cancel and a held message come before all else', () => {
  const paused = { queue: { ...QUEUE, isPaused: true } };
  assert.deepEqual(why({ ...DUE, state: 'claimed', attempts: 2 }, paused), {
    reason: 'active',
    text: 'attempt 3 is running',
  });
  const cancelled = why({ ...DUE, state: 'claimed', attempts: 2, cancelRequestedAt: 0 }, paused);
  assert.equal(cancelled.reason, 'cancelRequested');
  assert.match(cancelled.text, /attempt 3 was claimed before that/);
  const held = why({ ...DUE, state: 'held', aloneAtCrash: 3 }, paused);
  assert.equal(held.reason, 'held');
  assert.match(held.text, /^it is held: the server crashed 3 times/);
});

test('a paused queue holds a message, whether its time has come or not', () => {
  for (const message of [DUE, LATER]) {
    assert.deepEqual(why(message, { queue: { ...QUEUE, isPaused: true } }), {
      reason: 'queuePaused',
      text: 'queue "orders" is paused; resume it to continue',
    });
  }
});

test('in a queue it waits behind those before it', () => {
  const ahead = { messageId: 'msg_0', state: 'claimed', dueAt: NOW, count: 1 } as const;
  const inQueue = { ...DUE, queueName: 'orders' };
  assert.deepEqual(why(inQueue, { queue: QUEUE, ahead }), {
    reason: 'behind',
    text: '1 message of queue "orders" goes before it, first msg_0, which is claimed',
    behindMessageId: 'msg_0',
    aheadCount: 1,
  });
  assert.deepEqual(why(inQueue, { queue: QUEUE, ahead: { ...ahead, count: 2, isCountCut: true } }), {
    reason: 'behind',
    text: 'more than 2 messages of queue "orders" go before it, first msg_0, which is claimed',
    behindMessageId: 'msg_0',
    aheadCount: 2,
    isAheadCountCut: true,
  });
});

test('a delay ends at a known time, which is only the earliest where it then waits for others', () => {
  const delayed = (message: Message, some: Partial<WhyInput> = {}) => {
    const { reason, text, nextAttemptAt, isEarliest } = why(message, some);
    assert.deepEqual([reason, nextAttemptAt], ['delayed', NOW + HOUR]);
    assert.equal(text, `it is delayed until ${AT_LATER}${isEarliest ? ', at the earliest' : ''}`);
    return isEarliest;
  };
  assert.equal(delayed(LATER), undefined);
  assert.equal(delayed({ ...LATER, queueName: 'orders' }, { queue: QUEUE }), true);
  const ahead = { messageId: 'msg_0', state: 'pending', dueAt: NOW, count: 1 } as const;
  assert.equal(delayed({ ...LATER, queueName: 'orders' }, { queue: QUEUE, ahead }), true);
  const flow = { key: 'shop', limits: KEY.limits };
  assert.equal(delayed({ ...LATER, flow }, { flowKey: { ...KEY, isPaused: true } }), true);
  assert.ok(!('isEarliest' in why(LATER)));
});

test('a retry follows at a known time; the head of a queue waits for nothing else', () => {
  const failed = { ...LATER, attempts: 2, lastStatus: 503 };
  assert.deepEqual(why(failed), {
    reason: 'retrying',
    text: `attempt 2 failed with status 503; the next follows at ${AT_LATER}`,
    nextAttemptAt: NOW + HOUR,
  });
  assert.match(why({ ...failed, lastStatus: null }).text, /^attempt 2 failed; the next follows at/);
  const ahead = { messageId: 'msg_0', state: 'pending', dueAt: NOW, count: 1 } as const;
  assert.equal(why({ ...failed, queueName: 'orders' }, { queue: QUEUE }).isEarliest, undefined);
  assert.equal(why({ ...failed, queueName: 'orders' }, { queue: QUEUE, ahead }).isEarliest, true);
});

test('after crashes it is tried alone, later or as soon as nothing is in flight', () => {
  const suspect = { ...LATER, interrupted: 3, attempts: 3 };
  assert.deepEqual(why(suspect), {
    reason: 'interrupted',
    text: `crashes of the server interrupted it 3 times in a row; it is tried again, alone, at ${AT_LATER}; to start it now: POST /v2/messages/msg_1/retry`,
    nextAttemptAt: NOW + HOUR,
  });
  const ahead = { messageId: 'msg_0', state: 'pending', dueAt: NOW, count: 1 } as const;
  assert.ok(!why(suspect, { ahead }).text.includes('to start it now'));
  const due = why({ ...suspect, dueAt: NOW }, { isDraining: true });
  assert.equal(due.reason, 'interrupted');
  assert.match(due.text, /interrupted it 3 times in a row; it starts as soon as no other attempt is in flight/);
});

test('a message that is due waits for a slot, or for the next start of a node that shuts down', () => {
  assert.deepEqual(why(DUE), {
    reason: 'waitingForSlot',
    text: 'it is due and waits for a free slot on the node or at its host',
    level: 5,
  });
  const urgent = why({ ...DUE, priority: 9 });
  assert.equal(urgent.text, 'it is due and waits for a free slot on the node or at its host; its priority is 9');
  const risen = why({ ...DUE, priority: 9, dueAt: NOW - 125_000 });
  assert.match(risen.text, /; its priority is 9, and has risen to 11 while it waited$/);
  assert.equal(risen.level, 11);
  assert.equal(why(DUE, { isDraining: true }).reason, 'draining');
  assert.equal(why({ ...DUE, dueAt: NOW + 1 }).reason, 'delayed');
});

test('a paused flow key holds what is due', () => {
  assert.deepEqual(why(DUE, { flowKey: { ...KEY, isPaused: true } }), {
    reason: 'flowPaused',
    text: 'flow key "shop" is paused; resume it to continue',
  });
});

/** Under a flow key with these limits, behind so many. */
function inLine(count: number, some: Partial<FlowKey>, isCountCut?: true) {
  return why(DUE, { flowKey: { ...KEY, ...some }, flowAhead: { count, ...(isCountCut && { isCountCut }) } });
}

test('under a key with a limit of its own, the free places go to those before it', () => {
  const limits = { parallelism: 3, rate: null, periodMs: 60_000 };
  assert.equal(inLine(0, { limits, active: 2 }).reason, 'waitingForSlot');
  assert.deepEqual(inLine(0, { limits, active: 3 }), {
    reason: 'flowFull',
    text: 'flow key "shop" has 3 of 3 deliveries under way; it is next, and its turn comes when 1 more message of the key has ended',
    aheadCount: 0,
  });
  assert.deepEqual(inLine(1, { limits, active: 2 }), {
    reason: 'flowFull',
    text: 'flow key "shop" has 2 of 3 deliveries under way; 1 message waits before it, and its turn comes when 1 more message of the key has ended',
    aheadCount: 1,
  });
  const far = inLine(7, { limits, active: 3 }, true);
  assert.match(
    far.text,
    /; more than 7 messages wait before it, and its turn comes when 8 more messages of the key have ended$/,
  );
  assert.deepEqual([far.aheadCount, far.isAheadCountCut], [7, true]);
  assert.equal(why(DUE, { flowKey: { ...KEY, limits, active: 3 } }).reason, 'waitingForSlot', 'it does not wait there');
});

test('by the rate, it starts in the period in which its turn comes', () => {
  const limits = { parallelism: null, rate: 5, periodMs: 60_000 };
  const startsIn = (ahead: number, some: Partial<FlowKey>) => {
    const { nextAttemptAt } = inLine(ahead, { limits, ...some });
    return nextAttemptAt === undefined ? null : nextAttemptAt - NOW;
  };
  // 20 s of the period are over.
  assert.equal(startsIn(0, { windowCount: 4 }), null);
  assert.equal(startsIn(1, { windowCount: 4 }), 40_000);
  assert.equal(startsIn(0, { windowCount: 5 }), 40_000);
  assert.equal(startsIn(0, { windowCount: 9 }), 40_000, 'its limit was lowered');
  assert.equal(startsIn(4, { windowCount: 5 }), 40_000);
  assert.equal(startsIn(5, { windowCount: 5 }), 100_000);
  assert.equal(startsIn(10, { windowCount: 4 }), 100_000);
  assert.equal(startsIn(11, { windowCount: 4 }), 160_000);
  // The period is over: another one begins with the next start.
  const windowStartAt = NOW - 60_000;
  assert.equal(startsIn(4, { windowCount: 5, windowStartAt }), null);
  assert.equal(startsIn(5, { windowCount: 5, windowStartAt }), 60_000);
  assert.equal(startsIn(10, { windowCount: 5, windowStartAt }), 120_000);
  assert.equal(startsIn(5, { windowCount: 3, windowStartAt }), 60_000, 'what was left of it does not count');
  assert.equal(startsIn(5, { windowCount: 5, windowStartAt: windowStartAt + 1 }), 60_001);
});

test('the time is said to be the earliest where it waits for ends as well, or where more may be before it', () => {
  const rate = { parallelism: null, rate: 1, periodMs: 60_000 };
  const at = `${new Date(NOW + 40_000).toISOString()}, in 40s`;
  assert.deepEqual(inLine(0, { limits: rate, windowCount: 1 }), {
    reason: 'flowFull',
    text: `flow key "shop" starts 1 in 1m; it is next, and its turn comes at ${at}`,
    nextAttemptAt: NOW + 40_000,
    aheadCount: 0,
  });
  assert.deepEqual(inLine(0, { limits: { ...rate, parallelism: 2 }, windowCount: 1, active: 2 }), {
    reason: 'flowFull',
    text: `flow key "shop" starts 1 in 1m and has 2 of 2 deliveries under way; it is next, and its turn comes at ${at}, at the earliest`,
    nextAttemptAt: NOW + 40_000,
    isEarliest: true,
    aheadCount: 0,
  });
  assert.equal(inLine(0, { limits: { ...rate, parallelism: 2 }, windowCount: 1, active: 1 }).isEarliest, undefined);
  assert.equal(inLine(0, { limits: rate, windowCount: 1 }, true).isEarliest, true);
});

test('behind others it is estimated from the places they share and the usual pace of the host', () => {
  const ahead = { messageId: 'msg_0', state: 'claimed', dueAt: NOW, count: 5 } as const;
  const behind = (some: Partial<WhyInput>) => {
    const { text, estimatedAt } = why({ ...DUE, queueName: 'orders' }, { queue: QUEUE, ahead, paceMs: 700, ...some });
    return [text.slice(text.indexOf(';')), estimatedAt];
  };
  assert.deepEqual(behind({}), ['; at the usual pace of its host, in about 4s', NOW + 3500]);
  assert.deepEqual(behind({ queue: { ...QUEUE, parallelism: 2 } })[1], NOW + 1400);
  assert.deepEqual(behind({ queue: { ...QUEUE, parallelism: 9 } })[1], NOW + 700, 'at least one must end');
  const ofKey = { queue: { ...QUEUE, parallelism: 2 }, ahead: { ...ahead, isOfKey: true } as const };
  assert.deepEqual(behind(ofKey)[1], NOW + 3500, 'those of its order key are delivered one by one');
  assert.match(String(behind({ ahead: { ...ahead, isCountCut: true } })[0]), /in more than 4s$/);
  assert.equal(behind({ paceMs: null })[1], undefined);
  const retried = { ...ahead, state: 'pending', dueAt: NOW + 3_600_000 } as const;
  assert.deepEqual(
    behind({ ahead: retried }),
    ['; at the usual pace of its host, in about 1h4s', NOW + 3_603_500],
    'the first waits for its retry',
  );
  assert.equal(
    behind({ ahead: retried, queue: { ...QUEUE, parallelism: 2 } })[1],
    NOW + 1400,
    'there is another place',
  );
  const held = { ...ahead, state: 'held', dueAt: NEVER_AT } as const;
  assert.equal(behind({ ahead: held })[1], undefined, 'a person has to release the first');

  const limits = { parallelism: 2, rate: null, periodMs: 60_000 };
  const underKey = (some: Partial<FlowKey>) =>
    why(DUE, { flowKey: { ...KEY, limits, ...some }, flowAhead: { count: 4 }, paceMs: 2000 });
  assert.equal(underKey({ active: 2 }).estimatedAt, NOW + 6000);
  assert.match(
    underKey({ active: 2 }).text,
    /5 more messages of the key have ended; at the usual pace .* in about 6s$/,
  );
  const rated = underKey({ active: 2, limits: { ...limits, rate: 5 }, windowCount: 1 });
  assert.deepEqual([rated.nextAttemptAt, rated.estimatedAt], [NOW + 40_000, NOW + 40_000], 'not before its period');
  assert.equal(underKey({ active: 0, limits: { ...limits, parallelism: 9 } }).reason, 'waitingForSlot');
  assert.ok(waitsForOthers({ ahead, flowAhead: null }) && waitsForOthers({ ahead: null, flowAhead: { count: 0 } }));
  assert.ok(!waitsForOthers({ ahead: null, flowAhead: null }));
});

const BY_HAND = parkedByHand(null, NOW - HOUR).parking!;
const PARKED: Parking = { ...BY_HAND, isByHand: false, failures: 10, probeAt: NOW + 5000 };
const AT_PROBE = new Date(NOW + 5000).toISOString();
const ACK = { attempt: 1, deadlineAt: NOW + HOUR / 2, progress: null, note: null };
const UNTIL_ACK = new Date(NOW + HOUR / 2).toISOString();

/** The first of those before a message. */
function first(some: Partial<First>, state: Message['state'] = 'pending'): First {
  return { message: { id: 'msg_0', state, host: 'a.example:443' }, ack: null, parking: null, ...some };
}

test('behind one that awaits its ack or whose host is parked, it is estimated from then on, or not at all', () => {
  const behind = (some: Partial<WhyInput>, state: 'claimed' | 'pending' = 'pending') => {
    const ahead = { messageId: 'msg_0', state, dueAt: NOW, count: 2 } as const;
    const told = why({ ...DUE, queueName: 'orders' }, { queue: QUEUE, ahead, paceMs: 700, ...some });
    return [told.text.slice(told.text.indexOf('which is')), told.estimatedAt];
  };
  assert.deepEqual(behind({ first: first({ ack: ACK }, 'claimed') }, 'claimed'), [
    `which is claimed and waits for its ack until ${UNTIL_ACK} at the latest; at the usual pace of its host, in about 30m2s`,
    NOW + HOUR / 2 + 1400,
  ]);
  assert.deepEqual(behind({ first: first({ parking: BY_HAND }) }), [
    'which is pending and waits until its host a.example:443, which is parked by hand, is resumed',
    undefined,
  ]);
  assert.deepEqual(behind({ first: first({ parking: PARKED }) }), [
    `which is pending and waits for a probe of its parked host a.example:443, at ${AT_PROBE} at the earliest; at the usual pace of its host, in about 7s`,
    NOW + 6400,
  ]);
  assert.deepEqual(behind({ first: first({ parking: { ...PARKED, probeAt: NOW - 1 } }) }), [
    'which is pending and waits for a probe of its parked host a.example:443; at the usual pace of its host, in about 2s',
    NOW + 1400,
  ]);
  const plain = ['which is pending; at the usual pace of its host, in about 2s', NOW + 1400];
  const opening = { ...PARKED, probeAt: null, step: 2 };
  for (const parking of [null, opening, { ...PARKED, parkedAt: null }]) {
    assert.deepEqual(behind({ first: first({ parking }) }), plain);
  }
  const underWay = { first: first({ parking: BY_HAND }, 'claimed') };
  assert.equal(behind(underWay, 'claimed')[1], NOW + 1400, 'its attempt runs already');
  const places = { queue: { ...QUEUE, parallelism: 2 } };
  for (const some of [{ ack: ACK }, { parking: PARKED }]) {
    assert.equal(behind({ ...places, first: first(some) })[1], undefined, 'the other places may wait for such a thing');
  }
});

test('behind others it also waits for its own host then, if it is parked', () => {
  const ahead = { messageId: 'msg_0', state: 'claimed', dueAt: NOW, count: 1 } as const;
  const behind = (some: Partial<WhyInput>) => {
    const { text, estimatedAt } = why({ ...DUE, queueName: 'orders' }, { queue: QUEUE, ahead, paceMs: 700, ...some });
    return [text.slice(text.indexOf('which is')), estimatedAt];
  };
  const { host } = DUE;
  assert.deepEqual(behind({ parking: BY_HAND }), [
    `which is claimed; it then waits until its host ${host}, which is parked by hand, is resumed`,
    undefined,
  ]);
  const pace = '; at the usual pace of its host, in about 6s';
  assert.deepEqual(behind({ parking: PARKED }), [
    `which is claimed; it then waits for a probe of its parked host ${host}, at ${AT_PROBE} at the earliest${pace}`,
    NOW + 5700,
  ]);
  const same = first({ message: { id: 'msg_0', state: 'pending', host }, parking: PARKED });
  assert.ok(!String(behind({ first: same, parking: PARKED })[0]).includes('it then'), 'that was said already');
});

test('under a flow key, it is said what the one with the place waits for', () => {
  const limits = { parallelism: 1, rate: null, periodMs: 60_000 };
  const underKey = (some: Partial<First>, state: Message['state'], parallelism = 1) => {
    const flowKey = { ...KEY, limits: { ...limits, parallelism }, active: parallelism };
    const { text, estimatedAt } = why(DUE, {
      flowKey,
      flowAhead: { count: 0 },
      first: first(some, state),
      paceMs: 700,
    });
    return [text.slice(text.indexOf('under way')), estimatedAt];
  };
  const turn = 'it is next, and its turn comes when 1 more message of the key has ended';
  assert.deepEqual(underKey({ ack: ACK }, 'claimed'), [
    `under way, of which msg_0 waits for its ack until ${UNTIL_ACK} at the latest; ${turn}; at the usual pace of its host, in about 30m1s`,
    NOW + HOUR / 2 + 700,
  ]);
  assert.deepEqual(underKey({ parking: BY_HAND }, 'pending'), [
    `under way, of which msg_0 waits until its host a.example:443, which is parked by hand, is resumed; ${turn}`,
    undefined,
  ]);
  assert.equal(underKey({ parking: PARKED }, 'pending')[1], NOW + 5700);
  assert.equal(underKey({ parking: PARKED }, 'pending', 2)[1], undefined);
  assert.deepEqual(underKey({}, 'claimed'), [
    `under way; ${turn}; at the usual pace of its host, in about 1s`,
    NOW + 700,
  ]);
});

test('a message whose host is parked says since when, and what opens it again', () => {
  const parked = (parking: Parking) => why(DUE, { parking });
  const since = `since ${new Date(NOW - HOUR).toISOString()}`;
  const { host } = DUE;
  const opening: Parking = { ...PARKED, probeAt: null, step: 4 };
  assert.deepEqual(parked(opening), {
    reason: 'parked',
    text: `its host ${host} was parked ${since} and opens again, 4 messages at once`,
    parkedSince: NOW - HOUR,
  });
  assert.match(parked({ ...opening, step: 1 }).text, /opens again, 1 message at once$/);
  assert.deepEqual(parked(BY_HAND), {
    reason: 'parked',
    text: `its host ${host} is parked by hand ${since}; POST /v2/hosts/${host}/resume to continue`,
    parkedSince: NOW - HOUR,
  });
  const fails = `its host ${host} is parked ${since}: its attempts fail; `;
  assert.deepEqual(parked(PARKED), {
    reason: 'parked',
    text: `${fails}the next probe follows at ${AT_PROBE}, in 5s, and the message waits until one is answered`,
    parkedSince: NOW - HOUR,
    nextAttemptAt: NOW + 5000,
    isEarliest: true,
  });
  const due = parked({ ...PARKED, probeAt: NOW });
  assert.equal(due.text, `${fails}a probe is due, and the message waits until one is answered`);
  assert.deepEqual([due.nextAttemptAt, due.isEarliest], [NOW, true]);
  assert.equal(parked({ ...PARKED, parkedAt: null }).reason, 'waitingForSlot', 'only failures are counted');
});

test('an attempt that awaits its ack says until when, and what was reported', () => {
  const awaiting = (some: Partial<typeof ACK> | { progress: number } | { note: string }) =>
    why({ ...DUE, state: 'claimed' }, { ack: { ...ACK, ...some } });
  const until = `attempt 1 was answered with 202 and waits for its ack until ${UNTIL_ACK}, for 30m`;
  assert.deepEqual(awaiting({}), { reason: 'awaitingAck', text: until, ackDeadline: NOW + HOUR / 2 });
  assert.equal(awaiting({ progress: 0.456 }).text, `${until}; its receiver reported 45 %`);
  assert.equal(awaiting({ note: 'half' }).text, `${until}; its receiver reported "half"`);
  assert.equal(awaiting({ progress: 0, note: 'half' } as object).text, `${until}; its receiver reported 0 %, "half"`);
  const late = awaiting({ deadlineAt: NOW }).text;
  assert.equal(late, `attempt 1 was answered with 202 and waits for its ack until ${new Date(NOW).toISOString()}`);
  const claimed: Message = { ...DUE, state: 'claimed' };
  assert.equal(why({ ...claimed, cancelRequestedAt: NOW }, { ack: ACK }).reason, 'cancelRequested');
  assert.equal(why({ ...claimed, endedAt: NOW, state: 'delivered' }, { ack: ACK }).reason, 'ended');
});

const SOON = fc.integer({ min: -2 * HOUR, max: 2 * HOUR }).map((ms) => NOW + ms);
const PARKING: fc.Arbitrary<Parking | null> = fc.option(
  fc.record({ parkedAt: fc.option(SOON), probeAt: fc.option(SOON), step: fc.constantFrom(0, 0, 1, 8) }).map((some) => ({
    ...PARKED,
    ...some,
  })),
);
const STATES = ['pending', 'claimed', 'held'] as const;

test('an estimate is never in the past, nor before the next attempt', () => {
  const limits = fc.record({
    parallelism: fc.option(fc.integer({ min: 1, max: 5 })),
    rate: fc.option(fc.integer({ min: 1, max: 5 })),
    periodMs: fc.constant(60_000),
  });
  const input = fc.record({
    dueAt: fc.oneof(fc.constant(NOW), SOON),
    attempts: fc.nat(3),
    queue: fc.option(fc.integer({ min: 1, max: 3 }).map((parallelism) => ({ ...QUEUE, parallelism }))),
    ahead: fc.option(
      fc.record({ dueAt: fc.oneof(SOON, fc.constant(NEVER_AT)), count: fc.integer({ min: 1, max: 99 }) }),
    ),
    key: fc.option(fc.record({ limits, active: fc.nat(5), windowCount: fc.nat(9) })),
    flowCount: fc.option(fc.nat(99)),
    state: fc.constantFrom(...STATES),
    ack: fc.option(SOON.map((deadlineAt) => ({ ...ACK, deadlineAt }))),
    parking: PARKING,
    ofFirst: PARKING,
    paceMs: fc.option(fc.nat(100_000)),
  });
  let estimates = 0;
  fc.assert(
    fc.property(input, ({ dueAt, attempts, queue, ahead, key, flowCount, state, ack, ofFirst, ...rest }) => {
      const isAwaiting = state === 'claimed' && ack !== null;
      const told = why(
        { ...DUE, dueAt, attempts, queueName: queue && 'orders' },
        {
          ...rest,
          queue,
          ahead: queue && ahead && { messageId: 'msg_0', state, ...ahead },
          flowKey: key && { ...KEY, ...key },
          flowAhead: key && flowCount !== null ? { count: flowCount } : null,
          first: first({ ack: isAwaiting ? ack : null, parking: ofFirst }, state),
        },
      );
      if (told.estimatedAt === undefined) return;
      estimates += 1;
      assert.ok(told.estimatedAt >= NOW && told.estimatedAt < NEVER_AT, told.text);
      assert.ok(told.estimatedAt >= (told.nextAttemptAt ?? NOW), told.text);
      if (isAwaiting) assert.ok(told.estimatedAt >= ack.deadlineAt, told.text);
    }),
    { numRuns: 1000 },
  );
  assert.ok(estimates > 50, `${estimates} estimates`);
});

test('the remaining time is in full seconds, and the time itself is exact', () => {
  const { text, nextAttemptAt } = why({ ...DUE, dueAt: NOW + HOUR - 3 });
  assert.match(text, /, in 1h$/);
  assert.equal(nextAttemptAt, NOW + HOUR - 3);
  assert.match(why({ ...DUE, dueAt: NOW + 1 }).text, /, in 1s$/);
});
