// The types of a message, from its acceptance to its end. All other code uses them: only the store adapters know the
// rows of the databases, and only inbound/ knows the JSON of the API.

import type { Outage } from '../hosts/parking.ts';
import type { TierName } from '../limits/tier.ts';
import type { FlowLimits } from '../lines/flow-control.ts';
import type { CutOff } from './recovery.ts';

/** The parts of a message that no read shows. */
export interface Redaction {
  readonly body: boolean;
  readonly allHeaders: boolean;
  /** Lower case, without duplicates. */
  readonly headers: readonly string[];
}

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
export const METHODS: readonly Method[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

/** Header names as the user wrote them, in order. A name may occur more than once. */
export type HeaderList = readonly (readonly [name: string, value: string])[];

/**
 * `publish`: sent by a caller. `schedule`: made by a schedule. `callback`, `failureCallback`: made when an attempt was
 * settled. `alert`: notifies the target of an alert.
 */
export type MessageKind = 'publish' | 'schedule' | 'callback' | 'failureCallback' | 'alert';

/** Where and how a callback is sent. All defaults were filled in when the message was accepted. */
export interface CallbackTarget {
  readonly url: string;
  readonly method: Method;
  /** Forwarded headers. The service sets the Content-Type of a callback. */
  readonly headers: HeaderList;
  readonly retriesMax: number;
  readonly retryDelay: string | null;
  readonly retryJitter: number | null;
  readonly delayMs: number;
  readonly timeoutMs: number;
}

/**
 * The settings that a message keeps as its caller gave them in headers. The message as which a dead letter is sent
 * again has them too.
 */
export interface RequestedSettings {
  /** In a queue: messages with the same order key go one after the other, independent of other keys. */
  readonly orderKey: string | null;
  /** The order among the ready messages of the account to the host: see priority.ts. Null: the default priority. */
  readonly priority: number | null;
  /** What happens to the message while its host fails: see parking.ts. Null: it is retried. */
  readonly outage: Outage | null;
  /** How long an attempt that was answered with 202 may wait for its ack: see ack.ts. Null: a 202 is a success. */
  readonly awaitAckMs: number | null;
  /** The flow key and its limits. A message in a queue has none. */
  readonly flow: { readonly key: string; readonly limits: FlowLimits } | null;
  readonly labels: readonly string[];
  /** The fields that no read may show. They do not affect the delivery. */
  readonly redaction: Redaction | null;
}

/** The settings of a message whose caller gave none of them. */
export const NO_SETTINGS: RequestedSettings = {
  orderKey: null,
  priority: null,
  outage: null,
  awaitAckMs: null,
  flow: null,
  labels: [],
  redaction: null,
};

export const SETTING_FIELDS = Object.keys(NO_SETTINGS) as readonly (keyof RequestedSettings)[];

/** Only the settings that were given: without null values and empty lists. */
export function requestedOnly(all: RequestedSettings): Partial<RequestedSettings> {
  const isGiven = (value: RequestedSettings[keyof RequestedSettings]) =>
    value !== null && !(Array.isArray(value) && value.length === 0);
  return Object.fromEntries(
    SETTING_FIELDS.map((name) => [name, all[name]] as const).filter(([, value]) => isGiven(value)),
  );
}

/** Of a message with a debounce key: see publish/debounce.ts. */
export interface Debounce {
  /** The key of the caller; for an endpoint of a topic, with the URL behind it. */
  readonly key: string;
  /** The message is due at this time at the latest, however many others take its place. */
  readonly latestAt: number;
  /** For how many messages it stands: itself, and those whose place the newest has taken. */
  readonly count: number;
}

/** A message as it is accepted: complete and valid, with all defaults filled in. */
export interface NewMessage extends RequestedSettings {
  readonly id: string;
  readonly accountId: string;
  readonly kind: MessageKind;
  /** The URL exactly as the caller wrote it. */
  readonly url: string;
  /** Lower-case `name:port` of the URL. Each host has a limit of attempts in flight. */
  readonly host: string;
  readonly method: Method;
  /** Content-Type and the forwarded headers. */
  readonly headers: HeaderList;
  readonly body: Uint8Array;
  readonly retriesMax: number;
  /** An expression in milliseconds over `retried`, or null for the built-in backoff. */
  readonly retryDelay: string | null;
  /** Up to how many percent of the wait before a retry are added to it. Null: nothing is added. */
  readonly retryJitter: number | null;
  readonly timeoutMs: number;
  readonly queueName: string | null;
  readonly scheduleId: string | null;
  /** Until `expiresAt`, no other message of the account with the same key is accepted. */
  readonly deduplication: { readonly key: string; readonly expiresAt: number } | null;
  /** Until its first attempt starts, a new message of the account with the same key takes its place. */
  readonly debounce: Debounce | null;
  readonly topicName: string | null;
  readonly endpointName: string | null;
  readonly callback: CallbackTarget | null;
  readonly failureCallback: CallbackTarget | null;
  /** The message whose attempt this one reports, if it is a callback. */
  readonly sourceMessageId: string | null;
  readonly callerIp: string | null;
  /** How often a chain of deliveries that led to this message has passed through this service. */
  readonly hops: number;
  /** How many messages may descend from this one: see descent.ts. */
  readonly descendantsLeft: number;
  readonly createdAt: number;
  /** When its first attempt may start. In a queue it also decides the order. */
  readonly dueAt: number;
  /** From then on no attempt starts: the message expires. Null: it never does. See expiry.ts. */
  readonly mustStartBefore: number | null;
}

/** Why a message failed, for programs. Absent where only the result of the last attempt is the reason. */
export type FailureCode = 'expired' | 'no_ack';

/** A dead letter, and the message that it is sent again as. */
export interface DeadLetterRetry {
  readonly messageId: string;
  readonly message: NewMessage;
}

/**
 * `pending`: the message waits for its time, its turn or a free slot. `claimed`: an attempt is in flight. `held`: it
 * waits for a person. The other states are final.
 */
export type MessageState = 'pending' | 'claimed' | 'held' | 'delivered' | 'failed' | 'cancelled';

/** A message in the store. `dueAt` is now the earliest time of its next attempt; NEVER_AT while the message is held. */
export interface Message extends NewMessage {
  readonly state: MessageState;
  readonly firstDueAt: number;
  /** For a message in a queue or under a flow key: since when neither blocks it. */
  readonly readyAt: number | null;
  /** How many attempts failed with a known result and were followed by a retry. `retriesMax` limits this. */
  readonly retried: number;
  /** Attempts cut off by a crash since the last known result. They do not count as retries. */
  readonly interrupted: number;
  /** At how many of the crashes counted in `interrupted` its attempt was the only one in flight. */
  readonly aloneAtCrash: number;
  /** All attempts that have ended, including interrupted ones. */
  readonly attempts: number;
  /**
   * True if the retry that was decided last has begun. It is read only for people, and not where other fields show it:
   * for a claimed message, and for one that has no more attempts than retries.
   */
  readonly hasBegunRetry?: boolean;
  readonly endedAt: number | null;
  /** Since when the message is held. */
  readonly heldAt: number | null;
  /** When the running attempt was claimed. */
  readonly claimedAt: number | null;
  /** When its cancellation was requested, if an attempt was claimed then. The message ends with the claim. */
  readonly cancelRequestedAt?: number;
  /** Why the message failed, as text. */
  readonly failure: string | null;
  readonly failureCode?: FailureCode;
  /** Status of the last response. */
  readonly lastStatus: number | null;
  /** How often it was changed, made due or released by a person while it waited. Absent if it never was. */
  readonly changes?: number;
  /** For a dead letter that was sent again: the id of the new message, and when that happened. */
  readonly retriedAs?: string;
  readonly retriedAt?: number;
}

/** The right to make one attempt. A settlement must present the lease. If the lease is gone, nothing changes. */
export interface Claim {
  readonly lease: string;
  readonly message: Message;
  readonly tier: TierName;
  /** The account's signing key at the time of the claim. */
  readonly signingKey: string;
  /**
   * Whether the end of the message changes nothing else: no queue, flow key or deduplication key depends on it. Absent:
   * not known.
   */
  readonly isPlain?: boolean;
  /** The number of the message's row, if the store needs it again when the attempt is settled. */
  readonly row?: number;
}

/** The response by which a receiver has taken a message on, until its ack. */
export interface Accepted {
  readonly status: number;
  readonly headers: HeaderList;
  readonly body: Uint8Array;
  readonly isBodyCut: boolean;
}

/**
 * The result of one attempt: a value, never an exception. `detail`: the reason, with the addresses of the host. It is
 * for the operator's log only: an account must not learn these addresses.
 */
export type Outcome =
  | {
      readonly kind: 'answered';
      readonly status: number;
      readonly headers: HeaderList;
      readonly body: Uint8Array;
      readonly isBodyCut: boolean;
    }
  /** The receiver had answered with 202, and then reported that its work failed. */
  | ({ readonly kind: 'rejected'; readonly reason: string; readonly mayRetry: boolean } & Accepted)
  /** The receiver had answered with 202, and no ack came in time. */
  | ({ readonly kind: 'noAck'; readonly reason: string } & Accepted)
  /** DNS, connect, TLS, reset, or a response that is not HTTP. */
  | { readonly kind: 'unreachable'; readonly reason: string; readonly detail?: string }
  | { readonly kind: 'timedOut'; readonly timeoutMs: number }
  /** The egress guard or the sender will never send this. A retry is pointless. */
  | { readonly kind: 'refusedByPolicy'; readonly reason: string; readonly detail?: string }
  /** It is unknown whether the receiver got the request: a crash, a lost node or a shutdown cut the attempt off. */
  | { readonly kind: 'interrupted'; readonly reason: string; readonly cause: CutOff };

/** The record of one attempt that has ended. */
export interface Attempt {
  /** 1 for the first. */
  readonly number: number;
  readonly startedAt: number;
  readonly endedAt: number;
  readonly outcome: Outcome['kind'];
  readonly status: number | null;
  readonly error: string | null;
  /** When the next attempt may start. Null if no attempt is planned: the message has ended or is held. */
  readonly nextAt: number | null;
  readonly responseHeaders: HeaderList;
  readonly responseBody: Uint8Array;
  readonly isResponseBodyCut: boolean;
  /** The response is left out, because the responses of later attempts already fill the page. */
  readonly isAnswerLeftOut?: boolean;
}

/**
 * The result of a settlement. `cancelled`: cancellation was requested while the attempt was in flight, so the attempt
 * is recorded and reported, and the message ends as cancelled. `lost`: the lease is gone, and nothing is written.
 */
export type SettleResult = 'settled' | 'cancelled' | 'lost';

/** What the store must write when an attempt has ended, completely or not at all. Built only by rules/delivery/settle.ts. */
export interface Settlement {
  readonly lease: string;
  readonly accountId: string;
  readonly messageId: string;
  /** The host at which a slot becomes free. */
  readonly host: string;
  readonly attempt: Attempt;
  /** `isPlain` and `row` are copied from the claim. */
  readonly isPlain: boolean;
  readonly row: number | null;
  /** How late the attempt ended, in milliseconds. Counted only if it delivered the message. */
  readonly lagMs: number;
  readonly retried: number;
  readonly interrupted: number;
  readonly aloneAtCrash: number;
  /**
   * Present if the message awaits acks: what is kept of the ack of this attempt is deleted with its end. `dueBy`: the
   * attempt ends only if its ack is not expected later than that; null: in any case.
   */
  readonly ack?: { readonly dueBy: number | null };
  readonly next: /** `startsAlone`: it starts only while no other attempt is in flight: see recovery.ts. */
    | { readonly state: 'pending'; readonly dueAt: number; readonly startsAlone: boolean }
    | { readonly state: 'held'; readonly heldAt: number }
    /** The attempt stays open until its ack, at most until `latestAt`. Its follow-ups are for a cancelled message only. */
    | { readonly state: 'awaiting'; readonly deadlineAt: number; readonly latestAt: number }
    | { readonly state: 'delivered'; readonly expiresAt: number }
    | {
        readonly state: 'failed';
        readonly expiresAt: number;
        readonly failure: string;
        readonly code?: FailureCode;
      };
  /** The callbacks that the attempt causes. They are accepted in the same transaction. */
  readonly followUps: readonly NewMessage[];
}
