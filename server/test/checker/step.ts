// What the store did, one step after the other in the order of its transactions. The simulation writes it down as it
// looks over the store's shoulder; tests with real processes cannot. Each step has only what a rule needs.

import type { StoredAttempt } from './history.ts';

/** The facts about a message that its publish gave it, as they were written. */
export interface AcceptedStep {
  readonly kind: 'accepted';
  readonly id: string;
  /** On the clock of the node that accepted it, like every time of this file. */
  readonly at: number;
  readonly dueAt: number;
  /** With its account, like the order key and the flow key. */
  readonly queue: string | null;
  readonly orderKey: string | null;
  readonly flow: ({ readonly key: string } & FlowLimits) | null;
  /** Its own; that of its queue is in a step of its own. */
  readonly priority: number | null;
  readonly deduplication: { readonly key: string; readonly until: number } | null;
  /** With its account. */
  readonly debounceKey?: string | null;
  readonly mustStartBefore?: number | null;
}

export interface FlowLimits {
  readonly parallelism: number | null;
  readonly rate: number | null;
  readonly periodMs: number;
}

/** An attempt may start: the store has leased the message to a node. */
export interface ClaimedStep {
  readonly kind: 'claimed';
  readonly id: string;
  readonly at: number;
  readonly dueAt: number;
  /**
   * `search`: chosen among all that were ready. `accept`: as it was accepted. `succession`: in place of one of its queue that
   * has ended. `alone`: while nothing else was under way.
   */
  readonly by: 'search' | 'accept' | 'succession' | 'alone';
  /** Of its account and to its host: the ready messages that still waited when the transaction was over. */
  readonly left: readonly { readonly id: string; readonly dueAt: number }[];
  /** When the period of its flow key began in which it counts; null without a rate. */
  readonly periodStartAt: number | null;
  /**
   * Of a message that parks, if its host is parked or opens, and its node must know it. `underWay`: how many such messages
   * the node then has under way there, this one included. `isOwner`: the host is the node's. `probeAt`: when the next probe
   * may follow, if the host is parked and the node must know that too.
   */
  readonly parked?: {
    readonly host: string;
    readonly underWay: number;
    readonly isOwner: boolean;
    readonly probeAt: number | null;
  } | null;
}

/** An attempt that failed because its host is down. */
export interface AttemptedStep {
  readonly kind: 'attempted';
  readonly id: string;
  readonly host: string;
  readonly parks: boolean;
  /** The host was parked or opened from its claim to its end, and its node had to know it. */
  readonly mustBeFree: boolean;
  /** It used up no retry, and the message waits again. */
  readonly isFree: boolean;
}

/** A schedule as it was made or changed. */
export interface ScheduleStep {
  readonly kind: 'schedule';
  readonly scheduleId: string;
  readonly createdAt: number;
  readonly everyMs: number;
  /** Where in that time; null: it counts from the whole second of its creation. */
  readonly offsetMs: number | null;
  readonly overlap: 'allow' | 'skip';
  readonly jitterMs: number;
  readonly isPaused: boolean;
}

/** One tick that ran. */
export interface TickStep {
  readonly kind: 'tick';
  readonly scheduleId: string;
  readonly tickAt: number;
  /** What it was made from. */
  readonly version: number;
  readonly result: 'made' | 'skipped';
  /** How much later than the tick was planned each is due. */
  readonly messages: readonly { readonly id: string; readonly laterMs: number }[];
}

/** How the attempt has ended by which a message waits again or has ended. */
export interface End {
  readonly outcome: StoredAttempt['outcome'];
  readonly at: number;
}

export type Step =
  | AcceptedStep
  | ClaimedStep
  | AttemptedStep
  /** The host of an account is parked, or opens after that, or is open again. */
  | {
      readonly kind: 'host';
      readonly host: string;
      readonly state: 'parked' | 'opening' | 'open';
      readonly parkedAt: number | null;
      /** When the first probe may follow. */
      readonly probeAt?: number | null;
      readonly isByHand: boolean;
    }
  /** An attempt to a host ended with a status below 500. */
  | { readonly kind: 'answered'; readonly host: string; readonly node?: string; readonly at: number }
  /** One of this node ended without a response, or with a 5xx. */
  | { readonly kind: 'down'; readonly host: string; readonly node: string; readonly at: number }
  /** A publish took the place of the message with this id, which waited under its debounce key. */
  | { readonly kind: 'replaced'; readonly id: string; readonly key: string; readonly at: number }
  | ScheduleStep
  | TickStep
  | { readonly kind: 'schedulePaused'; readonly scheduleId: string; readonly isPaused: boolean }
  /** The wall clock of the machine: times of ticks may come again. */
  | { readonly kind: 'clockSetBack' }
  /** A publish was not written, because `of` has its deduplication key. */
  | { readonly kind: 'duplicate'; readonly of: string; readonly key: string; readonly at: number }
  /** A claim is over, and the message waits again. `hasBegun`: its attempt began, or may have. */
  | {
      readonly kind: 'waits';
      readonly id: string;
      readonly hasBegun: boolean;
      readonly end?: End;
      readonly how?: never;
      /** When the claim was given back. */
      readonly at?: number;
    }
  /** An attempt was answered with 202, or the receiver has asked for more time. */
  | { readonly kind: 'awaiting'; readonly id: string; readonly deadlineAt: number }
  /** It is claimed, and ends with its claim. */
  | { readonly kind: 'cancelRequested'; readonly id: string }
  | {
      readonly kind: 'ended';
      readonly id: string;
      readonly how: 'delivered' | 'failed' | 'cancelled';
      readonly end?: End;
      /** It was given back, and a newer one waits under its debounce key. */
      readonly isOvertaken?: true;
    }
  /** What is null stayed as it was. */
  | { readonly kind: 'changed'; readonly id: string; readonly dueAt: number | null; readonly priority: number | null }
  | { readonly kind: 'queueSet'; readonly queue: string; readonly priority: number | null }
  | { readonly kind: 'flowPinned'; readonly key: string; readonly parallelism: number }
  | { readonly kind: 'flowPaused'; readonly key: string; readonly isPaused: boolean };
