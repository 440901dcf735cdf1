// The delivering half of a node: claims due messages, hands them to the sender, and settles the results as
// rules/delivery/settle.ts decides. It does not poll: it sleeps until the next known deadline or until it is woken.
// Only the heartbeat may delay a claim; schedules and upkeep run in loops of their own.

import { withoutExpired } from '../../rules/delivery/expiry.ts';
import type { Claim } from '../../rules/delivery/message.ts';
import { isAwaited } from '../../rules/delivery/settle.ts';
import { type ClaimLimits, NO_SLOTS } from '../../rules/delivery/slots.ts';
import { Loop, untilSuccess, waitTimers } from '../../runtime/loop.ts';
import { withinMs } from '../../runtime/world.ts';
import { deliveryMaker } from '../http/request.ts';
import { Arrivals } from './arrivals.ts';
import { Cancels } from './cancels.ts';
import { CrashRecovery } from './crash-recovery.ts';
import type { EngineOptions } from './engine-options.ts';
import { InFlight } from './in-flight.ts';
import { isAnyLate, SendPermit } from './send-permit.ts';
import type { SendReport } from './sender.ts';
import {
  accountOf,
  accountOfEnded,
  accountsPassingSlots,
  type EndedAttempt,
  separateUnsent,
  settlementDecider,
  settlementPieces,
} from './settling.ts';
import { type Heartbeat, Trust } from './trust.ts';

export type { EngineEvent, EngineOptions, UpkeepTask } from './engine-options.ts';

/**
 * How long a drain waits for a store that does not respond. The next start finds the attempts that are still unsettled.
 */
const LAST_SETTLING_MS_MAX = 5_000;
const LAST_BEAT_MS_MAX = 1_000;

export class Engine {
  readonly #options: EngineOptions;
  readonly #inFlight: InFlight;
  readonly #deliveryOf: ReturnType<typeof deliveryMaker>;
  readonly #decide: ReturnType<typeof settlementDecider>;
  readonly #recovery: CrashRecovery;
  readonly #trust: Trust;
  readonly #cancels: Cancels;
  readonly #sendPermit: SendPermit | null;
  readonly #heart: Loop | null;
  readonly #claims: Loop;
  readonly #schedules: Loop;
  readonly #upkeep: readonly Loop[];
  /** The upkeep tasks that also wait for work to become due by the time of the service. */
  readonly #paced: readonly Loop[];
  /** The number of trust lapses after which unsent claims have been released. */
  #lapsesSeen = 0;
  #isStopping = false;
  #isOver = false;
  readonly #arrived: Arrivals;
  /** Whether a `claimDue` call is under way. */
  #isLooking = false;
  #isOfferingAgain = false;
  /** When the next schedule is due, as far as is known. */
  #scheduleAt = Number.NEGATIVE_INFINITY;
  #whenIdle: (() => void)[] = [];

