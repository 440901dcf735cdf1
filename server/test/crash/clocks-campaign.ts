// A service of one to four lanes on a machine whose wall clock jumps, which stands still, sleeps and is started again, in
// virtual time: real engines and a real store, as many hours as it takes. Because the campaign knows the time that has
// really passed, it sees what goes early, what is deleted too soon, and ticks that are made twice or never.

import { setImmediate } from 'node:timers/promises';
import { Engine } from '../../src/delivery/engine/engine.ts';
import { laneNode } from '../../src/rules/limits/lanes.ts';
import { DEFAULT_TIERS } from '../../src/rules/limits/tier.ts';
import { idMaker } from '../../src/rules/requests/id.ts';
import { nextCronTime, parseCron } from '../../src/rules/schedules/cron.ts';
import {
  CLOCK_BELIEVED_AFTER_MS,
  CLOCK_DOWN_MS_MAX,
  CLOCK_STEP_MS_MAX,
  type KeptTime,
} from '../../src/rules/time/clock.ts';
import type { Clock } from '../../src/runtime/world.ts';
import type { StoredTime } from '../../src/store/ports/delivery-store.ts';
import type { Store } from '../../src/store/ports/store.ts';
import { storedTime } from '../../src/store/sqlite/deliveries/time.ts';
import { openDatabase } from '../../src/store/sqlite/files/open.ts';
import { createSqliteStore } from '../../src/store/sqlite/store.ts';
import type { Database } from '../../src/store/sqlite/thread/database.ts';
import { inlineExecutor } from '../../src/store/sqlite/thread/executor.ts';
import type { Executor } from '../../src/store/sqlite/thread/executor-port.ts';
import { heartbeat, orphans, strays } from '../../src/upkeep/leases.ts';
import { retention } from '../../src/upkeep/retention.ts';
import { scheduleTimeCorrector } from '../../src/upkeep/schedule-times.ts';
import { scheduleRunner } from '../../src/upkeep/schedules.ts';
import { ServiceClock } from '../../src/upkeep/service-clock.ts';
import { type SharedTime, sharedTime } from '../../src/upkeep/shared-time.ts';
import { ACCOUNT, KEYS, message } from '../conformance/given.ts';
import { schedule } from '../conformance/schedules.ts';
import { Chance } from '../simulation/chance.ts';
import { NO_TURNS } from '../support/no-turns.ts';
import { Answering, Machine, ProcessClock, START } from './clocks-machine.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** How far a wall clock is off when it is wrong. */
const WRONG = [
  -10 * DAY,
  -23 * HOUR,
  -HOUR,
  -5 * MINUTE,
  -11 * SECOND,
  11 * SECOND,
  5 * MINUTE,
  HOUR,
  23 * HOUR,
  10 * DAY,
];
const DOWN = [SECOND, 20 * SECOND, 5 * MINUTE, 3 * HOUR];
const STEPS = 14;
/** No clock is wrong for longer: it would be believed after 10 minutes. */
const WRONG_MS_MAX = 4 * MINUTE;
const CRONS = { often: '*/5 * * * *', daily: '40 8 * * *' } as const;

interface Lane {
  readonly node: string;
  readonly clock: ProcessClock;
  readonly time: ServiceClock;
  readonly store: Store;
  readonly engine: Engine;
}

export interface ClocksReport {
  readonly messages: number;
  readonly ticks: number;
  readonly starts: number;
  readonly hours: number;
  readonly problems: readonly string[];
}

export interface ClocksOptions {
  readonly seed: number;
  /** Changes what a start reads from the store, to see that the campaign notices a wrong rule. */
  readonly misread?: (stored: StoredTime, wallAt: number) => StoredTime;
}

export async function clocksCampaign(options: ClocksOptions): Promise<ClocksReport> {
  const campaign = new Campaign(options);
  await campaign.run();
  const { arrivals, ticks, starts, machine, problems } = campaign;
  return { messages: arrivals.size, ticks: ticks.length, starts, hours: machine.passedMs / HOUR, problems };
}

