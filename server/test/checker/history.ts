// What a run leaves behind, as plain data: what the clients asked, what the receivers saw, what the store holds at the
// end, and what was done to the service on the way. The simulation and the tests with real processes both fill it in;
// check.ts judges it. Nothing here knows how either of them works.

import type { Step } from './step.ts';

export type HeaderPairs = readonly (readonly [name: string, value: string])[];

/** One message that a publish should make. A body, or else a URL, must be the publish's own: lost answers are found by them. */
export interface ExpectedMessage {
  /** As answered; null when no answer came. */
  readonly id: string | null;
  readonly url: string;
  readonly method: string;
  readonly bodyHash: string;
  /** Content-Type and the forwarded headers: all of them must arrive, unchanged. */
  readonly headers: HeaderPairs;
  /** Names a queue of one account and no other; null outside of queues. */
  readonly queue: string | null;
  readonly retriesMax: number;
  /** The least wait after the first, second … failed attempt; null for the service's own backoff. */
  readonly waitsMs: readonly number[] | null;
  readonly callbackUrl: string | null;
  readonly failureCallbackUrl: string | null;
  /** Neither a delay nor a time was asked for: it stands in line where it was accepted. */
  readonly isUndelayed?: boolean;
  /** By up to how many percent a wait before a retry may be longer; null for none, absent where nobody knows. */
  readonly jitterPercent?: number | null;
  /** With its account. Its id is then that of the message that waits under the key; null for most. */
  readonly debounceKey?: string | null;
}

/** One request to publish: a URL's message, a topic's copies, or a whole batch. It is all or nothing. */
export interface Publish {
  readonly outcome: 'ok' | 'refused' | 'unknown';
  /** On the observer's clock, like every `…At` of this file but those of StoredMessage. */
  readonly askedAt: number;
  /** When the answer came, or the client gave up. */
  readonly endedAt: number;
  /** In the order in which they are accepted. */
  readonly messages: readonly ExpectedMessage[];
}

export interface Cancel {
  readonly messageId: string;
  /** `requested`: a node that had claimed it has not confirmed in time. */
  readonly outcome: 'cancelled' | 'requested' | 'notCancelled' | 'unknown';
  readonly endedAt: number;
}

/** What is sent of a message. */
export type Content = Pick<ExpectedMessage, 'url' | 'method' | 'bodyHash' | 'headers'>;

/** A change of a message that waits: all of its content, and perhaps its time. */
export interface Change {
  readonly messageId: string;
  readonly outcome: 'changed' | 'refused' | 'unknown';
  readonly askedAt: number;
  readonly endedAt: number;
  /** The whole message after the change. */
  readonly content: Content;
  readonly isTimeChanged: boolean;
  /** The only version of the message that it was to change; null for any. */
  readonly ifMatch?: string | null;
  /** The version that the message had after it, as answered. */
  readonly version?: string | null;
}

/** A request as a receiver got it, whatever it answered. */
export interface Arrival {
  readonly messageId: string;
  /** The service's own count of retries, as sent along. */
  readonly retried: number;
  readonly url: string;
  readonly method: string;
  readonly bodyHash: string;
  readonly headers: HeaderPairs;
  readonly at: number;
  /** When its first byte was written, on the clock of the service, where that is known. */
  readonly writtenAt?: number;
}

export interface StoredAttempt {
  readonly number: number;
  readonly startedAt: number;
  readonly endedAt: number;
  readonly outcome: 'answered' | 'rejected' | 'noAck' | 'unreachable' | 'timedOut' | 'refusedByPolicy' | 'interrupted';
  readonly status: number | null;
  /** What the answer asked for by Retry-After or the like; null if it asked for nothing. */
  readonly retryAfterMs: number | null;
  /** The answer said that trying again is pointless. */
  readonly isFinal: boolean;
  /** When the next one was to start, as it was decided then; null if none was to follow. */
  readonly nextAt?: number | null;
  /** It used up no retry, because its host was parked or opened. */
  readonly isFree?: boolean;
}

