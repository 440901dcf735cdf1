// Small histories made by hand: a good one in which something of every kind happens, and its parts, to be bent.

import type {
  Arrival,
  Change,
  Content,
  ExpectedMessage,
  Fault,
  History,
  Publish,
  StoredAttempt,
  StoredMessage,
} from './history.ts';

const START_AT = 1_000_000;
const HEADERS = [
  ['Content-Type', 'text/plain'],
  ['X-Tag', 'a'],
  ['X-Tag', 'b'],
] as const;

export function asked(id: string | null, extra: Partial<ExpectedMessage> = {}): ExpectedMessage {
  return {
    id,
    url: `https://receiver.example/${id}`,
    method: 'POST',
    bodyHash: `hash of ${id}`,
    headers: HEADERS,
    queue: null,
    retriesMax: 3,
    waitsMs: null,
    callbackUrl: null,
    failureCallbackUrl: null,
    ...extra,
  };
}

export function publish(messages: readonly ExpectedMessage[], extra: Partial<Publish> = {}): Publish {
  return { outcome: 'ok', askedAt: 0, endedAt: 5, messages, ...extra };
}

export function attempt(number: number, startedAt: number, extra: Partial<StoredAttempt> = {}): StoredAttempt {
  return {
    number,
    startedAt: START_AT + startedAt,
    endedAt: START_AT + startedAt + 10,
    outcome: 'answered',
    status: 200,
    retryAfterMs: null,
    isFinal: false,
    ...extra,
  };
}

export function stored(id: string, extra: Partial<StoredMessage> = {}): StoredMessage {
  return {
    id,
    kind: 'publish',
    sourceMessageId: null,
    url: `https://receiver.example/${id}`,
    method: 'POST',
    bodyHash: `hash of ${id}`,
    headers: HEADERS,
    queue: null,
    retriesMax: 3,
    firstDueAt: START_AT,
    state: 'delivered',
    endedAt: START_AT + 10,
    retried: 0,
    interrupted: 0,
    aloneAtCrash: 0,
    attempts: [attempt(1, 0)],
    ...extra,
  };
}

export function arrival(messageId: string, at: number, extra: Partial<Arrival> = {}): Arrival {
  return {
    messageId,
    retried: 0,
    url: `https://receiver.example/${messageId}`,
    method: 'POST',
    bodyHash: `hash of ${messageId}`,
    headers: [...HEADERS, ['User-Agent', 'somebody']],
    at,
    ...extra,
  };
}

/** All that is sent of the message with this name. */
export function content(name: string): Content {
  return { url: `https://receiver.example/${name}`, method: 'POST', bodyHash: `hash of ${name}`, headers: HEADERS };
}

/** The message `m`, changed to what `name` would be: asked for at 25, answered at 30. */
export function changedTo(name: string, extra: Partial<Change> = {}): Partial<History> {
  const change = { askedAt: 25, endedAt: 30, outcome: 'changed', isTimeChanged: false, ...extra } as const;
  return {
    changes: [{ messageId: 'm', content: content(name), ...change }],
    stored: [stored('m', content(name))],
    arrivals: [arrival('m', 40, content(name))],
  };
}

/** One message, published and delivered; `extra` replaces whole parts. */
export function history(extra: Partial<History> = {}): History {
  return {
    publishes: [publish([asked('m')])],
    cancels: [],
    arrivals: [arrival('m', 20)],
    stored: [stored('m')],
    faults: [],
    serialQueues: ['q'],
    arrivalMsMax: 1000,
    lateMsMax: 10,
    released: [],
    ...extra,
  };
}

const FAILED = { status: 500 };
const CALLBACK = { kind: 'callback', sourceMessageId: 'failing', retriesMax: 1 } as const;

