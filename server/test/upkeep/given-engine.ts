// An engine over a real store in memory, a clock the test moves and a network where everything is answered: what the
// tests of schedules and bulk operations run.

import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import { Engine, type UpkeepTask } from '../../src/delivery/engine/engine.ts';
import type { Delivery, Sender, SendReport } from '../../src/delivery/engine/sender.ts';
import { DEFAULT_TIERS } from '../../src/rules/limits/tier.ts';
import { idMaker } from '../../src/rules/requests/id.ts';
import type { Schedule } from '../../src/rules/schedules/schedule.ts';
import type { Store } from '../../src/store/ports/store.ts';
import { openDatabase } from '../../src/store/sqlite/files/open.ts';
import { createSqliteStore } from '../../src/store/sqlite/store.ts';
import { inlineExecutor } from '../../src/store/sqlite/thread/executor.ts';
import type { Executor } from '../../src/store/sqlite/thread/executor-port.ts';
import { type PlanTick, scheduleRunner } from '../../src/upkeep/schedules.ts';
import { ACCOUNT, KEYS, message, NOW, OK } from '../conformance/given.ts';
import { type ManualWorld, manualWorld } from '../support/manual-clock.ts';
import { NO_TURNS } from '../support/no-turns.ts';

export const MINUTE = 60_000;

/** Answers at once, unless it is told to keep everybody waiting. */
class AnsweringSender implements Sender {
  readonly sent: Delivery[] = [];
  #held: Delivery[] | null = null;
  #report: (reports: readonly SendReport[]) => void = () => {};
  readonly #world: ManualWorld;

  constructor(world: ManualWorld) {
    this.#world = world;
  }

  send(deliveries: readonly Delivery[]): void {
    this.sent.push(...deliveries);
    if (this.#held) this.#held.push(...deliveries);
    else queueMicrotask(() => this.#answer(deliveries));
  }

  hold(): void {
    this.#held = [];
  }

  letGo(): void {
    const held = this.#held ?? [];
    this.#held = null;
    this.#answer(held);
  }

  #answer(deliveries: readonly Delivery[]): void {
    const at = this.#world.clock.now();
    this.#report(deliveries.map(({ lease }) => ({ lease, startedAt: at, endedAt: at, outcome: OK })));
  }

  mayStartUntil(): void {}

  drop(): readonly string[] {
    return [];
  }

  onWritten(): void {}

  onReports(listener: (reports: readonly SendReport[]) => void): void {
    this.#report = listener;
  }

  async close(): Promise<void> {}
}

export interface EngineChoices {
  readonly plan?: PlanTick;
  readonly concurrency?: number;
  /** In place of one of its own. */
  readonly store?: Store;
  readonly upkeep?: (store: Store) => readonly UpkeepTask[];
}

/** A database and the time; engines come and go over it. */
export class Site {
  readonly world = manualWorld({ now: NOW });
  readonly newId = idMaker(
    () => this.world.clock.now(),
    (length) => this.world.random.bytes(length),
  );
  readonly #executor: Executor;

  private constructor(executor: Executor) {
    this.#executor = executor;
  }

  static async open(): Promise<Site> {
    const site = new Site(inlineExecutor(openDatabase(':memory:')));
    await site.store('nod_first').createAccount({ id: ACCOUNT, name: 'one', tier: 'free', createdAt: NOW }, KEYS);
    return site;
  }

  get now(): number {
    return this.world.clock.now();
  }

  store(node: string): Store {
    return createSqliteStore({
      executor: { ...this.#executor, close: async () => {} },
      clock: this.world.clock,
      node,
      onBroken: (error) => assert.fail(error),
    });
  }

  engine(node: string, options: EngineChoices = {}) {
    const store = options.store ?? this.store(node);
    const sender = new AnsweringSender(this.world);
    const skipped: string[] = [];
    const plan = options.plan ?? (async (schedule) => ({ messages: [this.tickOf(schedule)] }));
    const engine = new Engine({
      node,
      store,
      sender,
      world: this.world,
      turns: NO_TURNS,
      newId: this.newId,
      tiers: DEFAULT_TIERS,
      style: { headerPrefix: 'Service-', userAgent: 'test' },
      limits: {
        concurrency: options.concurrency ?? 100,
        accountConcurrency: 100,
        hostConcurrency: 100,
        bodyBytes: 1_000_000,
      },
      heartbeat: null,
      upkeep: () => options.upkeep?.(store) ?? [],
      fireSchedules: scheduleRunner({
        turns: NO_TURNS,
        store,
        now: () => this.now,
        plan,
        tiers: DEFAULT_TIERS,
        onSkipped: ({ id }) => skipped.push(id),
      }),
      observe: (event) => {
        if (event.kind === 'trouble') throw event.error;
      },
    });
    engine.start();
    return { engine, store, sender, skipped };
  }

  /** The message that a tick of this schedule makes. */
  tickOf(schedule: Schedule) {
    return message({
      id: this.newId('msg'),
      kind: 'schedule',
      scheduleId: schedule.id,
      url: schedule.destination,
      createdAt: this.now,
      dueAt: this.now,
    });
  }

  /** Time passes, and whoever waits for it does what it has to, each at its time. */
  async pass(ms: number): Promise<void> {
    const { clock } = this.world;
    const end = clock.monotonicMs() + ms;
    await this.quiet();
    while (clock.monotonicMs() < end) {
      clock.advance(Math.min(clock.untilNextTimer() ?? ms, end - clock.monotonicMs()));
      await this.quiet();
    }
  }

  /** Everything here runs in microtasks, and what was claimed starts in the turn after that: then all are asleep. */
  async quiet(): Promise<void> {
    await setImmediate();
    await setImmediate();
  }
}
