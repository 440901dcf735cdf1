// The service under test: several nodes over one database and one network, what can be done to them, and a record of
// all of it.

import type { EngineEvent } from '../../src/delivery/engine/engine.ts';
import type { EngineLimits } from '../../src/delivery/engine/in-flight.ts';
import type { Delivery } from '../../src/delivery/engine/sender.ts';
import { DEFAULT_TIERS, type Tiers } from '../../src/rules/limits/tier.ts';
import { CLOCK_STEP_MS_MAX } from '../../src/rules/time/clock.ts';
import { StoreUnavailable } from '../../src/store/ports/store.ts';
import { storedTime } from '../../src/store/sqlite/deliveries/time.ts';
import { openDatabase } from '../../src/store/sqlite/files/open.ts';
import type { Database } from '../../src/store/sqlite/thread/database.ts';
import { type Command, type Reply, runBatch, type Verbs } from '../../src/store/sqlite/thread/verbs.ts';
import { NODE_TTL_MS } from '../../src/upkeep/leases.ts';
import type { Arrival, Fault } from '../checker/history.ts';
import { Auditor } from './auditor.ts';
import { Chance } from './chance.ts';
import { type Coverage, type Happening, note } from './coverage.ts';
import { hashOf } from './draft.ts';
import type { Cast } from './extras.ts';
import { Model } from './model.ts';
import { type Fate, headerOf, SimulatedNetwork } from './network.ts';
import { HEADER_PREFIX, type NodeWorld, SimulatedNode } from './node.ts';
import { Promptness } from './promptness.ts';
import { StepLog } from './step-log.ts';
import { Ticks } from './ticks.ts';
import { Timeline } from './timeline.ts';
import { Workers } from './workers.ts';

/** Longer than a run, and shorter than the clock may be ahead for a while. */
const RETENTION_MS = 7 * 86_400_000;
const TEN_DAYS_MS = 10 * 86_400_000;
const AWAY_MS = 40_000;
/** Whole milliseconds, and the sums of their parts. */
const CLOCKS_DIFFER_MS = 5;
const TIERS: Tiers = {
  free: { ...DEFAULT_TIERS.free, retentionMs: RETENTION_MS },
  paid: { ...DEFAULT_TIERS.paid, retentionMs: RETENTION_MS },
};

/** Three crashes until it starts alone, three alone, and some that met it beside others all the same. */
const POISONED_MAX = 15;

/** As in the executor that stores share: after these, others may find something to claim. */
const VERBS_MAKING_WORK: ReadonlySet<string> = new Set([
  'accept',
  'settle',
  'release',
  'cancel',
  'changeMessage',
  'saveQueue',
  'releaseHeld',
]);

/** A tick makes work only if it makes a message. */
function hasTicked(verb: Command['verb'], reply: Reply): boolean {
  if (verb !== 'fireSchedules' || !('value' in reply)) return false;
  return (reply.value as { readonly dueAt: number | null }).dueAt !== null;
}

export class Cluster {
  readonly timeline = new Timeline();
  readonly database: Database = openDatabase(':memory:');
  readonly tiers = TIERS;
  readonly limits: EngineLimits;
  readonly model: Model;
  readonly network: SimulatedNetwork;
  readonly nodes = new Set<SimulatedNode>();
  readonly diedAtMs = new Map<string, number>();
  readonly arrivals: Arrival[] = [];
  readonly faults: Fault[] = [];
  readonly coverage: Coverage = new Map();
  readonly violations: string[] = [];
  readonly trace: string[] = [];
  /** When the clock was last set. */
  jumpedAtMs = Number.NEGATIVE_INFINITY;
  /** When a node last kept the time in the store. */
  keptAtMs = 0;
  /** How far apart were what two nodes took for the time, at most. */
  clocksApartMs = 0;
  /** The longest time for which a node was frozen. */
  frozenMsMax = 0;
  /** Called when a node starts attempts. */
  onSend: (node: SimulatedNode, deliveries: readonly Delivery[]) => void = () => {};
  /** Called when the first byte of an attempt is written. */
  onStart: (delivery: Delivery) => void = () => {};
  readonly workers: Workers;
  readonly log = new StepLog(this.database, {
    nowMs: () => this.timeline.nowMs,
    peaceMs: (id) => this.#peaceMs(id),
    note: (happening) => this.note(happening),
    say: (line) => this.say(line),
  });
  readonly #auditor: Auditor;
  readonly #promptness: Promptness;
  readonly #ticks: Ticks;
  readonly #timeOf = new WeakMap<SimulatedNode, number>();
  /** The latest that any node ever took for the time: what was due once stays so. */
  #latestNow = 0;
  /** How far the nodes were ahead of the timeline after the last event. */
  #aheadMs = Number.POSITIVE_INFINITY;
  #isBehind = false;
  readonly #nodeWorld: NodeWorld;
  /** The latest time that a node of the process has used. */
  #latestAt = Number.NEGATIVE_INFINITY;
  readonly #verbs = new Map<string, Verbs>();
  readonly #names = new Map<string, string>();
  readonly #poisoned = new Map<string, number>();
  /** The lapse each node is in, if it is: its claims may be taken by others. */
  readonly #lapses = new Map<string, Set<string>>();