/** Retries, a dead letter with its callbacks, a crash, a queue, a topic, a cancel, and publishes without an answer. */
export function goodHistory(): History {
  const queued = (id: string) => asked(id, { queue: 'q' });
  return history({
    publishes: [
      publish([asked('m')]),
      publish([asked('failing', { retriesMax: 1, callbackUrl: callbackUrl, failureCallbackUrl: failureUrl })]),
      publish([queued('q1')], { askedAt: 10, endedAt: 20 }),
      publish([queued('q2'), queued('q3')], { askedAt: 30, endedAt: 40 }),
      publish([asked('cancelled')]),
      publish([asked(null, { url: 'https://receiver.example/u', bodyHash: 'u' })], { outcome: 'unknown' }),
      publish([asked(null, { url: 'https://receiver.example/v' }), asked(null)], { outcome: 'unknown' }),
      publish([asked(null, { url: 'https://receiver.example/refused' })], { outcome: 'refused' }),
    ],
    cancels: [
      { messageId: 'cancelled', outcome: 'cancelled', endedAt: 100 },
      { messageId: 'm', outcome: 'notCancelled', endedAt: 100 },
    ],
    arrivals: [
      arrival('m', 20),
      arrival('failing', 20),
      arrival('q1', 50),
      arrival('q1', 60),
      arrival('q2', 70),
      arrival('q3', 80),
      arrival('cancelled', 110),
      arrival('found', 120, { url: 'https://receiver.example/u', bodyHash: 'u' }),
      arrival('c1', 130, { url: callbackUrl }),
      arrival('failing', 1040, { retried: 1 }),
      arrival('c2', 1130, { url: callbackUrl }),
      arrival('f', 1140, { url: failureUrl }),
    ],
    stored: [
      stored('m'),
      stored('failing', {
        state: 'failed',
        retriesMax: 1,
        retried: 1,
        attempts: [attempt(1, 0, FAILED), attempt(2, 1010, FAILED)],
      }),
      stored('c1', { ...CALLBACK, url: callbackUrl }),
      stored('c2', { ...CALLBACK, url: callbackUrl }),
      stored('f', { ...CALLBACK, kind: 'failureCallback', url: failureUrl }),
      stored('q1', {
        queue: 'q',
        attempts: [attempt(1, 0, { outcome: 'interrupted', status: null }), attempt(2, 15)],
      }),
      stored('q2', { queue: 'q' }),
      stored('q3', { queue: 'q' }),
      stored('cancelled', { state: 'cancelled', attempts: [] }),
      stored('found', { url: 'https://receiver.example/u', bodyHash: 'u' }),
    ],
    faults: [{ kind: 'crash', at: 55, inFlight: ['q1'] }],
  });
}

export const callbackUrl = 'https://receiver.example/callback';
export const failureUrl = 'https://receiver.example/failure';

export const crash = (...inFlight: string[]): Fault => ({ kind: 'crash', at: 15, inFlight });
export const failed = { status: 500 } as const;
export const cutOff = { outcome: 'interrupted', status: null } as const;
export const timedOut = { outcome: 'timedOut', status: null } as const;
export const queued = (id: string) => asked(id, { queue: 'q' });
export const inQueue = (id: string) => stored(id, { queue: 'q' });
export const twoQueued = [
  publish([queued('a')], { askedAt: 0, endedAt: 5 }),
  publish([queued('b')], { askedAt: 10, endedAt: 15 }),
];

/** Tried, failed, and tried again; `secondStartedAt` counts from when the first attempt started. */
export function triedTwice(first: Partial<StoredAttempt>, secondStartedAt: number): Partial<History> {
  return {
    arrivals: [arrival('m', 20), arrival('m', 90_000_000, { retried: 1 })],
    stored: [
      stored('m', { retried: 1, attempts: [attempt(1, 0, { ...failed, ...first }), attempt(2, secondStartedAt)] }),
    ],
  };
}

/** In flight at crashes and then held; `alone` is what it counts as crashes at which nothing else was. */
export function heldAfter(crashes: number, alone: number): Partial<History> {
  const attempts = Array.from({ length: crashes }, (_, index) => attempt(index + 1, 20 * index, cutOff));
  return {
    stored: [stored('m', { state: 'held', endedAt: null, interrupted: crashes, aloneAtCrash: alone, attempts })],
    faults: new Array(crashes).fill(crash('m')),
  };
}
