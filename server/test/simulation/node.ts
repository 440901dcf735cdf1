// One simulated process: the real store adapter and the real engine over a clock, a database connection and a network
// that can be stopped at any moment. It can crash, freeze, lose its store and be told to stop.

import { ackKeeper } from '../../src/acks/ack-keeper.ts';
import { AckSecrets } from '../../src/acks/ack-secret.ts';
import { Acks } from '../../src/acks/acks.ts';
import { Engine, type EngineEvent } from '../../src/delivery/engine/engine.ts';
import type { EngineLimits } from '../../src/delivery/engine/in-flight.ts';
import type { Delivery } from '../../src/delivery/engine/sender.ts';
import type { Tiers } from '../../src/rules/limits/tier.ts';
import { idMaker } from '../../src/rules/requests/id.ts';
import type { ClockChange } from '../../src/rules/time/clock.ts';
import type { StoredTime } from '../../src/store/ports/delivery-store.ts';
import type { Store } from '../../src/store/ports/store.ts';
import { createSqliteStore } from '../../src/store/sqlite/store.ts';
import type { Executor } from '../../src/store/sqlite/thread/executor-port.ts';
import type { Command, Reply } from '../../src/store/sqlite/thread/verbs.ts';
import { expiryKeeper } from '../../src/upkeep/expiry.ts';
import { heartbeat, orphans, strays } from '../../src/upkeep/leases.ts';
import { HostParking } from '../../src/upkeep/parking.ts';
import { retention } from '../../src/upkeep/retention.ts';
import { scheduleTimeCorrector } from '../../src/upkeep/schedule-times.ts';
import { scheduleRunner } from '../../src/upkeep/schedules.ts';
import { ServiceClock } from '../../src/upkeep/service-clock.ts';
import type { SharedTime } from '../../src/upkeep/shared-time.ts';
import { NO_TURNS } from '../support/no-turns.ts';
import type { Chance } from './chance.ts';
import type { SimulatedNetwork, SimulatedSender } from './network.ts';
import { planTick } from './schedule-actions.ts';
import { MINUTE_SCHEDULE } from './ticks.ts';
import { ProcessClock, type Timeline } from './timeline.ts';

export const HEADER_PREFIX = 'Postrider-';
/** The key that all nodes have from their store. */
const ACK_KEY = 'c2ltdWxhdGlvbg';

export interface NodeWorld {
  readonly timeline: Timeline;
  readonly chance: Chance;
  readonly network: SimulatedNetwork;
  readonly limits: EngineLimits;
  /** Nodes over one file are lanes of one process, and have one time. */
  readonly time: SharedTime;
  readonly tiers: Tiers;
  /** Whether nodes park hosts. */
  readonly parks: boolean;
  /** Whether messages may await acks. */
  readonly awaitsAcks: boolean;
  /** Runs a batch on the shared database, as one transaction. */
  readonly runBatch: (node: SimulatedNode, commands: readonly Command[]) => readonly Reply[];
  /** What the file has kept of the time. */
  readonly storedTime: () => StoredTime;
  /** The same, and the node never hears of it. */
  readonly runUnheard: (node: SimulatedNode, commands: readonly Command[]) => void;
  readonly observe: (node: SimulatedNode, event: EngineEvent) => void;
  readonly onClockChange: (node: SimulatedNode, change: ClockChange) => void;
  readonly onSend: (node: SimulatedNode, deliveries: readonly Delivery[]) => void;
  /** A message was cut off because the node was told to stop. */
  readonly onCutOff: (node: SimulatedNode, messageIds: readonly string[]) => void;
}

interface Call {
  readonly commands: readonly Command[];
  readonly run: () => void;
}

export class SimulatedNode {
  readonly id: string;
  readonly clock: ProcessClock;
  /** What the process takes for the time, whatever the wall clock shows. */
  readonly time: ServiceClock;
  readonly store: Store;
  readonly engine: Engine;
  readonly newId: ReturnType<typeof idMaker>;
  readonly sender: SimulatedSender;
  readonly acks: Acks;
  /** After a person has parked or resumed a host. */
  readonly lookAtHosts: () => void;
  readonly startedAtMs: number;
  /** No other process was there when it started. */
  readonly isAlone: boolean;
  /** Since when nothing was done to it. */
  undisturbedSinceMs: number;
  /** The store does not respond to this process. */
  isCutOff = false;
  isStopping = false;
  readonly #world: NodeWorld;
  #onOthers: (hasCancelled: boolean) => void = () => {};
  /** Asked of the store, not yet run. */
  readonly #calls = new Set<Call>();