  constructor(seed: number, cast: Cast, limits: EngineLimits) {
    const report = (violation: string) => this.report(violation);
    this.limits = limits;
    this.model = new Model(
      limits,
      () => Math.max(this.#latestNow, ...this.#running().map(({ time }) => time.now())),
      report,
      (happening) => this.note(happening),
    );
    this.#auditor = new Auditor(this.database, this.model, this.log, report, (line) => this.say(line), {
      ticked: (scheduleId) => this.#ticks.tick(scheduleId, this.timeline.nowMs),
      scheduled: (scheduleId, everyMs) => this.#ticks.run(scheduleId, everyMs, this.timeline.nowMs),
      kept: () => {
        this.keptAtMs = this.timeline.nowMs;
      },
    });
    this.#promptness = new Promptness(limits, this.model, report);
    this.#ticks = new Ticks(report);
    const log = {
      fate: (fate: Fate) => this.note(`fate ${fate}`),
      started: (delivery: Delivery) => this.onStart(delivery),
      arrived: (delivery: Delivery, writtenAt: number) => this.#arrived(delivery, writtenAt),
      late: () => this.note('arrival of a request that was given up'),
    };
    this.network = new SimulatedNetwork(this.timeline, new Chance(seed * 4 + 1), HEADER_PREFIX, log);
    this.workers = new Workers({
      timeline: this.timeline,
      // Dice of their own, unlike those of any other seed.
      chance: new Chance(-1 - seed),
      isHealthy: () => this.network.isHealthy,
      serving: () => [...this.nodes].filter((node) => node.isServing),
      note: (happening) => this.note(happening),
      say: (line) => this.say(line),
    });
    this.#nodeWorld = {
      timeline: this.timeline,
      chance: new Chance(seed * 4 + 2),
      network: this.network,
      limits,
      time: {
        atLeast: (at) => {
          this.#latestAt = Math.max(this.#latestAt, at);
          return this.#latestAt;
        },
      },
      tiers: TIERS,
      parks: cast === 'full',
      awaitsAcks: cast === 'full',
      storedTime: () => storedTime(this.database),
      onClockChange: (node, change) => {
        this.note(change.kind === 'doubted' ? 'clock not believed' : 'clock believed again');
        const by = change.kind === 'doubted' ? change.aheadMs : change.movedMs;
        this.say(`${this.nameOf(node)}: the clock is ${change.kind}, ${by} ms`);
      },
      runUnheard: (node, commands) => {
        this.note('answer of the store lost');
        this.say(`${this.nameOf(node)} does not hear an answer`);
        this.log.leasedUnknown(() => this.model.leasedUnknown(node.id, () => this.#runBatch(node, commands)));
      },
      runBatch: (node, commands) => this.#runBatch(node, commands),
      observe: (node, event) => this.#observe(node, event),
      onSend: (node, deliveries) => {
        this.say(`${this.nameOf(node)} sends ${deliveries.map(({ messageId }) => messageId).join(', ')}`);
        this.#checkStanding(node, deliveries);
        this.onSend(node, deliveries);
      },
      onCutOff: (_node, inFlight) => {
        if (inFlight.length === 0) return;
        this.note('stop that cuts attempts off');
        this.faults.push({ kind: 'stop', at: this.timeline.nowMs, inFlight });
      },
    };
  }

  report(violation: string): void {
    this.violations.push(`at ${this.timeline.nowMs}: ${violation}`);
    this.say(`VIOLATION ${violation}`);
  }

  note(happening: Happening): void {
    note(this.coverage, happening);
  }

  say(line: string): void {
    this.trace.push(`${this.timeline.nowMs} ${line}`);
  }

  nameOf(node: SimulatedNode): string {
    return this.#names.get(node.id)!;
  }

