// The delivering half of a node: claims what is due, hands it to the sender, settles what comes back. One loop, no
// poll interval: each turn does all there is to do and sleeps until the next known deadline or until it is woken.
// It decides nothing about messages (domain/settle.ts does) and sends nothing itself (the sender does).

import type { NewId } from '../domain/id.ts';
import type { Claim, Outcome, Settlement } from '../domain/message.ts';
import { decideSettlement } from '../domain/settle.ts';
import { NO_SLOTS } from '../domain/slots.ts';
import type { Tiers } from '../domain/tier.ts';
import type { Store } from '../store/store.ts';
import type { World } from '../world.ts';
import { type EngineLimits, InFlight } from './in-flight.ts';
import { type RequestStyle, sendJob } from './request.ts';
import type { Sender, SendReport } from './sender.ts';

/** How long to wait before the store is asked again when it did not answer. */
const STORE_PAUSE_MS = 1000;

/** A task that the loop runs when it is due; answers in how many milliseconds it wants to run again. */
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
      readonly result: 'settled' | 'lost';
    }
  | { readonly kind: 'trouble'; readonly during: string; readonly error: unknown };

export interface EngineOptions {
  readonly node: string;
  readonly store: Store;
  readonly sender: Sender;
  readonly world: World;
  readonly newId: NewId;
  readonly tiers: Tiers;
  readonly style: RequestStyle;
  readonly limits: EngineLimits;
  readonly upkeep: (
    settleInterrupted: (claims: readonly Claim[], reason: string) => Promise<void>,
  ) => readonly Upkeep[];
  readonly observe: (event: EngineEvent) => void;
}

export class Engine {
  readonly #options: EngineOptions;
  readonly #inFlight: InFlight;
  readonly #upkeep: { task: Upkeep; dueAtMonotonicMs: number }[];
  #isStopping = false;
  #isWoken = false;
  #wakeUp: (() => void) | null = null;
  #loop: Promise<void> | null = null;
  #whenIdle: (() => void) | null = null;

  constructor(options: EngineOptions) {
    this.#options = options;
    this.#inFlight = new InFlight(options.limits);
    this.#upkeep = options
      .upkeep((claims, reason) => this.#settleInterrupted(claims, reason))
      .map((task) => ({ task, dueAtMonotonicMs: Number.NEGATIVE_INFINITY }));
    options.store.onWork(() => this.#wake());
    options.sender.onReports((reports) => void this.#settleReports(reports));
  }

  get attemptsInFlight(): number {
    return this.#inFlight.count;
  }

  start(): void {
    this.#loop = this.#run();
  }

  /** Claims nothing more, gives running attempts `drainMs` to end, cuts off the rest, and settles all of it. */
  async stop(drainMs: number): Promise<void> {
    const { store, world, node, sender } = this.#options;
    this.#isStopping = true;
    this.#wake();
    await this.#loop;
    const now = world.clock.now();
    const { claims } = await store.claimDue({ node, now, limits: NO_SLOTS });
    await store.release(
      claims.map((claim) => claim.lease),
      now,
    );
    await this.#idleOrAfter(drainMs);
    await sender.close();
    await this.#idleOrAfter(drainMs);
  }

  async #run(): Promise<void> {
    while (!this.#isStopping) {
      let waitMs: number;
      try {
        waitMs = await this.#tick();
      } catch (error) {
        this.#options.observe({ kind: 'trouble', during: 'claiming', error });
        waitMs = STORE_PAUSE_MS;
      }
      if (waitMs > 0) await this.#sleep(waitMs);
    }
  }

  /** Does all that is due and answers how long until the next thing. */
  async #tick(): Promise<number> {
    const { store, sender, world, node, style } = this.#options;
    this.#isWoken = false;
    const upkeepInMs = await this.#runUpkeep();
    const limits = this.#inFlight.free();
    // Without a free slot there is nothing to wait for but a settlement, and that wakes us.
    if (limits.slots === 0) return upkeepInMs;
    const now = world.clock.now();
    const { claims, nextDueAt } = await store.claimDue({ node, now, limits });
    if (claims.length > 0) {
      for (const claim of claims) this.#inFlight.add(claim);
      sender.send(claims.map((claim) => sendJob(claim, style)));
    }
    if (nextDueAt === null || claims.length >= limits.slots) return upkeepInMs;
    return Math.min(upkeepInMs, Math.max(0, nextDueAt - world.clock.now()));
  }

  async #runUpkeep(): Promise<number> {
    const { clock } = this.#options.world;
    let waitMs = Number.POSITIVE_INFINITY;
    for (const entry of this.#upkeep) {
      if (entry.dueAtMonotonicMs <= clock.monotonicMs()) {
        try {
          const againMs = await entry.task.run(clock.now());
          entry.dueAtMonotonicMs = clock.monotonicMs() + againMs;
        } catch (error) {
          this.#options.observe({ kind: 'trouble', during: entry.task.name, error });
          entry.dueAtMonotonicMs = clock.monotonicMs() + STORE_PAUSE_MS;
        }
      }
      waitMs = Math.min(waitMs, entry.dueAtMonotonicMs - clock.monotonicMs());
    }
    return Math.max(0, waitMs);
  }