  constructor(options: EngineOptions) {
    const { heartbeat, world, store, sender } = options;
    this.#options = options;
    this.#inFlight = new InFlight(options.limits);
    this.#deliveryOf = deliveryMaker(options.style);
    this.#decide = settlementDecider(options, (error) => this.#trouble('settling', error));
    this.#trust = new Trust(world.clock, heartbeat?.goodForMs ?? Number.POSITIVE_INFINITY);
    if (!heartbeat) this.#trust.renew(world.clock.monotonicMs());
    this.#heart = heartbeat && this.#loop('heartbeat', () => this.#beat(heartbeat));
    this.#claims = this.#loop('claiming', () => this.#claimDue(), Number.POSITIVE_INFINITY);
    this.#schedules = this.#loop('schedules', () => this.#fireSchedules(), Number.POSITIVE_INFINITY);
    this.#recovery = new CrashRecovery({
      store,
      clock: world.clock,
      concurrency: options.limits.concurrency,
      inFlight: () => this.#inFlight.count,
      settle: (ended) => this.#settle(ended, []),
      wake: () => this.#claims.wake(),
    });
    this.#arrived = new Arrivals({
      clock: world.clock,
      mayStart: () => this.#mayStart,
      start: (claims) => this.#start(claims),
      giveBack: (claims) => void this.#giveBack(claims).catch((error) => this.#trouble('releasing', error)),
    });
    const tasks = options.upkeep(this.#recovery, (lease) => this.#inFlight.get(lease) !== undefined);
    this.#upkeep = tasks.map((task) => this.#loop(task.name, () => task.run(world.clock.now()), task.dueBelowMs));
    for (const [index, task] of tasks.entries()) task.onStart?.(() => this.#upkeep[index]!.wake());
    this.#paced = this.#upkeep.filter((_loop, index) => tasks[index]!.dueBelowMs !== undefined);
    this.#sendPermit =
      heartbeat && new SendPermit(world.clock, sender, () => this.#inFlight.count > 0 && !this.#isOver);
    this.#cancels = new Cancels({ store, drop: (leases) => this.#drop(leases) });
    options.parking?.onChange(() => this.#wake());
    store.onCancel(() => this.#cancels.look());
    store.onWork(() => this.#wake());
    store.onClaims((claims) => this.#receive(claims));
    // #settleReports reports its errors itself.
    sender.onReports((reports) => void this.#settleReports(reports).catch(() => {}));
    sender.onWritten((leases) => this.#letGo(leases));
  }

  get attemptsInFlight(): number {
    return this.#inFlight.count;
  }

  /** How much of the shared pools is used, by pool name in the table of budgets. A full pool makes messages wait. */
  get pools() {
    return this.#inFlight.pools;
  }

  get recovery(): Pick<CrashRecovery, 'held' | 'isOver'> {
    return this.#recovery;
  }

  /** True when every loop waits for the clock or for work, and every claim has started. */
  get isAsleep(): boolean {
    return this.#arrived.isEmpty && this.#loops().every((loop) => loop.isAsleep);
  }

  /** Whether there is nothing to do until time passes, apart from the attempts under way. */
  get isCaughtUp(): boolean {
    return this.#arrived.isEmpty && this.#mayStart && this.#loops().every((loop) => loop.isDone);
  }

  readonly underWay = (): Iterable<Claim> => this.#inFlight.claims();

  /** Makes the upkeep tasks that work by the time of the service look for work that has become due. */
  lookAhead(): void {
    for (const loop of this.#paced) loop.wake();
  }

  start(): void {
    for (const loop of this.#loops()) loop.start();
  }

  /**
   * Claims nothing more, gives running attempts `drainMs` to end, cuts off the rest, and settles all of them.
   * `accepted` must resolve when no more messages are accepted. Returns how many attempts it could not settle because
   * the store did not respond in time.
   */
  async stop(drainMs: number, accepted: Promise<void> = Promise.resolve()): Promise<number> {
    this.#isStopping = true;
    await this.#within(drainMs, this.#drain(accepted));
    await this.#options.sender.close();
    await this.#within(LAST_SETTLING_MS_MAX, this.#drain(accepted));
    // Heartbeats end only now: without them another node would take over the attempts. The last heartbeat stores the
    // time, from which the next start continues.
    const last = this.#heart?.stop().then(async () => void (await this.#options.heartbeat!.run()));
    if (last) await this.#within(LAST_BEAT_MS_MAX, last).catch((error) => this.#trouble('heartbeat', error));
    this.#isOver = true;
    return this.#inFlight.count;
  }

  #loop(during: string, run: () => Promise<number>, dueBelowMs = 0): Loop {
    const { dueTimers, world } = this.#options;
    const waits = dueTimers && waitTimers(world.clock, dueTimers, dueBelowMs);
    return new Loop(world.clock, run, (error) => this.#trouble(during, error), waits);
  }

  #loops(): Loop[] {
    return [...(this.#heart ? [this.#heart] : []), this.#claims, this.#schedules, ...this.#upkeep];
  }

  async #beat(heartbeat: Heartbeat): Promise<number> {
    const { clock } = this.#options.world;
    const startedAtMs = clock.monotonicMs();
    const againMs = await heartbeat.run();
    this.#trust.renew(startedAtMs);
    this.#sendPermit?.allowUntil(startedAtMs + heartbeat.wireForMs);
    // A node that cancels our claims notifies us, but the notification may be missed.
    if (this.#inFlight.count > 0) void this.#cancels.look().catch((error) => this.#trouble('cancelling', error));
    // Wakes the loop even if trust was never lost: a notification of new work may have been missed.
    this.#claims.wake();
    return Math.max(0, startedAtMs + againMs - clock.monotonicMs());
  }

  /** True if no other node can have taken over our claims since the store last responded. */
  get #isTrusted(): boolean {
    return this.#trust.isGood && this.#trust.lapses === this.#lapsesSeen;
  }

  /** Whether this node's time is off. While it is, nothing starts. */
  get #isTimeOff(): boolean {
    return this.#options.heartbeat?.isTimeRight() === false;
  }

  get #mayStart(): boolean {
    return !this.#isStopping && this.#isTrusted && !this.#isTimeOff;
  }

  /** Claims due messages. Returns in how many milliseconds more messages are due. */
  async #claimDue(): Promise<number> {
    const { lapses } = this.#trust;
    const isOff = this.#isTimeOff;
    if (isOff || lapses !== this.#lapsesSeen) this.#withdraw();
    this.#lapsesSeen = lapses;
    // The next heartbeat wakes this loop, and so do the parked hosts when they are known.
    if (isOff || !this.#isTrusted || this.#options.parking?.isKnown === false) return Number.POSITIVE_INFINITY;
    this.#recovery.mayStartAlone();
    this.#offer();
    this.#isLooking = true;
    const { store, world } = this.#options;
    const { nextDueAt, nextScheduleAt } = await store.claimDue(world.clock.now()).finally(() => {
      this.#isLooking = false;
    });
    this.#noteSchedule(nextScheduleAt);
    if (!this.#isTrusted) return 0;
    if (this.#recovery.isClosed && (await this.#startAlone())) return 0;
    const waitMs = this.#recovery.changesInMs();
    // Without a free slot nothing can start before a settlement, and a settlement wakes this loop.
    if (nextDueAt === null || this.#freeSlots().slots <= 0) return waitMs;
    return Math.min(waitMs, Math.max(0, nextDueAt - world.clock.now()));
  }

  #freeSlots(): ClaimLimits {
    const free = this.#recovery.limit(this.#inFlight.free());
    const { parking } = this.#options;
    return parking ? { ...free, parked: parking.rooms() } : free;
  }

  #offer(): void {
    this.#options.store.offer(this.#freeSlots());
  }

  /** Withdraws the offer and releases claims that have not started: another node may own these claims by now. */
  #withdraw(): void {
    this.#options.store.offer(NO_SLOTS);
    this.#arrived.giveAllBack();
  }

  /** Takes slots for the claims at once. The claims start together with the other claims of this turn. */
  #receive(claims: readonly Claim[]): void {
    for (const claim of claims) this.#takeOn(claim);
    this.#arrived.add(claims);
  }

  #takeOn(claim: Claim): void {
    this.#inFlight.add(claim);
    this.#options.parking?.started(claim);
  }

  #start(claims: readonly Claim[]): void {
    if (!isAnyLate(claims, this.#options.world.clock.now())) this.#send(claims);
    else this.#startOld(claims).catch((error) => this.#trouble('claiming', error));
  }

  /**
   * Handles claims that took long to get here: the database is slow, or this process was paused. Their messages may
   * have been cancelled meanwhile.
   */
  async #startOld(claims: readonly Claim[]): Promise<void> {
    let isKnown = false;
    try {
      await this.#cancels.look();
      isKnown = this.#isTrusted;
    } finally {
      if (isKnown) this.#send(claims);
      else await this.#giveBack(claims);
    }
  }

  /** Messages that were cancelled or have expired since they were claimed are not sent. */
  #send(claims: readonly Claim[]): void {
    const live = withoutExpired(this.#cancels.without(claims), this.#options.world.clock.now());
    const gone = live.length === claims.length ? [] : claims.filter((claim) => !live.includes(claim));
    if (gone.length > 0) this.#giveBack(gone).catch((error) => this.#trouble('releasing', error));
    this.#sendPermit?.start();
    if (live.length === 0) return;
    const { sender, turns } = this.#options;
    const sinceMs = turns.nowMs();
    sender.send(live.map(this.#deliveryOf));
    turns.chargeEach(live, accountOf, sinceMs);
  }

  async #drop(leases: readonly string[]): Promise<void> {
    await this.#giveBack(this.#options.sender.drop(leases).flatMap((lease) => this.#inFlight.get(lease) ?? []));
  }

  /**
   * Releases claims that have not started. Their slots are freed even if the release fails. A message that has expired
   * is then ended by an upkeep task.
   */
  async #giveBack(claims: readonly Claim[]): Promise<void> {
    if (claims.length === 0) return;
    try {
      await this.#release(claims);
    } finally {
      this.#leave(claims, 0);
      this.#noteRoom();
      if (withoutExpired(claims, this.#options.world.clock.now()).length < claims.length) this.lookAhead();
    }
  }

  /** Starts the message that must start alone, if it may. Returns whether other messages may start at once. */
  async #startAlone(): Promise<boolean> {
    const claim = this.#recovery.mayStartAlone() ? await this.#recovery.claimAlone() : null;
    if (claim && this.#isTrusted) {
      this.#takeOn(claim);
      this.#start([claim]);
    } else if (claim) await this.#release([claim]);
    return !this.#recovery.isClosed;
  }

  #wake(): void {
    this.#claims.wake();
    if (!this.#isLooking || this.#isOfferingAgain) return;
    // A `claimDue` call may take long. Messages accepted meanwhile can use the slots that became free.
    this.#isOfferingAgain = true;
    this.#options.world.clock.soon(() => {
      this.#isOfferingAgain = false;
      if (this.#isLooking && this.#mayStart) this.#offer();
    });
  }

  #noteSchedule(nextAt: number | null): void {
    if (nextAt === null || (nextAt >= this.#scheduleAt && nextAt > this.#options.world.clock.wallNow())) return;
    this.#scheduleAt = Math.min(this.#scheduleAt, nextAt);
    this.#schedules.wake();
  }

  async #fireSchedules(): Promise<number> {
    const { clock } = this.#options.world;
    const now = clock.wallNow();
    if (this.#scheduleAt > now) return this.#scheduleAt - now;
    // Reset before the call, so that times noted during the call are kept.
    this.#scheduleAt = Number.POSITIVE_INFINITY;
    const nextAt = await this.#options.fireSchedules(now).catch((error) => {
      this.#scheduleAt = Number.NEGATIVE_INFINITY;
      throw error;
    });
    this.#scheduleAt = Math.min(this.#scheduleAt, nextAt ?? Number.POSITIVE_INFINITY);
    return Math.max(0, this.#scheduleAt - clock.wallNow());
  }

  /** The bodies of these attempts are written, so messages that wait for bytes may have room. */
  #letGo(leases: readonly string[]): void {
    let isRoom = false;
    for (const lease of leases) if (this.#inFlight.wrote(lease)) isRoom = true;
    if (isRoom) this.#wake();
  }

  async #settleReports(reports: readonly SendReport[]): Promise<void> {
    const { ended, unsent } = separateUnsent(reports, (lease) => this.#inFlight.get(lease));
    try {
      if (unsent.length === 0) await this.#settleSome(ended);
      else await Promise.all([this.#settleSome(ended), this.#giveBack(unsent)]);
    } finally {
      this.#noteRoom();
    }
  }

  #noteRoom(): void {
    if (this.#inFlight.count === 0) for (const resolve of this.#whenIdle.splice(0)) resolve();
    this.#wake();
  }

  #trouble(during: string, error: unknown): void {
    this.#options.observe({ kind: 'trouble', during, error });
  }

  /** `known`: how many of the claims ended with a known result. */
  #leave(claims: readonly Claim[], known: number): void {
    for (const claim of claims) {
      this.#inFlight.remove(claim);
      this.#options.parking?.ended(claim);
    }
    this.#recovery.noteEnds(claims, known);
  }

  async #settleSome(ended: readonly EndedAttempt[]): Promise<void> {
    for (const piece of settlementPieces(ended)) {
      const known = piece.filter(([, { outcome }]) => outcome.kind !== 'interrupted').length;
      const claims = piece.map(([claim]) => claim);
      const isClosed = !this.#mayStart || this.#recovery.isClosed;
      const takesOver = isClosed ? [] : accountsPassingSlots(claims, (claim) => this.#mayPassOn(claim));
      await this.#settle(piece, takesOver).finally(() => this.#leave(claims, known));
    }
  }

  /** The next message of the queue may be one that must not be sent to a parked host. */
  #mayPassOn(claim: Claim): boolean {
    return this.#inFlight.mayPassOn(claim) && this.#options.parking?.isParked(claim.message) !== true;
  }

  /**
   * `takesOver`: the accounts whose messages were sent from here and pass their slots to the next message of their
   * queue.
   */
  async #settle(ended: readonly EndedAttempt[], takesOver: readonly string[]): Promise<void> {
    if (ended.length === 0) return;
    const { store, world, observe, turns } = this.#options;
    const sinceMs = turns.nowMs();
    const settlements = this.#decide(ended);
    const canWait = ended.every(([claim], index) => !isAwaited(claim, settlements[index]!));
    const settling = this.#untilSuccess('settling', () =>
      store.settle(settlements, world.clock.now(), { takesOver, canWait }),
    );
    turns.chargeEach(ended, accountOfEnded, sinceMs);
    const results = await settling;
    const settledMs = turns.nowMs();
    results.forEach((result, index) => {
      const [claim, end] = ended[index]!;
      observe({ kind: 'attempt', claim, outcome: end.outcome, settlement: settlements[index]!, result });
    });
    turns.chargeEach(ended, accountOfEnded, settledMs);
  }

  /** Resolves when the loops are over, unsent claims are released, and every attempt is settled. */
  async #drain(accepted: Promise<void>): Promise<void> {
    this.#withdraw();
    await Promise.all([this.#claims, this.#schedules, ...this.#upkeep].map((loop) => loop.stop()));
    await accepted;
    // This includes claims that are leased to us meanwhile: they are in flight until they are released.
    if (this.#inFlight.count > 0) await new Promise<void>((resolve) => this.#whenIdle.push(resolve));
  }

  async #release(claims: readonly Claim[]): Promise<void> {
    if (claims.length === 0) return;
    const { store, world } = this.#options;
    const leases = claims.map((claim) => claim.lease);
    await this.#untilSuccess('releasing', () => store.release(leases, world.clock.now()));
  }

  /** Retries until the store responds, so that a known result is not lost while the store is unavailable. */
  #untilSuccess<T>(during: string, ask: () => Promise<T>): Promise<T> {
    return untilSuccess(this.#options.world.clock, ask, (error) => {
      this.#trouble(during, error);
      // The node has stopped. Another node, or the next start, finds the attempts that it left.
      if (this.#isOver) throw error;
    });
  }

  #within(ms: number, work: Promise<void>): Promise<void> {
    return withinMs(this.#options.world.clock, ms, work);
  }
}