  start(): SimulatedNode {
    // As a process does that finds the data directory free: nobody else can be alive.
    const isAlone = this.nodes.size === 0;
    if (isAlone) {
      this.database.run('DELETE FROM nodes');
      this.#latestAt = Number.NEGATIVE_INFINITY;
    }
    const node = new SimulatedNode(this.#nodeWorld, isAlone);
    this.nodes.add(node);
    this.#names.set(node.id, `n${this.#names.size + 1}`);
    this.#verbs.set(node.id, this.watchedVerbs(node.id));
    this.say(`${this.nameOf(node)} starts as ${node.id}${isAlone ? ', alone' : ''}`);
    return node;
  }

  readonly watchedVerbs = (node: string): Verbs => this.#auditor.watchedVerbs(node);

  crash(node: SimulatedNode): void {
    const before = this.model.sums.total;
    node.crash();
    if (this.model.sums.total > before) this.note('crash after the commit, before the answer');
    const inFlight = this.model.claimedBy(node.id).map(({ id }) => id);
    this.note(inFlight.length > 0 ? 'crash with attempts in flight' : 'crash');
    this.say(`${this.nameOf(node)} crashes with ${inFlight.join(', ')}`);
    this.end(node, inFlight);
    if (this.nodes.size === 0) this.note('crash of every node');
  }

  /** The process is gone, one way or another, and with it what it had under way. */
  end(node: SimulatedNode, inFlight: readonly string[]): void {
    if (inFlight.length > 0) this.faults.push({ kind: 'crash', at: this.timeline.nowMs, inFlight });
    node.clock.kill();
    this.nodes.delete(node);
    this.#lapses.delete(node.id);
    this.diedAtMs.set(node.id, this.timeline.nowMs);
  }

  /** A message has brought down a node. It may do so a few times until it is held, and not for ever. */
  notePoisoned(messageId: string): void {
    const entry = this.model.entries.get(messageId);
    const times = (this.#poisoned.get(messageId) ?? 0) + 1;
    this.#poisoned.set(messageId, times);
    if (entry?.state === 'held') this.report(`${messageId} is held and was sent`);
    if (times > POISONED_MAX) this.report(`${messageId} has brought down ${times} nodes and is still not held`);
  }

  jump(ms: number): void {
    this.note(ms > 0 ? 'clock set forward' : 'clock set back');
    this.jumpedAtMs = this.timeline.nowMs;
    if (ms < 0) this.log.setBack();
    this.timeline.clock.jump(ms);
    this.say(`the clock is set by ${ms} ms`);
  }

  /** Ten days ahead, and back after less time than it takes to be believed. */
  jumpAway(): void {
    this.note('clock ten days ahead for a while');
    this.jump(TEN_DAYS_MS);
    this.timeline.after(AWAY_MS, () => this.jump(-TEN_DAYS_MS));
  }

  #peaceMs(id: string): number {
    const node = [...this.nodes].find((each) => each.id === id);
    return node?.isServing && !node.isCutOff ? this.timeline.nowMs - node.undisturbedSinceMs : 0;
  }

  #running(): SimulatedNode[] {
    return [...this.nodes].filter(({ clock }) => clock.state === 'running');
  }

  /** What a node that serves takes for the wall clock. */
  wallNow(): number {
    return this.#running()[0]?.time.wallNow() ?? this.timeline.clock.now();
  }

  /** What a node takes for the time never goes back, and goes ahead only when the wall clock does and is believed. */
  #watchTime(): void {
    const running = this.#running();
    if (running.length === 0) return;
    for (const node of running) {
      const now = node.time.now();
      const before = this.#timeOf.get(node) ?? this.#writtenTime();
      if (now < before) this.report(`the time of ${this.nameOf(node)} went back by ${before - now} ms`);
      this.#timeOf.set(node, now);
    }
    const times = running.map((node) => this.#timeOf.get(node)!);
    const now = Math.max(...times);
    this.clocksApartMs = Math.max(this.clocksApartMs, now - Math.min(...times));
    this.#latestNow = Math.max(this.#latestNow, now);
    const aheadMs = now - this.timeline.nowMs;
    // Or a start does not know how long nothing ran.
    const isBehind = now + CLOCKS_DIFFER_MS < this.#latestNow;
    if (aheadMs > this.#aheadMs + CLOCKS_DIFFER_MS || (isBehind && !this.#isBehind)) this.#noteJump();
    this.#isBehind = isBehind;
    this.#aheadMs = aheadMs;
  }

  /** What a node that starts knows at least. A message far newer than the last sign of life does not count. */
  #writtenTime(): number {
    const { kept, newestAt } = storedTime(this.database);
    const orderAt = kept?.orderAt ?? 0;
    return newestAt !== null && newestAt <= orderAt + CLOCK_STEP_MS_MAX ? Math.max(orderAt, newestAt) : orderAt;
  }