/** A message at the end of the run. Its times are on the service's wall clock. */
export interface StoredMessage {
  readonly id: string;
  readonly kind: 'publish' | 'schedule' | 'callback' | 'failureCallback' | 'alert';
  readonly sourceMessageId: string | null;
  readonly url: string;
  readonly method: string;
  readonly bodyHash: string;
  readonly headers: HeaderPairs;
  readonly queue: string | null;
  /** Within its queue: those with the same one go one after the other. */
  readonly orderKey?: string | null;
  readonly retriesMax: number;
  readonly firstDueAt: number;
  /** From then on no attempt starts; null for one that does not expire. */
  readonly mustStartBefore?: number | null;
  /** It failed because it expired. */
  readonly hasExpired?: boolean;
  /** How long a 202 waits for its ack; null for one that needs none. */
  readonly awaitAckMs?: number | null;
  readonly state: 'pending' | 'claimed' | 'held' | 'delivered' | 'failed' | 'cancelled';
  readonly endedAt: number | null;
  readonly retried: number;
  /** How many crashes interrupted the message since its last known result. */
  readonly interrupted: number;
  /** Of those, at which nothing else was in flight. */
  readonly aloneAtCrash: number;
  readonly attempts: readonly StoredAttempt[];
}

/** A schedule at the end of the run. */
export interface StoredSchedule {
  readonly id: string;
  readonly createdAt: number;
  readonly skippedCount: number;
  /** Of its last tick that made any. */
  readonly lastMessageIds: readonly string[];
}

export type Fault =
  /** A process ended, was frozen, lost its store or was told to stop. `inFlight`: the messages it then held a claim on. */
  | {
      readonly kind: 'crash' | 'freeze' | 'outage' | 'stop';
      readonly at: number;
      readonly inFlight: readonly string[];
    }
  /** The service takes another time for right than before. `inFlight`: the messages whose stored times mean little then. */
  | { readonly kind: 'clockJump'; readonly at: number; readonly inFlight: readonly string[] };

/** What a receiver has reported of an attempt, by the URL that it got with it. */
export interface Word {
  readonly messageId: string;
  readonly attempt: number;
  readonly kind: 'ok' | 'failed' | 'progress';
  /** Of a failure: whether a retry may follow. */
  readonly retry: boolean;
  /** Until when an extension was to go, on the clock of the node; null if none was asked for. */
  readonly wantedAt: number | null;
  /** `ended`: it counts, or has counted before. `gone`: it is for an attempt that is over. */
  readonly reply: 'ended' | 'noted' | 'gone' | 'unknown';
  /** When the reply came, or was to come. */
  readonly at: number;
  /** Of progress: until when the service then waits, and until when at most it may. */
  readonly deadlineAt?: number;
  readonly latestAt?: number;
}

export interface History {
  readonly publishes: readonly Publish[];
  readonly cancels: readonly Cancel[];
  /** None unless given. */
  readonly changes?: readonly Change[];
  /** In the order in which the receivers got them. */
  readonly arrivals: readonly Arrival[];
  readonly stored: readonly StoredMessage[];
  readonly faults: readonly Fault[];
  /** The queues whose parallelism was 1 all the time: for these the order of arrivals is judged. */
  readonly serialQueues: readonly string[];
  /** The longest time from a claim to the arrival of its request. */
  readonly arrivalMsMax: number;
  /** How long a request may still be on its way when its sender has given it up, and has closed its connection. */
  readonly lateMsMax: number;
  /** How far the clocks of the nodes were apart at most: what one wrote as later may be due for another; 0 unless given. */
  readonly clocksApartMsMax?: number;
  /**
   * How long a claim may be on its way to the store: it bears the time at which its node asked, and finds what another has
   * made due meanwhile. Short unless given; it counts for attempts that were cut off, whose claim is all that is known of them.
   */
  readonly claimMsMax?: number;
  /** The messages that a person has released while they were held. */
  readonly released: readonly string[];
  /** All that the store did, in the order of its transactions, where somebody looked over its shoulder. */
  readonly steps?: readonly Step[];
  readonly words?: readonly Word[];
  readonly schedules?: readonly StoredSchedule[];
  /** The header in which each message of a schedule names its schedule and its tick. */
  readonly tickHeader?: string;
}