  /** Sleeps until woken or for `ms`. A wake-up that came while the turn was running counts. */
  async #sleep(ms: number): Promise<void> {
    if (this.#isWoken || this.#isStopping) return;
    await new Promise<void>((resolve) => {
      const cancel = this.#options.world.clock.after(ms, resolve);
      this.#wakeUp = () => {
        cancel();
        resolve();
      };
    });
    this.#wakeUp = null;
  }

  #wake(): void {
    this.#isWoken = true;
    this.#wakeUp?.();
  }

  async #settleReports(reports: readonly SendReport[]): Promise<void> {
    const ended: [Claim, SendReport][] = [];
    for (const report of reports) {
      const claim = this.#inFlight.get(report.lease);
      if (claim) ended.push([claim, report]);
    }
    await this.#settle(ended);
    for (const [claim] of ended) this.#inFlight.remove(claim);
    if (this.#inFlight.count === 0) this.#whenIdle?.();
    this.#wake();
  }

  async #settleInterrupted(claims: readonly Claim[], reason: string): Promise<void> {
    const at = this.#options.world.clock.now();
    const outcome: Outcome = { kind: 'interrupted', reason };
    await this.#settle(claims.map((claim) => [claim, { outcome, startedAt: at, endedAt: at }]));
  }

  /** Tries until the store has answered: a result that is known must not be lost to a store that was away. */
  async #settle(
    ended: readonly (readonly [Claim, Pick<SendReport, 'outcome' | 'startedAt' | 'endedAt'>])[],
  ): Promise<void> {
    if (ended.length === 0) return;
    const { store, world, tiers, newId, style, observe } = this.#options;
    const settlements = ended.map(([claim, end]) =>
      decideSettlement(claim, end, {
        headerPrefix: style.headerPrefix,
        retentionMs: tiers[claim.tier].retentionMs,
        newId,
      }),
    );
    let results: readonly ('settled' | 'lost')[] | null = null;
    while (!results) {
      try {
        results = await store.settle(settlements, world.clock.now());
      } catch (error) {
        observe({ kind: 'trouble', during: 'settling', error });
        await new Promise<void>((resolve) => world.clock.after(STORE_PAUSE_MS, resolve));
      }
    }
    results.forEach((result, index) => {
      const [claim, end] = ended[index]!;
      observe({ kind: 'attempt', claim, outcome: end.outcome, settlement: settlements[index]!, result });
    });
  }

  async #idleOrAfter(ms: number): Promise<void> {
    if (this.#inFlight.count === 0) return;
    await new Promise<void>((resolve) => {
      const cancel = this.#options.world.clock.after(ms, resolve);
      this.#whenIdle = () => {
        cancel();
        resolve();
      };
    });
    this.#whenIdle = null;
  }
}
