// What an engine needs, and the events it reports to its observer.

import type { Account } from '../../rules/accounts/account.ts';
import type { Claim, Message, Outcome, Settlement, SettleResult } from '../../rules/delivery/message.ts';
import type { ClaimLimits } from '../../rules/delivery/slots.ts';
import type { Trial } from '../../rules/hosts/parking.ts';
import type { Tiers } from '../../rules/limits/tier.ts';
import type { NewId } from '../../rules/requests/id.ts';
import type { LoopTurns } from '../../runtime/loop-turns.ts';
import type { Clock, World } from '../../runtime/world.ts';
import type { DeliveryStore } from '../../store/ports/delivery-store.ts';
import type { RequestStyle } from '../http/request.ts';
import type { CrashRecovery } from './crash-recovery.ts';
import type { EngineLimits } from './in-flight.ts';
import type { Sender } from './sender.ts';
import type { Heartbeat } from './trust.ts';

/** A task that runs beside the claims, one piece at a time. Returns in how many milliseconds it wants to run again. */
export interface UpkeepTask {
  readonly name: string;
  /**
   * A wait of the task that is shorter than this ends by the time of the service, which a manual clock moves; a longer
   * wait ends by real time. Default: all waits end by real time.
   */
  readonly dueBelowMs?: number;
  run(now: number): Promise<number>;
  /** Called once, with a function that makes the task run soon. */
  onStart?(wake: () => void): void;
}

/** What an observer may log or count: one event for each ended attempt, and one for each error in the engine. */
export type EngineEvent =
  | {
      readonly kind: 'attempt';
      readonly claim: Claim;
      readonly outcome: Outcome;
      readonly settlement: Settlement;
      readonly result: SettleResult;
    }
  /** The store held claims for this node that the node did not know of. These claims were released. */
  | { readonly kind: 'strays'; readonly count: number }
  | { readonly kind: 'trouble'; readonly during: string; readonly error: unknown };

/** Messages that wait because their host is down: upkeep/parking.ts. */
export interface EngineParking {
  /** False until the parked hosts were read for the first time. Nothing is claimed before that. */
  readonly isKnown: boolean;
  /** The hosts, and how many messages that park may start at each. The same list until something has changed. */
  rooms(): ClaimLimits['parked'];
  /** Whether messages of this account that park are not simply sent to this host. */
  isParked(message: Pick<Message, 'accountId' | 'host'>): boolean;
  started(claim: Claim): void;
  /** Null: a failed attempt counts as a retry. */
  trialOf(claim: Claim): Trial | null;
  ended(claim: Claim): void;
  onChange(listener: () => void): void;
}

export type LoopCharges = Pick<LoopTurns, 'nowMs' | 'chargeEach'>;

export interface EngineOptions {
  readonly node: string;
  readonly store: DeliveryStore;
  readonly sender: Sender;
  readonly world: World;
  /**
   * The timers for waits that end by the time of the service. A manual clock has its own timers. Default: the world's.
   */
  readonly dueTimers?: Pick<Clock, 'after'> | undefined;
  /** Counts the time of the event loop that attempts take, for each account. */
  readonly turns: LoopCharges;
  readonly newId: NewId;
  readonly tiers: Tiers;
  readonly style: RequestStyle;
  readonly limits: EngineLimits;
  /** Whether a response of this size to a message of the account is stored. Default: always. */
  readonly keepsAnswers?: (account: Pick<Account, 'id' | 'tier'>, bytes: number) => boolean;
  /** Which hosts are parked, and what may be sent to them. Absent: none is. */
  readonly parking?: EngineParking | undefined;
  /** Null: no other node can take over the claims of this node. */
  readonly heartbeat: Heartbeat | null;
  readonly upkeep: (recovery: CrashRecovery, isUnderWay: (lease: string) => boolean) => readonly UpkeepTask[];
  /**
   * Publishes the messages of some of the due schedules. Returns when the next schedule is due, or null when there is
   * none.
   */
  readonly fireSchedules: (wallNow: number) => Promise<number | null>;
  readonly observe: (event: EngineEvent) => void;
}
