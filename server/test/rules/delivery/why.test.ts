// Why a message is not delivered yet: the reason, and the earliest time of its next attempt.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Message } from '../../../src/rules/delivery/message.ts';
import { NEVER_AT } from '../../../src/rules/delivery/recovery.ts';
import { cappedCount, type WhyInput, waitsForOthers, whyNotDelivered } from '../../../src/rules/delivery/why.ts';
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

test('the remaining time is in full seconds, and the time itself is exact', () => {
  const { text, nextAttemptAt } = why({ ...DUE, dueAt: NOW + HOUR - 3 });
  assert.match(text, /, in 1h$/);
  assert.equal(nextAttemptAt, NOW + HOUR - 3);
  assert.match(why({ ...DUE, dueAt: NOW + 1 }).text, /, in 1s$/);
});
