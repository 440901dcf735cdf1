// The delivering half of a node: claims what is due, hands it to the sender, settles what comes back. One loop, no
// poll interval: each turn does all there is to do and sleeps until the next known deadline or until it is woken.
// It decides nothing about messages (domain/settle.ts does) and sends nothing itself (the sender does).

import type { NewId } from '../domain/id.ts';
import type { Claim, Outcome, Settlement } from '../domain/message.ts';
import { decideSettlement, isAwaited } from '../domain/settle.ts';
import { type ClaimLimits, NO_SLOTS } from '../domain/slots.ts';
import type { Tiers } from '../domain/tier.ts';
import type { ClaimAnswer, Store } from '../store/store.ts';
import type { World } from '../world.ts';
import { type EngineLimits, InFlight } from './in-flight.ts';
import { type RequestStyle, sendJob } from './request.ts';
import type { Sender, SendReport } from './sender.ts';

/** How long to wait before the store is asked again when it did not answer. */
const STORE_PAUSE_MS = 1000;

const NEVER = Number.NEGATIVE_INFINITY;

/** A task that the loop runs when it is due; answers in how many milliseconds it wants to run again. */
export interface Upkeep {
  readonly name: string;
  /** No attempt may start unless a run that began less than this ago has succeeded. */
  readonly goodForMs?: number;
  /** No request may be put on the wire unless a run that began less than this ago has succeeded. */
  readonly wireForMs?: number;
  run(now: number): Promise<number>;
}

interface UpkeepEntry {
  readonly task: Upkeep;
  dueAtMonotonicMs: number;
  /** The beginning of the last run that succeeded. */
  ranAtMonotonicMs: number;
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

/** An attempt that was made, whatever came of it. */
interface Ended {
  readonly outcome: Outcome;
  readonly startedAt: number;
  readonly endedAt: number;
}

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
  /** Makes the messages of schedules that are due. */
  readonly fireSchedules: (now: number) => Promise<void>;
  readonly observe: (event: EngineEvent) => void;
}

export class Engine {
  readonly #options: EngineOptions;
  readonly #inFlight: InFlight;
  readonly #upkeep: UpkeepEntry[];
  #isStopping = false;
  #isWoken = false;
  /** The store was asked for work and has not answered yet. */
  #isClaiming = false;
  #isHandingOut = false;
  #wakeUp: (() => void) | null = null;
  #loop: Promise<void> | null = null;
  #whenIdle: (() => void)[] = [];

  constructor(options: EngineOptions) {
    this.#options = options;
    this.#inFlight = new InFlight(options.limits);
    this.#upkeep = options
      .upkeep((claims, reason) => this.#settleInterrupted(claims, reason))
      .map((task) => ({ task, dueAtMonotonicMs: NEVER, ranAtMonotonicMs: NEVER }));
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
    this.#isStopping = true;
    this.#wake();
    await this.#within(drainMs, this.#drain());
    await this.#options.sender.close();
    await this.#within(drainMs, this.#drain());
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
    const { world } = this.#options;
    this.#isWoken = false;
    const couldStart = this.#mayStart();
    const upkeepInMs = await this.#runUpkeep();
    // What was leased to us before we were taken for dead may be somebody else's by now.
    if (!couldStart) await this.#releaseUnsent();
    if (!this.#mayStart()) return upkeepInMs;
    const limits = this.#inFlight.free();
    this.#isClaiming = true;
    const { claims, nextDueAt, nextScheduleAt } = await this.#claim(limits).finally(() => {
      this.#isClaiming = false;
    });
    if (!this.#mayStart()) {
      await this.#release(claims);
      return 0;
    }
    this.#start(claims);
    const scheduleInMs = await this.#fireSchedules(nextScheduleAt);
    const waitMs = Math.min(upkeepInMs, scheduleInMs);
    // Without a free slot there is nothing to wait for but a settlement, and that wakes us.
    if (nextDueAt === null || claims.length >= limits.slots) return waitMs;
    return Math.min(waitMs, Math.max(0, nextDueAt - world.clock.now()));
  }