  #noteJump(): void {
    const open = [...this.model.entries.values()].filter(({ state }) => state === 'pending' || state === 'claimed');
    this.faults.push({ kind: 'clockJump', at: this.timeline.nowMs, inFlight: open.map(({ id }) => id) });
  }

  /** After every event. */
  check(): void {
    this.#watchTime();
    this.#ticks.check(this.nodes, this.timeline.nowMs);
    this.#auditor.check();
    this.#noteLapses();
    this.#checkTakeovers();
    this.#promptness.check(this.database, this.nodes, this.timeline.nowMs, this.#latestNow);
  }

  #runBatch(node: SimulatedNode, commands: readonly Command[]): readonly Reply[] {
    const replies = runBatch(this.database, this.#verbs.get(node.id)!, commands);
    replies.forEach((reply, index) => {
      if ('error' in reply) this.report(`${commands[index]!.verb} failed in the store: ${reply.error}`);
    });
    if (commands.some(({ verb }, index) => VERBS_MAKING_WORK.has(verb) || hasTicked(verb, replies[index]!))) {
      const hasCancelled = commands.some(({ verb }) => verb === 'cancel');
      for (const other of this.nodes) if (other !== node) other.hearOfOthers(hasCancelled);
    }
    return replies;
  }

  #observe(node: SimulatedNode, event: EngineEvent): void {
    if (event.kind === 'attempt') return;
    if (event.kind === 'strays') {
      this.note('claims given back that a node did not know of');
      this.say(`${this.nameOf(node)} gives back ${event.count} it did not know of`);
      return;
    }
    this.say(`${this.nameOf(node)} has trouble ${event.during}: ${(event.error as Error).message}`);
    if (!(event.error instanceof StoreUnavailable)) this.report(`${event.during}: ${event.error}`);
  }

  #arrived(delivery: Delivery, writtenAt: number): void {
    const own = (name: string) => headerOf(delivery.headers, HEADER_PREFIX + name) ?? '';
    const retried = Number(own('Retried'));
    const { url, method, headers } = delivery;
    const at = this.timeline.nowMs;
    this.arrivals.push({
      messageId: own('Message-Id'),
      retried,
      url,
      method,
      headers,
      bodyHash: hashOf(delivery.body),
      at,
      writtenAt,
    });
    this.say(`${delivery.messageId} arrives at ${url}, retried ${retried}`);
    this.workers.arrived(delivery);
  }

  /** P8: a node whose word has run out, so that others may have its claims, starts nothing. */
  #checkStanding(node: SimulatedNode, deliveries: readonly Delivery[]): void {
    const aliveUntilMs = this.model.aliveUntilMs.get(node.id) ?? 0;
    if (aliveUntilMs > this.timeline.nowMs) return;
    this.report(
      `${this.nameOf(node)} sends ${deliveries[0]!.messageId} ${this.timeline.nowMs - aliveUntilMs} ms after it was taken for dead`,
    );
  }

  /** While a node is not known to be alive, what it holds may be repeated by others: that is a fault of its own. */
  #noteLapses(): void {
    for (const node of this.nodes) {
      const aliveUntilMs = this.model.aliveUntilMs.get(node.id);
      if (aliveUntilMs === undefined || aliveUntilMs > this.timeline.nowMs) {
        this.#lapses.delete(node.id);
        continue;
      }
      let lapse = this.#lapses.get(node.id);
      if (!lapse) {
        lapse = new Set();
        this.#lapses.set(node.id, lapse);
        this.note('node taken for dead while it lives');
        const inFlight = lapse;
        this.faults.push({
          kind: 'freeze',
          at: this.timeline.nowMs,
          get inFlight() {
            return [...inFlight];
          },
        });
      }
      for (const { id } of this.model.claimedBy(node.id)) lapse.add(id);
    }
  }

  /** P7: claims of a dead node are taken over in time, if there is a node that was left in peace. */
  #checkTakeovers(): void {
    for (const entry of this.model.claimed) {
      const diedAtMs = this.diedAtMs.get(entry.node ?? '');
      if (diedAtMs === undefined) continue;
      for (const node of this.nodes) {
        if (node.clock.state !== 'running' || node.isCutOff || node.isStopping) continue;
        const waitedMs = this.timeline.nowMs - Math.max(diedAtMs, node.undisturbedSinceMs);
        const allowedMs = node.isAlone && node.startedAtMs >= diedAtMs ? 1000 : NODE_TTL_MS + 6000;
        if (waitedMs > allowedMs) {
          this.report(`${entry.id} is still held by a node that died ${this.timeline.nowMs - diedAtMs} ms ago`);
          this.diedAtMs.delete(entry.node!);
        }
      }
    }
  }
}
