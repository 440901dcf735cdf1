// The messages, limits and settlements that tests of the store start from: complete, valid, and dull but for what a
// test asks.

import {
  type CallbackTarget,
  type Claim,
  type NewMessage,
  NO_SETTINGS,
  type Outcome,
  type Settlement,
} from '../../src/rules/delivery/message.ts';
import { decideSettlement } from '../../src/rules/delivery/settle.ts';
import { type ClaimLimits, NO_SLOTS } from '../../src/rules/delivery/slots.ts';
import { idMaker } from '../../src/rules/requests/id.ts';
import { seededRandom } from '../support/manual-clock.ts';

export const NOW = Date.UTC(2026, 0, 1, 12);
export const KIB = 1024;
export const SECOND = 1000;
export const DAY = 86_400_000;
/** How long ended messages are kept, in these tests. */
export const RETENTION = 3 * DAY;
/** How long an attempt may await its ack in all, in these tests. */
export const AWAIT_ACK_MS_MAX = 9 * SECOND;

export const ACCOUNT = 'acc_1';
export const OTHER_ACCOUNT = 'acc_2';
export const KEYS = { current: 'sig_current', next: 'sig_next' };
export const QUEUE = 'orders';

const random = seededRandom(1);
export const newId = idMaker(
  () => NOW,
  (length) => random.bytes(length),
);

export function message(some: Partial<NewMessage> = {}): NewMessage {
  return {
    id: newId('msg'),
    accountId: ACCOUNT,
    kind: 'publish',
    url: 'https://a.example/hook',
    host: 'a.example:443',
    method: 'POST',
    headers: [],
    body: new Uint8Array(0),
    retriesMax: 3,
    retryDelay: null,
    retryJitter: null,
    timeoutMs: 30_000,
    queueName: null,
    ...NO_SETTINGS,
    scheduleId: null,
    deduplication: null,
    debounce: null,
    topicName: null,
    endpointName: null,
    callback: null,
    failureCallback: null,
    sourceMessageId: null,
    callerIp: null,
    hops: 0,
    descendantsLeft: 2000,
    createdAt: NOW,
    dueAt: NOW,
    mustStartBefore: null,
    ...some,
  };
}

export function messages(count: number, some: Partial<NewMessage> = {}): NewMessage[] {
  return Array.from({ length: count }, () => message(some));
}

export function queued(some: Partial<NewMessage> = {}): NewMessage {
  return message({ queueName: QUEUE, ...some });
}

export function callbackTo(url: string): CallbackTarget {
  return {
    url,
    method: 'POST',
    headers: [],
    retriesMax: 3,
    retryDelay: null,
    retryJitter: null,
    delayMs: 0,
    timeoutMs: 30_000,
  };
}

/** Limits as a test gives them: the places of hosts by how many there are and how many are taken. */
export interface SomeLimits extends Partial<ClaimLimits> {
  /** What an account takes at a host is not limited by its share, unless `busyAtHosts` says what it has. */
  readonly hostMax?: number;
  readonly hostsBusy?: readonly (readonly [host: string, attempts: number])[];
}

const MANY = 1_000_000_000;

/** Room for a hundred, and no cap or share that a test could meet by accident. */
export function limits({ hostMax, hostsBusy = [], ...some }: SomeLimits = {}): ClaimLimits {
  // Of twice as many places, an account that has none gets what the test means.
  const placesOf = (attempts: number) => (hostMax === undefined ? MANY : 2 * Math.max(0, hostMax - attempts));
  return {
    slots: 100,
    sharedSlots: MANY,
    bytes: MANY,
    oversized: 0,
    lastGoes: true,
    accountMax: MANY,
    accountsBusy: [],
    accountsOther: 0,
    hostsFree: hostsBusy.map(([host, attempts]) => [host, placesOf(attempts), 0] as const),
    hostsOther: [placesOf(0), 0],
    busyAtHosts: [],
    parked: NO_SLOTS.parked,
    ...some,
  };
}

export function answered(status: number): Outcome {
  return { kind: 'answered', status, headers: [['X-Trace', '1']], body: new Uint8Array([1, 2]), isBodyCut: false };
}

/** The first leads to a retry as long as there is one left; the second never does. */
export const ERROR = answered(500);
export const REFUSED = answered(489);
export const OK = answered(200);
export const INTERRUPTED: Outcome = { kind: 'interrupted', reason: 'the node went away', cause: 'crash' };
export const INTERRUPTED_ALONE: Outcome = { ...INTERRUPTED, cause: 'crashAlone' };
export const DRAINED: Outcome = { ...INTERRUPTED, cause: 'drain' };

/** What the engine would write when an attempt of this claim ended so. */
export function settlementOf(claim: Claim, outcome: Outcome, endedAt: number): Settlement {
  return decideSettlement(
    claim,
    { outcome, startedAt: endedAt - 5, endedAt },
    { headerPrefix: 'Service-', retentionMs: RETENTION, newId, awaitAckMsMax: AWAIT_ACK_MS_MAX },
  );
}