  #claim(limits: ClaimLimits): Promise<ClaimAnswer> {
    const { store, world, node } = this.#options;
    return store.claimDue({ node, now: world.clock.now(), limits });
  }

  #start(claims: readonly Claim[]): void {
    if (claims.length === 0) return;
    const { sender, style } = this.#options;
    for (const claim of claims) this.#inFlight.add(claim);
    sender.send(claims.map((claim) => sendJob(claim, style)));
  }

  /** While a claim is under way, what is leased without being asked for need not wait for its answer. */
  async #handOut(): Promise<void> {
    this.#isHandingOut = false;
    if (!this.#isClaiming || this.#isStopping || !this.#mayStart()) return;
    const { claims } = await this.#claim(this.#inFlight.free());
    if (this.#mayStart()) this.#start(claims);
    else await this.#release(claims);
  }

  /** Answers in how many milliseconds the next schedule is due. */
  async #fireSchedules(nextAt: number | null): Promise<number> {
    if (nextAt === null) return Number.POSITIVE_INFINITY;
    const now = this.#options.world.clock.now();
    if (nextAt > now) return nextAt - now;
    try {
      await this.#options.fireSchedules(now);
      return 0;
    } catch (error) {
      this.#options.observe({ kind: 'trouble', during: 'schedules', error });
      return STORE_PAUSE_MS;
    }
  }

  async #runUpkeep(): Promise<number> {
    const { sender } = this.#options;
    const { clock } = this.#options.world;
    for (const entry of this.#upkeep) {
      const startedAtMs = clock.monotonicMs();
      if (entry.dueAtMonotonicMs > startedAtMs) continue;
      try {
        const againMs = await entry.task.run(clock.now());
        entry.ranAtMonotonicMs = startedAtMs;
        if (entry.task.wireForMs !== undefined) sender.mayStartUntil(startedAtMs + entry.task.wireForMs);
        entry.dueAtMonotonicMs = (entry.task.goodForMs === undefined ? clock.monotonicMs() : startedAtMs) + againMs;
      } catch (error) {
        this.#options.observe({ kind: 'trouble', during: entry.task.name, error });
        entry.dueAtMonotonicMs = clock.monotonicMs() + STORE_PAUSE_MS;
      }
    }
    const nextMs = Math.min(...this.#upkeep.map(({ dueAtMonotonicMs }) => dueAtMonotonicMs));
    return Math.max(0, nextMs - clock.monotonicMs());
  }

  #mayStart(): boolean {
    const nowMs = this.#options.world.clock.monotonicMs();
    return this.#upkeep.every(
      ({ task, ranAtMonotonicMs }) => task.goodForMs === undefined || nowMs - ranAtMonotonicMs < task.goodForMs,
    );
  }

  /**
   * Sleeps until woken or for `ms`. A wake-up that came while the turn was running counts. Whoever else is about to wake
   * it does so before it looks: a turn costs the same for one message as for a hundred.
   */
  async #sleep(ms: number): Promise<void> {
    const { clock } = this.#options.world;
    if (this.#isStopping) return;
    await new Promise<void>((resolve) => {
      if (this.#isWoken) return clock.soon(resolve);
      const cancel = clock.after(ms, resolve);
      this.#wakeUp = () => {
        this.#wakeUp = null;
        cancel();
        clock.soon(resolve);
      };
    });
    this.#wakeUp = null;
  }

  #wake(): void {
    this.#isWoken = true;
    this.#wakeUp?.();
    if (!this.#isClaiming || this.#isHandingOut) return;
    this.#isHandingOut = true;
    this.#options.world.clock.soon(() => {
      this.#handOut().catch((error) => this.#options.observe({ kind: 'trouble', during: 'claiming', error }));
    });
  }

  async #settleReports(reports: readonly SendReport[]): Promise<void> {
    const ended: [Claim, Ended][] = [];
    const unsent: Claim[] = [];
    for (const { lease, outcome, startedAt, endedAt } of reports) {
      const claim = this.#inFlight.get(lease);
      if (!claim) continue;
      if (outcome === 'unsent') unsent.push(claim);
      else ended.push([claim, { outcome, startedAt, endedAt }]);
    }
    await Promise.all([this.#settle(ended, !this.#isStopping), this.#release(unsent)]);
    for (const claim of [...ended.map(([each]) => each), ...unsent]) this.#inFlight.remove(claim);
    if (this.#inFlight.count === 0) for (const resolve of this.#whenIdle.splice(0)) resolve();
    this.#wake();
  }

  async #settleInterrupted(claims: readonly Claim[], reason: string): Promise<void> {
    const at = this.#options.world.clock.now();
    const outcome: Outcome = { kind: 'interrupted', reason };
    await this.#settle(
      claims.map((claim) => [claim, { outcome, startedAt: at, endedAt: at }]),
      false,
    );
  }

  /** `takesOver`: they were sent from here, and leave their slots to the next of their queues. */
  async #settle(ended: readonly (readonly [Claim, Ended])[], takesOver: boolean): Promise<void> {
    if (ended.length === 0) return;
    const { store, world, tiers, newId, style, observe } = this.#options;
    const settlements = ended.map(([claim, end]) =>
      decideSettlement(claim, end, {
        headerPrefix: style.headerPrefix,
        retentionMs: tiers[claim.tier].retentionMs,
        newId,
      }),
    );
    const canWait = ended.every(([claim], index) => !isAwaited(claim, settlements[index]!));
    const results = await this.#untilAnswered('settling', () =>
      store.settle(settlements, world.clock.now(), { takesOver, canWait }),
    );
    results.forEach((result, index) => {
      const [claim, end] = ended[index]!;
      observe({ kind: 'attempt', claim, outcome: end.outcome, settlement: settlements[index]!, result });
    });
  }

  /** The loop is over, nothing is leased to us that was not sent, and every attempt is settled. */
  async #drain(): Promise<void> {
    await this.#loop;
    await this.#releaseUnsent();
    if (this.#inFlight.count === 0) return;
    await new Promise<void>((resolve) => this.#whenIdle.push(resolve));
    // What was being settled when the loop ended may have left its place to the next of its queue.
    await this.#releaseUnsent();
  }

  async #releaseUnsent(): Promise<void> {
    const { store, world, node } = this.#options;
    const { claims } = await this.#untilAnswered('releasing', () =>
      store.claimDue({ node, now: world.clock.now(), limits: NO_SLOTS }),
    );
    await this.#release(claims);
  }

  async #release(claims: readonly Claim[]): Promise<void> {
    if (claims.length === 0) return;
    const { store, world } = this.#options;
    const leases = claims.map((claim) => claim.lease);
    await this.#untilAnswered('releasing', () => store.release(leases, world.clock.now()));
  }

  /** Asks until the store has answered: what is known must not be lost to a store that was away. */
  async #untilAnswered<T>(during: string, ask: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await ask();
      } catch (error) {
        this.#options.observe({ kind: 'trouble', during, error });
        await new Promise<void>((resolve) => this.#options.world.clock.after(STORE_PAUSE_MS, resolve));
      }
    }
  }

  /** Waits for `work`, but no longer than `ms`. */
  async #within(ms: number, work: Promise<void>): Promise<void> {
    let cancel = () => {};
    const timeout = new Promise<void>((resolve) => {
      cancel = this.#options.world.clock.after(ms, resolve);
    });
    await Promise.race([work, timeout]);
    cancel();
  }
}
