// Histories made by hand, each breaking one promise, with the rule that must see it.

import type { RuleName } from './check.ts';
import {
  arrival,
  asked,
  attempt,
  callbackUrl,
  changedTo,
  content,
  crash,
  cutOff,
  failed,
  failureUrl,
  heldAfter,
  history,
  inQueue,
  publish,
  queued,
  stored,
  timedOut,
  triedTwice,
  twoQueued,
} from './hand-made.ts';
import type { History } from './history.ts';

const cancelledAt = (endedAt: number) => [{ messageId: 'm', outcome: 'cancelled' as const, endedAt }];

export type BadHistory = readonly [rule: RuleName, what: string, history: History];

export const BAD_HISTORIES: readonly BadHistory[] = [
  ['lost', 'an acknowledged message is gone', history({ stored: [], arrivals: [] })],
  ['lost', 'an acknowledgement without an id', history({ publishes: [publish([asked(null)])] })],
  ['delivered without arrival', 'no receiver saw it', history({ arrivals: [] })],
  ['unexpected', 'a message nobody published', history({ publishes: [] })],
  ['unexpected', 'a request of no message', history({ arrivals: [arrival('m', 20), arrival('ghost', 30)] })],
  [
    'unexpected',
    'a callback of no message',
    history({ stored: [stored('m'), stored('c', { kind: 'callback', sourceMessageId: 'gone' })] }),
  ],
  ['unexpected', 'a message stored twice', history({ stored: [stored('m'), stored('m')] })],
  ['partial', 'half a batch', history({ publishes: [publish([asked('m'), asked('n')])] })],
  [
    'partial',
    'half a fan-out whose answer was lost',
    history({
      publishes: [publish([asked(null, { url: 'https://receiver.example/m', bodyHash: 'hash of m' }), asked(null)])],
    }),
  ],
  [
    'partial',
    'a refused publish that is delivered',
    history({ publishes: [publish([asked('m')], { outcome: 'refused' })] }),
  ],
  ['changed', 'another body', history({ arrivals: [arrival('m', 20, { bodyHash: 'other' })] })],
  ['changed', 'another URL', history({ arrivals: [arrival('m', 20, { url: 'https://receiver.example/%6D' })] })],
  ['changed', 'another method', history({ arrivals: [arrival('m', 20, { method: 'PUT' })] })],
  ['changed', 'a header left out', history({ arrivals: [arrival('m', 20, { headers: [['X-Tag', 'a']] })] })],
  ['changed', 'another body in the store', history({ stored: [stored('m', { bodyHash: 'other' })] })],
  ['changed', 'another queue', history({ stored: [stored('m', { queue: 'q' })] })],
  ['changed', 'other retries', history({ stored: [stored('m', { retriesMax: 5 })] })],
  [
    'changes',
    'a mixture of what was published and what it was changed to',
    history({ ...changedTo('n'), arrivals: [arrival('m', 40, { url: content('n').url })] }),
  ],
  [
    'changes',
    'what it was before a change that was answered',
    history({ ...changedTo('n'), arrivals: [arrival('m', 90)] }),
  ],
  [
    'changes',
    'what it was changed to, before anybody asked for that',
    history({ ...changedTo('n'), arrivals: [arrival('m', 20, content('n'))] }),
  ],
  [
    'changes',
    'a mixture in the store',
    history({ ...changedTo('n'), stored: [stored('m', { ...content('n'), bodyHash: 'hash of m' })] }),
  ],
  ['changes', 'a change that did not last', history({ ...changedTo('n'), stored: [stored('m')] })],
  ['ends', 'a message that never ends', history({ stored: [stored('m', { state: 'claimed', endedAt: null })] })],
  ['ends', 'a waiting message', history({ stored: [stored('m', { state: 'pending', endedAt: null })] })],
  ['ends', 'an end without a time', history({ stored: [stored('m', { endedAt: null })] })],
  ['ends', 'delivered by a 500', history({ stored: [stored('m', { attempts: [attempt(1, 0, failed)] })] })],
  ['ends', 'delivered twice', history({ stored: [stored('m', { attempts: [attempt(1, 0), attempt(2, 2000)] })] })],
  ['ends', 'failed by a 200', history({ stored: [stored('m', { state: 'failed' })] })],
  [
    'ends',
    'given up before its retries were used',
    history({ stored: [stored('m', { state: 'failed', attempts: [attempt(1, 0, failed)] })] }),
  ],
  ['ends', 'failed without an attempt', history({ stored: [stored('m', { state: 'failed', attempts: [] })] })],
  ['ends', 'a cancel that did not last', history({ cancels: cancelledAt(50) })],
  ['ends', 'a cancel nobody asked for', history({ stored: [stored('m', { state: 'cancelled', attempts: [] })] })],
  [
    'starts after expiry',
    'an attempt at its expiry',
    history({ stored: [stored('m', { mustStartBefore: stored('m').attempts[0]!.startedAt })] }),
  ],
  [
    'starts after expiry',
    'a request written at its expiry',
    history({
      stored: [stored('m', { mustStartBefore: 2_000_000 })],
      arrivals: [arrival('m', 20, { writtenAt: 2_000_000 })],
    }),
  ],
  [
    'expired ends',
    'failed too early',
    history({
      stored: [
        stored('m', { state: 'failed', hasExpired: true, mustStartBefore: stored('m').endedAt! + 1, attempts: [] }),
      ],
      arrivals: [],
    }),
  ],
  [
    'expired ends',
    'expired without an expiry',
    history({ stored: [stored('m', { state: 'failed', hasExpired: true, attempts: [] })], arrivals: [] }),
  ],
  [
    'expired ends',
    'delivered and expired',
    history({ stored: [stored('m', { hasExpired: true, mustStartBefore: 2_000_000 })] }),
  ],
  [
    'attempt counts',
    'one attempt too many',
    history({ stored: [stored('m', { retriesMax: 0, attempts: [attempt(1, 0, failed), attempt(2, 2000)] })] }),
  ],
  ['attempt counts', 'more retries than allowed', history({ stored: [stored('m', { retriesMax: 0, retried: 1 })] })],
  ['attempt counts', 'retries without attempts', history({ stored: [stored('m', { retried: 2 })] })],
  ['attempt counts', 'an interruption not recorded', history({ stored: [stored('m', { interrupted: 1 })] })],
  [
    'attempt counts',
    'an interruption without a fault',
    history({
      stored: [
        stored('m', {
          interrupted: 1,
          attempts: [attempt(1, 0, { outcome: 'interrupted', status: null }), attempt(2, 5)],
        }),
      ],
    }),
  ],
  [
    'attempt counts',
    'a crash that was not counted',
    history({
      stored: [stored('m', { state: 'cancelled', attempts: [attempt(1, 0, cutOff)] })],
      cancels: cancelledAt(50),
      faults: [crash('m')],
    }),
  ],
  [
    'attempt counts',
    'a count that a known result has not set back',
    history({
      stored: [stored('m', { interrupted: 1, attempts: [attempt(1, 0, cutOff), attempt(2, 15)] })],
      faults: [crash('m')],
    }),
  ],
  ['attempt counts', 'more crashes alone than crashes', history(heldAfter(3, 4))],
  [
    'attempt gaps',
    'a third interruption without a pause',
    history({
      stored: [
        stored('m', {
          attempts: [...[0, 20, 40].map((at, index) => attempt(index + 1, at, cutOff)), attempt(4, 970)],
        }),
      ],
      faults: [crash('m'), crash('m'), crash('m')],
    }),
  ],
  [
    'ends',
    'failed because it was cut off',
    history({
      stored: [
        stored('m', {
          state: 'failed',
          interrupted: 3,
          attempts: [0, 20, 40].map((at, index) => attempt(index + 1, at, cutOff)),
        }),
      ],
      faults: [crash('m'), crash('m'), crash('m')],
    }),
  ],
  ['ends', 'held after two crashes alone', history(heldAfter(3, 2))],
  ['ends', 'held although only two crashes met it', history({ ...heldAfter(3, 3), faults: [crash('m'), crash('m')] })],
  ['attempt counts', 'a gap in the numbers', history({ stored: [stored('m', { attempts: [attempt(2, 0)] })] })],
  ['attempt gaps', 'a retry too soon', history(triedTwice({}, 930))],
  ['attempt gaps', 'a retry too soon, though claims may be old', history({ ...triedTwice({}, 930), claimMsMax: 1000 })],
  ['attempt gaps', 'sooner than the answer asked', history(triedTwice({ retryAfterMs: 60_000 }, 50_000))],
  [
    'attempt gaps',
    'sooner than the message asked',
    history({ ...triedTwice({}, 2000), publishes: [publish([asked('m', { waitsMs: [5000] })])] }),
  ],
  [
    'arrival gaps',
    'a retry too soon for the receiver',
    history({ ...triedTwice({}, 1010), arrivals: [arrival('m', 20), arrival('m', 1019, { retried: 1 })] }),
  ],
  ['extra arrivals', 'a repeat without a fault', history({ arrivals: [arrival('m', 20), arrival('m', 30)] })],
  [
    'extra arrivals',
    'two repeats by one crash',
    history({ arrivals: [20, 30, 40].map((at) => arrival('m', at)), faults: [crash('m')] }),
  ],
  [
    'extra arrivals',
    'a crash that did not meet the message',
    history({ arrivals: [arrival('m', 20), arrival('m', 30)], faults: [crash('other')] }),
  ],
  [
    'extra arrivals',
    'more retries on the wire than in the store',
    history({ arrivals: [arrival('m', 20), arrival('m', 5000, { retried: 1 })] }),
  ],
  [
    'extra arrivals',
    'a count that goes back',
    history({
      arrivals: [arrival('m', 20, { retried: 1 }), arrival('m', 30)],
      stored: [stored('m', { retried: 1, attempts: [attempt(1, 0, failed), attempt(2, 2000)] })],
    }),
  ],
  [
    'extra arrivals',
    'a count that goes back long after the attempt was given up',
    history({
      ...triedTwice({ ...timedOut, retryAfterMs: 0 }, 10),
      arrivals: [arrival('m', 20, { retried: 1 }), arrival('m', 31)],
    }),
  ],
  [
    'starts after cancel',
    'a request long after the answer',
    history({
      cancels: cancelledAt(50),
      stored: [stored('m', { state: 'cancelled', attempts: [] })],
      arrivals: [arrival('m', 1051)],
    }),
  ],
  [
    'starts after cancel',
    'two requests after the answer',
    history({
      cancels: cancelledAt(50),
      stored: [stored('m', { state: 'cancelled', attempts: [] })],
      arrivals: [arrival('m', 60), arrival('m', 70)],
    }),
  ],
  [
    'steps back',
    'the first again after the second',
    history({
      publishes: twoQueued,
      stored: [inQueue('a'), inQueue('b')],
      arrivals: [arrival('a', 20), arrival('b', 30), arrival('a', 40)],
      faults: [crash('a')],
    }),
  ],
  [
    'overtaken',
    'the second before the first',
    history({
      publishes: twoQueued,
      stored: [inQueue('a'), inQueue('b')],
      arrivals: [arrival('b', 20), arrival('a', 30)],
    }),
  ],
  [
    'overtaken',
    'the second before the first, because a clock that was set back placed it there',
    history({
      publishes: twoQueued.map((each) => ({
        ...each,
        messages: each.messages.map((message) => ({ ...message, isUndelayed: true })),
      })),
      stored: [{ ...inQueue('a'), firstDueAt: 5000 }, inQueue('b')],
      arrivals: [arrival('b', 20), arrival('a', 30)],
    }),
  ],
  [
    'overtaken',
    'a batch in another order',
    history({
      publishes: [publish([queued('a'), queued('b')])],
      stored: [inQueue('a'), inQueue('b')],
      arrivals: [arrival('b', 20), arrival('a', 30)],
    }),
  ],
  ['callbacks', 'a missing callback', history({ publishes: [publish([asked('m', { callbackUrl })])] })],
  [
    'callbacks',
    'a doubled callback',
    history({
      publishes: [publish([asked('m', { callbackUrl })])],
      stored: [
        stored('m'),
        ...['c', 'd'].map((id) => stored(id, { kind: 'callback', sourceMessageId: 'm', url: callbackUrl })),
      ],
    }),
  ],
  [
    'callbacks',
    'a callback nobody asked for',
    history({ stored: [stored('m'), stored('c', { kind: 'callback', sourceMessageId: 'm' })] }),
  ],
  [
    'callbacks',
    'a failure callback of a success',
    history({
      publishes: [publish([asked('m', { failureCallbackUrl: failureUrl })])],
      stored: [stored('m'), stored('f', { kind: 'failureCallback', sourceMessageId: 'm', url: failureUrl })],
    }),
  ],
  [
    'callbacks',
    'a failure without its callback',
    history({
      publishes: [publish([asked('m', { failureCallbackUrl: failureUrl, retriesMax: 0 })])],
      stored: [stored('m', { state: 'failed', retriesMax: 0, attempts: [attempt(1, 0, failed)] })],
    }),
  ],
  [
    'callbacks',
    'a callback to another URL',
    history({
      publishes: [publish([asked('m', { callbackUrl })])],
      stored: [stored('m'), stored('c', { kind: 'callback', sourceMessageId: 'm' })],
    }),
  ],
  [
    'callbacks',
    'a callback of a callback',
    history({
      publishes: [publish([asked('m', { callbackUrl })])],
      stored: [
        stored('m'),
        stored('c', { kind: 'callback', sourceMessageId: 'm', url: callbackUrl }),
        stored('d', { kind: 'callback', sourceMessageId: 'c', url: callbackUrl }),
      ],
    }),
  ],
];
