// What an engine needs, and the events it reports to its observer.

import type { Account } from '../../rules/accounts/account.ts';
import type { Claim, Outcome, Settlement, SettleResult } from '../../rules/delivery/message.ts';
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
export interface Upkeep {
  readonly name: string;
  /**
   * Waits shorter than this are for work that becomes due by the time of the service. Default: there are no such waits.
   */
  readonly dueBelowMs?: number;
  run(now: number): Promise<number>;
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

export type Turns = Pick<LoopTurns, 'nowMs' | 'chargeEach'>;

export interface EngineOptions {
  readonly node: string;
  readonly store: DeliveryStore;
  readonly sender: Sender;
  readonly world: World;
  /**
   * The timers for waits until work becomes due. A clock that is moved by hand has its own. Default: the world's clock.
   */
  readonly dueTimers?: Pick<Clock, 'after'> | undefined;
  /** Charges the work for attempts to their accounts. */
  readonly turns: Turns;
  readonly newId: NewId;
  readonly tiers: Tiers;
  readonly style: RequestStyle;
  readonly limits: EngineLimits;
  /** Whether a response of this size to a message of the account is stored. Default: always. */
  readonly keepsAnswers?: (account: Pick<Account, 'id' | 'tier'>, bytes: number) => boolean;
  /** Null: no other node can take over the claims of this node. */
  readonly heartbeat: Heartbeat | null;
  readonly upkeep: (recovery: CrashRecovery, isUnderWay: (lease: string) => boolean) => readonly Upkeep[];
  /**
   * Publishes the messages of some of the due schedules. Returns when the next schedule is due, or null when there is
   * none.
   */
  readonly fireSchedules: (wallNow: number) => Promise<number | null>;
  readonly observe: (event: EngineEvent) => void;
}