  constructor(world: NodeWorld, isAlone: boolean) {
    const { timeline, chance, network, limits, tiers } = world;
    this.#world = world;
    this.isAlone = isAlone;
    this.startedAtMs = timeline.nowMs;
    this.undisturbedSinceMs = timeline.nowMs;
    this.clock = new ProcessClock(timeline);
    this.time = new ServiceClock({
      machine: this.clock,
      shared: world.time,
      usesStoreClock: false,
      onChange: (change) => world.onClockChange(this, change),
    });
    this.newId = idMaker(
      () => this.time.now(),
      (length) => chance.bytes(length),
    );
    this.id = this.newId('nod');
    this.store = createSqliteStore({
      executor: this.#executor(),
      clock: this.time,
      timers: this.clock,
      node: this.id,
      onBroken: (error) => world.observe(this, { kind: 'trouble', during: 'storing', error }),
    });
    this.sender = network.sender(this.clock, this.time);
    this.sender.onSend = (deliveries) => world.onSend(this, deliveries);
    this.sender.onCutOff = (messageIds) => world.onCutOff(this, messageIds);
    const { store, id } = this;
    const parking = world.parks
      ? new HostParking({ store, node: id, isSending: true, now: () => this.time.now(), isByHand: false })
      : undefined;
    this.acks = new Acks({
      store,
      tiers,
      headerPrefix: HEADER_PREFIX,
      newId: this.newId,
      now: () => this.time.now(),
      secrets: new AckSecrets(ACK_KEY),
      onEnd: () => {},
      onProgress: () => {},
      onFault: (error) => world.observe(this, { kind: 'trouble', during: 'settling', error }),
    });
    this.acks.address = 'https://queue.example';
    this.lookAtHosts = () => parking?.lookAgain();
    this.engine = new Engine({
      node: id,
      store,
      sender: this.sender,
      world: { clock: this.time, random: chance },
      turns: NO_TURNS,
      newId: this.newId,
      tiers,
      style: { headerPrefix: HEADER_PREFIX, userAgent: 'simulation', ackUrlOf: this.acks.urlOf },
      limits,
      parking,
      heartbeat: heartbeat(store, id, this.time),
      upkeep: (recovery, isUnderWay) => [
        orphans(store, id, recovery, this.clock),
        strays({
          store,
          slots: limits.concurrency,
          isUnderWay,
          onGivenBack: (count) => world.observe(this, { kind: 'strays', count }),
        }),
        retention(store, tiers, () => this.time.isProven),
        expiryKeeper({
          store,
          tiers,
          newId: this.newId,
          onFault: (_id, error) => world.observe(this, { kind: 'trouble', during: 'expiry', error }),
        }),
        scheduleTimeCorrector(store, this.time),
        ...(parking ? [parking.task] : []),
        ...(world.awaitsAcks
          ? [ackKeeper({ acks: this.acks, isTimeRight: () => !this.time.isOff, isByHand: false })]
          : []),
      ],
      fireSchedules: scheduleRunner({
        turns: NO_TURNS,
        store,
        now: () => this.time.now(),
        tiers,
        plan: async (schedule) =>
          schedule.id === MINUTE_SCHEDULE ? { messages: [] } : planTick(schedule, this, tiers),
        onSkipped: () => {},
      }),
      observe: (event) => {
        if (event.kind === 'attempt') parking?.note(event.claim, event.settlement.attempt);
        world.observe(this, event);
      },
    });
    // As a start does: before anything else. The file answers at once.
    void this.time.begin({ storedTime: async () => world.storedTime() }).then(() => this.engine.start());
  }

  get isServing(): boolean {
    return this.clock.state === 'running' && !this.isStopping;
  }

  /** Another node has written something. */
  hearOfOthers(hasCancelled: boolean): void {
    this.clock.after(this.#world.chance.below(5), () => this.#onOthers(hasCancelled));
  }

  /** The process is gone. What it had asked of the store is run without it, or never. */
  crash(): void {
    this.clock.kill();
    for (const call of [...this.#calls]) if (this.#world.chance.isTrue(50)) call.run();
    this.#calls.clear();
  }

  /**
   * A batch takes a moment to get to the database and its answer a moment to get back. What a frozen process has asked
   * waits for it if the database is its own thread, and is run without it if it is a server: both happen.
   */
  #executor(): Executor {
    const { chance, timeline } = this.#world;
    return {
      execute: (commands) =>
        new Promise((resolve) => {
          const call: Call = {
            commands,
            run: () => {
              if (!this.#calls.delete(call)) return;
              const replies = this.isCutOff ? this.#cutOff(commands) : this.#world.runBatch(this, commands);
              this.clock.after(chance.below(3), () => resolve(replies));
            },
          };
          this.#calls.add(call);
          const waitMs = chance.isTrue(90) ? chance.below(3) : chance.between(3, 60);
          if (chance.isTrue(50)) this.clock.after(waitMs, call.run);
          else timeline.after(waitMs, call.run);
        }),
      onOthers: (_node, listener) => {
        this.#onOthers = listener;
      },
      close: async () => {},
    };
  }

  /** The store is not reached; or it is, and only its answer is lost. */
  #cutOff(commands: readonly Command[]): readonly Reply[] {
    if (!this.#world.chance.isTrue(20)) return commands.map(() => AWAY);
    this.#world.runUnheard(this, commands);
    return commands.map(() => LOST);
  }
}

const LOST: Reply = { error: 'the answer was lost', reason: 'doubtful' };
const AWAY: Reply = { error: 'the store is away', reason: 'full' };
