// The message and what happens to it, as data. Every other file speaks in these types; rows and wire formats are
// private to the store adapters and to http/.

import type { FlowLimits } from './flow-control.ts';
import type { CutOff } from './recovery.ts';
import type { Redaction } from './redact.ts';
import type { TierName } from './tier.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
export const METHODS: readonly Method[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

/** Header names as the user wrote them, in order; a name may stand more than once. */
export type HeaderList = readonly (readonly [name: string, value: string])[];

/** `publish` is what a caller sent, `schedule` what a schedule made; the callbacks are messages we made ourselves while settling an attempt. */
export type MessageKind = 'publish' | 'schedule' | 'callback' | 'failureCallback';

/** Where a callback goes and how, all defaults already resolved when the message was accepted. */
export interface CallbackTarget {
  readonly url: string;
  readonly method: Method;
  /** Forwarded headers; the Content-Type of a callback is ours. */
  readonly headers: HeaderList;
  readonly retriesMax: number;
  readonly retryDelay: string | null;
  readonly delayMs: number;
  readonly timeoutMs: number;
}

/** What a caller asks of a message with a header, kept as it was asked: a publish, its message and its retry have the same. */
export interface Asked {
  /** Inside a queue: messages with the same key go one after the other, others beside them. */
  readonly orderKey: string | null;
  /** Limits by key, across URLs; never together with a queue. */
  readonly flow: { readonly key: string; readonly limits: FlowLimits } | null;
  readonly labels: readonly string[];
  /** What no read may show; the delivery is not concerned. */
  readonly redaction: Redaction | null;
}

/** Of a message that nobody asked anything of. */
export const NOTHING_ASKED: Asked = { orderKey: null, flow: null, labels: [], redaction: null };

export const ASKED_NAMES = Object.keys(NOTHING_ASKED) as readonly (keyof Asked)[];

/** Only what was asked for. */
export function asked(all: Asked): Partial<Asked> {
  const isAsked = (value: Asked[keyof Asked]) => value !== null && !(Array.isArray(value) && value.length === 0);
  return Object.fromEntries(
    ASKED_NAMES.map((name) => [name, all[name]] as const).filter(([, value]) => isAsked(value)),
  );
}

/** A message as it is accepted: complete, valid, and nothing left to default. */
export interface NewMessage extends Asked {
  readonly id: string;
  readonly accountId: string;
  readonly kind: MessageKind;
  /** Exactly as the caller wrote it. */
  readonly url: string;
  /** Lower-case `name:port` of the URL: what concurrency is capped by. */
  readonly host: string;
  readonly method: Method;
  /** Content-Type and the forwarded headers. */
  readonly headers: HeaderList;
  readonly body: Uint8Array;
  readonly retriesMax: number;
  /** An expression in milliseconds over `retried`, or null for the built-in backoff. */
  readonly retryDelay: string | null;
  readonly timeoutMs: number;
  readonly queueName: string | null;
  readonly scheduleId: string | null;
  /** While another message stands under the same key, this one is not accepted. */
  readonly deduplication: { readonly key: string; readonly expiresAt: number } | null;
  readonly topicName: string | null;
  readonly endpointName: string | null;
  readonly callback: CallbackTarget | null;
  readonly failureCallback: CallbackTarget | null;
  /** The message whose attempt this one reports, if it is a callback. */
  readonly sourceMessageId: string | null;
  readonly callerIp: string | null;
  /** How often this message has already passed through us as a destination of itself. */
  readonly hops: number;
  /** How many messages may descend from this one: see descent.ts. */
  readonly descendantsLeft: number;
  readonly createdAt: number;
  /** When its first attempt may start; in a queue, also its place. */
  readonly dueAt: number;
}

/**
 * `pending` waits for its time, its turn or a free slot; `claimed` has an attempt under way; `held` waits for a person;
 * the others are ends.
 */
export type MessageState = 'pending' | 'claimed' | 'held' | 'delivered' | 'failed' | 'cancelled';

/** A message as the store knows it. `dueAt` is now the earliest time of its next attempt; while it is held, never. */
export interface Message extends NewMessage {
  readonly state: MessageState;
  readonly firstDueAt: number;
  /** In a queue or under a flow key: since when neither holds it back. */
  readonly readyAt: number | null;
  /** Failed attempts with a known result that were followed by another: what `retriesMax` limits. */
  readonly retried: number;
  /** Attempts cut off by a crash since the last known result: they use up no retry. */
  readonly interrupted: number;
  /** Of those, how many were the only one in flight. */
  readonly aloneAtCrash: number;
  /** All attempts that have ended, of any kind. */
  readonly attempts: number;
  /** Of one that waits or is cancelled, where attempts were cut off: the last one was such a retry, not what led to it. */
  readonly hasBegunRetry?: boolean;
  readonly endedAt: number | null;
  /** Since when it is held. */
  readonly heldAt: number | null;
  /** When the attempt under way was claimed. */
  readonly claimedAt: number | null;
  /** Since when it is to be cancelled, where an attempt of it was claimed then: it ends with that claim. */
  readonly cancelRequestedAt?: number;
  /** Why it failed, in words. */
  readonly failure: string | null;
  /** Status of the last answer. */
  readonly lastStatus: number | null;
  /** Of a dead letter that was sent again: the new message, and when. */
  readonly retriedAs?: string;
  readonly retriedAt?: number;
}

/** The right to make one attempt. Whoever settles must present the lease; when it is gone, nothing changes. */
export interface Claim {
  readonly lease: string;
  readonly message: Message;
  readonly tier: TierName;
  /** The account's current signing key, as it stood when the claim was made. */
  readonly signingKey: string;
  /** Nothing but the message changes when it ends: no queue, flow key or deduplication key waits for that. Unknown if absent. */
  readonly isPlain?: boolean;
}

/** What came of one attempt: a value, never an exception. */
export type Outcome =
  | {
      readonly kind: 'answered';
      readonly status: number;
      readonly headers: HeaderList;
      readonly body: Uint8Array;
      readonly isBodyCut: boolean;
    }
  /** DNS, connect, TLS, reset, or an answer that is not HTTP. */
  | { readonly kind: 'unreachable'; readonly reason: string }
  | { readonly kind: 'timedOut'; readonly timeoutMs: number }
  /** The egress guard or the sender will never send this; trying again is pointless. */
  | { readonly kind: 'refusedByPolicy'; readonly reason: string }
  /** Nobody knows whether the receiver got it: the attempt was cut off by a crash, a lost node or a shutdown. */
  | { readonly kind: 'interrupted'; readonly reason: string; readonly cause: CutOff };

/** One attempt as it is kept for the log. */
export interface Attempt {
  /** 1 for the first. */
  readonly number: number;
  readonly startedAt: number;
  readonly endedAt: number;
  readonly outcome: Outcome['kind'];
  readonly status: number | null;
  readonly error: string | null;
  /** When the next attempt may start; null when this was the last. */
  readonly nextAt: number | null;
  readonly responseHeaders: HeaderList;
  readonly responseBody: Uint8Array;
  readonly isResponseBodyCut: boolean;
  /** There is an answer, but it was not read: those of later attempts are large enough. */
  readonly isAnswerLeftOut?: boolean;
}

/**
 * What became of a settlement. `cancelled`: the message was to be cancelled while the attempt was under way, so that the
 * attempt is recorded and reported, and the message ends as cancelled. `lost`: the lease is gone, and nothing is written.
 */
export type SettleResult = 'settled' | 'cancelled' | 'lost';

/** What the store must write when an attempt has ended, all of it or nothing. Built only by domain/settle.ts. */
export interface Settlement {
  readonly lease: string;
  readonly accountId: string;
  readonly messageId: string;
  readonly attempt: Attempt;
  /** As its claim says. */
  readonly isPlain: boolean;
  /** How late it is a delivery, if it is one. */
  readonly lagMs: number;
  readonly retried: number;
  readonly interrupted: number;
  readonly aloneAtCrash: number;
  readonly next: /** `startsAlone`: only while nothing else does, see domain/recovery.ts. */
    | { readonly state: 'pending'; readonly dueAt: number; readonly startsAlone: boolean }
    | { readonly state: 'held'; readonly heldAt: number }
    | { readonly state: 'delivered'; readonly expiresAt: number }
    | { readonly state: 'failed'; readonly expiresAt: number; readonly failure: string };
  /** Callbacks: written in the same transaction. */
  readonly followUps: readonly NewMessage[];
}