class Campaign {
  readonly machine = new Machine();
  readonly problems: string[] = [];
  readonly ticks: { readonly id: string; readonly dueAt: number; readonly at: number }[] = [];
  /** When each message arrived; `dueAt` is by the time of the service, which is never ahead. */
  readonly arrivals = new Map<string, { readonly dueAt: number; readonly at: number[] }>();
  /** Ended messages, by when they may be deleted. */
  readonly #kept = new Map<string, number>();
  readonly #chance: Chance;
  readonly #options: ClocksOptions;
  readonly #database: Database = openDatabase(':memory:');
  readonly #executor: Executor = { ...inlineExecutor(this.#database), close: async () => {} };
  readonly #newId = idMaker(
    () => this.machine.trueAt,
    (length) => this.#chance.bytes(length),
  );
  #lanes: Lane[] = [];
  #time: SharedTime = sharedTime(new SharedArrayBuffer(8));
  #process = '';
  #inFlight = 0;
  #wrongMs = 0;
  starts = 0;

  constructor(options: ClocksOptions) {
    this.#options = options;
    this.#chance = new Chance(options.seed);
  }

  async run(): Promise<void> {
    await this.#start();
    const { store } = this.#lanes[0]!;
    await store.createAccount({ id: ACCOUNT, name: 'one', tier: 'free', createdAt: START }, KEYS);
    for (const [id, cron] of Object.entries(CRONS)) {
      await store.saveSchedule(schedule({ id, cron, nextAt: nextTick(cron, START) }));
    }
    for (let step = 0; step < STEPS && this.problems.length === 0; step += 1) {
      await this.#publish();
      await this.#disturb();
      const isWrong = this.machine.offMs !== 0;
      await this.#runFor(this.#chance.pick(isWrong ? [2, 8, 14, 60] : [2, 14, 60, 720]) * SECOND);
    }
    this.machine.offMs = 0;
    await this.#runFor(2 * CLOCK_BELIEVED_AFTER_MS);
    await this.#checkEnd();
  }

  async #disturb(): Promise<void> {
    const chance = this.#chance;
    const offMs = chance.isTrue(60) && this.#wrongMs < WRONG_MS_MAX ? chance.pick(WRONG) : 0;
    const what = chance.weighted({ step: 35, restart: 40, freeze: 10, sleep: 5, lane: 10 });
    if (what === 'restart') await this.#restart(offMs);
    else if (what === 'freeze') this.machine.passedMs += chance.pick([3, 12, 20, 90]) * SECOND;
    else if (what === 'sleep') {
      const ms = chance.pick([30 * SECOND, 40 * MINUTE]);
      this.machine.passedMs += ms;
      this.machine.asleepMs += ms;
    } else if (what === 'lane') await this.#replaceLane(offMs);
    else this.machine.offMs = offMs;
  }

  async #restart(offMs: number): Promise<void> {
    const { machine } = this;
    await this.#idle();
    const [first] = this.#lanes;
    // A stop in good order keeps the time once more. A kill does not.
    if (this.#chance.isTrue(60)) await heartbeat(first!.store, first!.node, first!.time).run();
    for (const { clock } of this.#lanes) clock.end();
    machine.passedMs += this.#chance.pick(DOWN);
    if (this.#chance.isTrue(20)) {
      machine.bootedMs = machine.passedMs;
      machine.asleepMs = 0;
    }
    machine.offMs = offMs;
    const { kept } = storedTime(this.#database);
    // A clock that is wrong and looks right cannot be told from a machine that was off.
    if (kept && isBelievable(kept, machine.trueAt + offMs)) machine.offMs = 0;
    if (this.#chance.isTrue(10)) await this.#loseClockRow();
    await this.#start();
  }

  /** The store has no kept time, and one row that is days ahead. The wall clock is right. */
  async #loseClockRow(): Promise<void> {
    this.machine.offMs = 0;
    const at = this.machine.trueAt + 8 * DAY;
    await this.#storeOf('nod_other').accept(
      [message({ id: this.#newId('msg'), createdAt: at, dueAt: at })],
      this.machine.trueAt,
    );
    this.#database.run('DELETE FROM clock');
  }

  async #start(): Promise<void> {
    this.starts += 1;
    this.#database.run('DELETE FROM nodes');
    this.#process = this.#newId('nod');
    this.#time = sharedTime(new SharedArrayBuffer(8));
    this.#lanes = [];
    const lanes = this.#chance.between(1, 4);
    for (let lane = 0; lane < lanes; lane += 1) this.#lanes.push(await this.#startLane());
    await this.#quiet();
  }

  /** A lane ends while nothing of it is under way, and another one takes its place when the wall clock has jumped. */
  async #replaceLane(offMs: number): Promise<void> {
    await this.#idle();
    this.machine.offMs = offMs;
    const gone = this.#lanes.length > 1 ? this.#lanes.pop() : undefined;
    if (!gone) return;
    gone.clock.end();
    await this.#lanes[0]!.store.heartbeat(gone.node, 0);
    this.#lanes.push(await this.#startLane());
  }

  #storeOf(node: string, clock: Clock = new ProcessClock(this.machine), timers = clock): Store {
    const onBroken = (error: Error) => void this.problems.push(String(error));
    return createSqliteStore({ executor: this.#executor, clock, timers, node, onBroken });
  }

  async #startLane(): Promise<Lane> {
    const clock = new ProcessClock(this.machine);
    const first = this.#lanes[0];
    const time = new ServiceClock({
      machine: clock,
      shared: this.#time,
      joins: first?.time.state,
      usesStoreClock: false,
      onChange: () => {},
    });
    const node = first ? laneNode(this.#process, this.#newId('nod')) : this.#process;
    const store = this.#storeOf(node, time, clock);
    const { misread } = this.#options;
    const read = async () => misread!(await store.storedTime(), clock.now());
    await time.begin(misread ? { storedTime: read } : store);
    const engine = this.#engineOf(node, clock, time, store, !first);
    engine.start();
    return { node, clock, time, store, engine };
  }

  #engineOf(node: string, clock: ProcessClock, time: ServiceClock, store: Store, isFirst: boolean): Engine {
    return new Engine({
      node,
      store,
      sender: new Answering(clock, (id) => this.#arrive(id)),
      world: { clock: time, random: this.#chance },
      turns: NO_TURNS,
      newId: this.#newId,
      tiers: DEFAULT_TIERS,
      style: { headerPrefix: 'Service-', userAgent: 'clocks' },
      limits: { concurrency: 50, accountConcurrency: 50, hostConcurrency: 50, bodyBytes: 1_000_000 },
      heartbeat: heartbeat(store, node, time),
      upkeep: (recovery, isUnderWay) => [
        orphans(store, node, recovery, clock),
        strays({ store, slots: 50, isUnderWay, onGivenBack: () => {} }),
        ...(isFirst ? [retention(store, DEFAULT_TIERS, () => time.isProven), scheduleTimeCorrector(store, time)] : []),
      ],
      fireSchedules: isFirst ? this.#schedules(store, time) : async () => null,
      observe: (event) => {
        if (event.kind === 'trouble') this.problems.push(`${event.during}: ${event.error}`);
        else if (event.kind === 'attempt') this.#inFlight -= 1;
      },
    });
  }

  /** A tick makes no message: when it is made is all that is looked at. */
  #schedules(store: Store, time: ServiceClock) {
    return scheduleRunner({
      turns: NO_TURNS,
      store,
      now: () => time.now(),
      tiers: DEFAULT_TIERS,
      plan: async ({ id, nextAt }) => {
        this.ticks.push({ id, dueAt: nextAt!, at: this.machine.trueAt });
        return { messages: [] };
      },
      onSkipped: () => {},
    });
  }

  #arrive(messageId: string): number {
    const { dueAt, at } = this.arrivals.get(messageId)!;
    at.push(this.machine.trueAt);
    this.#inFlight += 1;
    if (this.machine.trueAt < dueAt) this.#note(`a message arrived ${dueAt - this.machine.trueAt} ms early`);
    if (at.length > 1) this.#note(`a message arrived ${at.length} times`);
    return this.#chance.isTrue(10) ? 90 * SECOND : 100;
  }

  async #publish(): Promise<void> {
    for (const { time, store } of this.#lanes) {
      const now = time.now();
      const made = [0, 3 * SECOND, 2 * MINUTE, 30 * MINUTE, 20 * HOUR].map((delayMs) => {
        const dueAt = now + delayMs;
        const id = this.#newId('msg');
        this.arrivals.set(id, { dueAt, at: [] });
        return message({ id, createdAt: now, dueAt });
      });
      await store.accept(made, now);
      const ended = this.#newId('msg');
      const expiresAt = now + this.#chance.pick([HOUR, 20 * HOUR]);
      await store.accept([message({ id: ended, createdAt: now, dueAt: now + DAY })], now);
      await store.cancel(ACCOUNT, [ended], now, expiresAt);
      this.#kept.set(ended, expiresAt);
    }
  }

  async #runFor(ms: number): Promise<void> {
    const { machine } = this;
    const wasRight = this.#isRight();
    const from = machine.trueAt;
    await machine.pass(ms, () => this.#quiet());
    this.#wrongMs = machine.offMs === 0 ? 0 : this.#wrongMs + ms;
    const aheadMs = this.#lanes[0]!.time.now() - machine.trueAt;
    if (aheadMs > 0) this.#note(`the service is ${aheadMs} ms ahead`);
    if (wasRight && this.#isRight()) this.#checkTicks(from, machine.trueAt);
    for (const [id, expiresAt] of this.#kept) {
      if (machine.trueAt >= expiresAt) this.#kept.delete(id);
      else if (!(await this.#lanes[0]!.store.getMessage(ACCOUNT, id))) this.#note('a message was deleted too soon');
    }
  }

  /** While the service knew the right time, every tick was made at its time. */
  #checkTicks(from: number, to: number): void {
    for (const [id, cron] of Object.entries(CRONS)) {
      const made = this.ticks.filter((tick) => tick.id === id);
      for (let at = nextTick(cron, from); at < to - SECOND; at = nextTick(cron, at)) {
        if (!made.some(({ dueAt }) => dueAt === at)) this.#note(`${id}: no tick at ${new Date(at).toISOString()}`);
      }
    }
  }

  async #checkEnd(): Promise<void> {
    const { machine } = this;
    if (!this.#isRight()) this.#note('the time is not right again');
    for (const [id, cron] of Object.entries(CRONS)) {
      const made = this.ticks.filter((tick) => tick.id === id);
      for (const [index, { dueAt, at }] of made.entries()) {
        if (at < dueAt) this.#note(`${id}: a tick was ${dueAt - at} ms early`);
        if (nextTick(cron, dueAt - 1) !== dueAt) this.#note(`${id}: a tick that its cron does not name`);
        if (dueAt <= (made[index - 1]?.dueAt ?? 0)) this.#note(`${id}: a tick was made twice`);
      }
    }
    await this.#idle();
    for (const [id, { dueAt, at }] of this.arrivals) {
      if (dueAt < machine.trueAt - MINUTE && at.length !== 1) this.#note(`message ${id} arrived ${at.length} times`);
    }
    const { held } = await this.#lanes[0]!.store.recovery();
    if (held > 0) this.#note(`${held} messages are held`);
  }

  #isRight(): boolean {
    return this.#lanes[0]!.time.wallNow() === this.machine.trueAt;
  }

  /** Until nothing is under way. */
  async #idle(): Promise<void> {
    for (let count = 0; this.#inFlight > 0; count += 1) {
      if (count > 100) return this.#note('attempts do not end');
      await this.machine.pass(10 * SECOND, () => this.#quiet());
    }
  }

  async #quiet(): Promise<void> {
    do await setImmediate();
    while (!this.#lanes.every(({ engine }) => engine.isAsleep));
  }

  #note(problem: string): void {
    this.problems.push(`${problem} (${Math.round(this.machine.passedMs / SECOND)} s after the beginning)`);
  }
}

function isBelievable(kept: KeptTime, wallAt: number): boolean {
  const shownMs = wallAt - kept.wallAt;
  const wasTrusted = Math.abs(kept.wallAt - kept.trustedAt) <= CLOCK_STEP_MS_MAX;
  return wasTrusted && shownMs >= -CLOCK_STEP_MS_MAX && shownMs <= CLOCK_DOWN_MS_MAX;
}

function nextTick(cron: string, after: number): number {
  const parsed = parseCron(cron);
  if ('problem' in parsed) throw new Error(cron);
  return nextCronTime(parsed, after)!;
}
