// What an engine is made of, and what it tells whoever watches it.

import type { NewId } from '../domain/id.ts';
import type { Claim, Outcome, Settlement, SettleResult } from '../domain/message.ts';
import type { Tiers } from '../domain/tier.ts';
import type { DeliveryStore } from '../store/delivery-store.ts';
import type { World } from '../world.ts';
import type { CrashRecovery } from './crash-recovery.ts';
import type { EngineLimits } from './in-flight.ts';
import type { RequestStyle } from './request.ts';
import type { Sender } from './sender.ts';
import type { Heartbeat } from './trust.ts';

/** A task that runs beside the claims, a piece at a time; answers in how many milliseconds it wants to run again. */
export interface Upkeep {
  readonly name: string;
  run(now: number): Promise<number>;
}

/** What an observer may log or count: one event for every attempt that ended, and what went wrong in the engine. */
export type EngineEvent =
  | {
      readonly kind: 'attempt';
      readonly claim: Claim;
      readonly outcome: Outcome;
      readonly settlement: Settlement;
      readonly result: SettleResult;
    }
  /** Claims that this node did not know of were given back. */
  | { readonly kind: 'strays'; readonly count: number }
  | { readonly kind: 'trouble'; readonly during: string; readonly error: unknown };

export interface EngineOptions {
  readonly node: string;
  readonly store: DeliveryStore;
  readonly sender: Sender;
  readonly world: World;
  readonly newId: NewId;
  readonly tiers: Tiers;
  readonly style: RequestStyle;
  readonly limits: EngineLimits;
  /** Without one, the claims of this node are its own for ever. */
  readonly heartbeat: Heartbeat | null;
  readonly upkeep: (recovery: CrashRecovery, isUnderWay: (lease: string) => boolean) => readonly Upkeep[];
  /** Makes the messages of some of the schedules that are due; answers when to come again, or null: when there is one. */
  readonly fireSchedules: (wallNow: number) => Promise<number | null>;
  readonly observe: (event: EngineEvent) => void;
}
