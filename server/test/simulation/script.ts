// Who does what in a run, by seeded dice: publishes, cancels, pauses, and everything that can go wrong. And the end of
// all trouble, after which every message must come to its own end.

import type { Delivery } from '../../src/delivery/engine/sender.ts';
import type { Chance } from './chance.ts';
import type { Client } from './client.ts';
import type { Cluster } from './cluster.ts';
import { Crowd } from './crowd.ts';
import { type Draft, type DraftAccount, type Drafter, HOSTS, POISON_HOST, QUEUES } from './draft.ts';
import type { Extras } from './extras.ts';
import { LineActions } from './line-actions.ts';
import type { Entry } from './model.ts';
import type { SimulatedNode } from './node.ts';
import { Outages } from './outages.ts';
import { ACCOUNTS } from './prepare.ts';
import { ScheduleActions } from './schedule-actions.ts';
import { Trouble } from './trouble.ts';

/** How often, and what it does with one of the nodes that serve. */
type Action = readonly [weight: number, act: (node: SimulatedNode) => void];

const TROUBLES: ReadonlySet<string> = new Set([
  'crash',
  'crashAll',
  'storm',
  'freeze',
  'cutOff',
  'stop',
  'jump',
  'jumpAway',
]);

const JUMPS_MS = [-3_600_000, -600_000, -60_000, -3000, -2000, 3000, 60_000, 600_000];

/** Between two actions. In a long pause nothing happens that could wake an engine by accident. */
const PAUSES_MS = { none: [0, 20], short: [20, 2500], long: [15_000, 40_000] } as const;

/** From sending it to the crash: sooner than others start beside one that starts alone. */
const POISON_MS_MAX = 1500;

export class Script {
  isOver = false;
  readonly #cluster: Cluster;
  readonly #client: Client;
  readonly #chance: Chance;
  readonly #drafter: Drafter;
  /** Null in a plain run. */
  readonly #extras: Extras | null;
  readonly #lines: LineActions;
  readonly #schedules: ScheduleActions;
  readonly #crowd: Crowd;
  readonly #outages: Outages;
  readonly #trouble: Trouble;
  /** Queues that are paused, or may be: nobody knows while there is no answer. */
  readonly #paused = new Map<string, readonly [accountId: string, name: string]>();
  readonly #actions: Readonly<Record<string, Action>>;
  #actionsLeft: number;
  #hasPoison = false;

  constructor(cluster: Cluster, client: Client, chance: Chance, drafter: Drafter, extras: Extras | null) {
    this.#cluster = cluster;
    this.#client = client;
    this.#chance = chance;
    this.#drafter = drafter;
    this.#extras = extras;
    this.#lines = new LineActions(cluster, chance);
    this.#schedules = new ScheduleActions(cluster, chance);
    this.#crowd = new Crowd(cluster, client, chance, drafter, this.#lines);
    this.#outages = new Outages(cluster, client, chance, drafter);
    this.#trouble = new Trouble(cluster, client, chance, chance.pick([1, 2, 2, 2, 3]));
    this.#actionsLeft = chance.between(20, 80);
    this.#actions = { ...this.#table(), ...(extras && this.#moreActions()) };
  }

  begin(): void {
    this.#trouble.startMissing();
    for (const host of HOSTS) this.#cluster.network.changeMood(host);
    this.#scheduleNext();
  }

  /** Poison kills whoever sends it, a moment later. */
  afterSend(node: SimulatedNode, deliveries: readonly Delivery[]): void {
    const poison = deliveries.find(({ url }) => new URL(url).hostname === POISON_HOST);
    if (!poison || this.#cluster.network.isHealthy) return;
    this.#cluster.timeline.after(this.#chance.between(0, POISON_MS_MAX), () => {
      if (this.#cluster.network.isHealthy || !this.#cluster.nodes.has(node)) return;
      this.#cluster.note('crash by poison');
      this.#cluster.notePoisoned(poison.messageId);
      this.#trouble.crash(node);
    });
  }

  afterEvent(): void {
    this.#trouble.afterEvent();
  }

  heal(): void {
    this.#cluster.say('everything is healed');
    this.#cluster.network.isHealthy = true;
    this.#trouble.endAll();
    // Not at once: a pause that is still on its way would come after it.
    this.#cluster.timeline.after(1000, () => this.#resumeAll());
    this.#cluster.timeline.after(1000, () => this.#releaseAll());
    if (!this.#extras) return;
    this.#cluster.timeline.after(1000, () => this.#lines.resumeAll());
    this.#cluster.timeline.after(1000, () => this.#outages.resumeAll());
    this.#cluster.timeline.after(1000, () => this.#schedules.pauseAll());
  }

  #table(): Record<string, Action> {
    const trouble = this.#trouble;
    return {
      publish: [56, (node) => this.#publish(node)],
      burst: [4, (node) => this.#burst(node)],
      poison: [1, (node) => this.#poison(node)],
      release: [1, (node) => this.#release(node)],
      dismiss: [1, (node) => this.#dismiss(node)],
      cancel: [12, (node) => this.#cancel(node)],
      change: [14, (node) => this.#change(node)],
      cancelClaimed: [6, (node) => this.#cancelClaimed(node, this.#cluster.model.claimed)],
      cancelFrozen: [3, (node) => this.#cancelFrozen(node)],
      pause: [3, (node) => this.#pause(node)],
      resume: [4, (node) => this.#resume(node)],
      parallelism: [2, (node) => this.#setParallelism(node)],
      mood: [5, () => this.#changeMood()],
      crash: [4, (node) => this.#publishThen(node, () => trouble.crash(node))],
      crashAll: [1, () => [...this.#cluster.nodes].forEach((node) => void trouble.crash(node))],
      storm: [1, () => trouble.crashAgainAndAgain()],
      freeze: [3, (node) => this.#publishThen(node, () => trouble.freeze(node))],
      cutOff: [2, (node) => trouble.cutOff(node)],
      stop: [2, (node) => this.#publishThen(node, () => trouble.stop(node))],
      jump: [2, () => this.#cluster.jump(this.#chance.pick(JUMPS_MS))],
      jumpAway: [1, () => this.#cluster.jumpAway()],
    };
  }

  #moreActions(): Record<string, Action> {
    return {
      crowd: [2, (node) => this.#crowd.come(node)],
      outage: [8, (node) => this.#outages.begin(node)],
      parkByHand: [1, (node) => this.#outages.park(node)],
      resumeByHand: [2, (node) => this.#outages.resume(node)],
      debounce: [10, () => this.#debounce()],
      cancelDebounced: [2, (node) => this.#cancelOf(node, this.#client.debounced)],
      cancelAwaiting: [3, (node) => this.#cancelClaimed(node, this.#cluster.model.awaitingAck())],
      prioritize: [2, (node) => this.#lines.prioritize(node)],
      pin: [2, (node) => this.#lines.pin(node)],
      pauseKey: [2, (node) => this.#lines.pause(node)],
      resumeKey: [3, (node) => this.#lines.resume(node)],
      makeSchedule: [4, (node) => this.#schedules.make(node)],
      changeSchedule: [4, (node) => this.#schedules.change(node)],
      pauseSchedule: [2, (node) => this.#schedules.pauseOrResume(node)],
    };
  }

  #scheduleNext(wasTrouble = false): void {
    const [from, to] = PAUSES_MS[this.#chance.weighted({ none: 40, short: 57, long: wasTrouble ? 25 : 1 })];
    const waitMs = this.#chance.between(from, to);
    this.#cluster.timeline.after(waitMs, () => {
      this.#actionsLeft -= 1;
      if (this.#actionsLeft <= 0) {
        this.isOver = !this.#crowd.isComing && !this.#outages.isUnderWay;
        if (!this.isOver) this.#scheduleNext();
        return;
      }
      const serving = [...this.#cluster.nodes].filter((node) => node.isServing);
      const weights = Object.fromEntries(Object.entries(this.#actions).map(([name, [weight]]) => [name, weight]));
      const name = this.#chance.weighted(weights);
      if (serving.length > 0) this.#actions[name]![1](this.#chance.pick(serving));
      this.#scheduleNext(TROUBLES.has(name));
    });
  }

  #publish(node: SimulatedNode): void {
    const account = this.#chance.pick(ACCOUNTS);
    const isTooMuch = this.#chance.isTrue(2);
    const count = this.#chance.isTrue(15) ? this.#chance.between(2, 4) : 1;
    const drafts = isTooMuch
      ? [this.#drafter.draftTooMuch(account)]
      : Array.from({ length: count }, () => this.#draft(account, count === 1));
    this.#client.publish(node, account, drafts);
  }

  #draft(account: DraftAccount, isAlone: boolean): Draft {
    const draft = this.#drafter.draft(account);
    const adorned = this.#extras?.adorn(draft, account) ?? draft;
    const isOne = isAlone && draft.expected.length === 1;
    return (isOne && this.#extras?.withDeduplication(adorned)) || adorned;
  }

  #poison(node: SimulatedNode): void {
    if (this.#hasPoison) return;
    this.#hasPoison = true;
    const account = this.#chance.pick(ACCOUNTS);
    this.#client.publish(node, account, [this.#drafter.draftPoison(account)]);
  }

  #release(node: SimulatedNode): void {
    for (const { id } of ACCOUNTS) {
      this.#client.releaseHeld(node, id, () => this.#cluster.note('release of what was held'));
    }
  }

  /** Somebody cancels what is held, in place of letting it go on. */
  #dismiss(node: SimulatedNode): void {
    const held = [...this.#cluster.model.entries.values()].filter(({ state }) => state === 'held');
    for (const { id, accountId } of held) this.#client.cancel(node, id, accountId);
  }

  /** As long as something is held: what nobody releases never ends. */
  #releaseAll(): void {
    const node = [...this.#cluster.nodes].find((each) => each.isServing);
    if (node && this.#cluster.model.held > 0) this.#release(node);
    this.#cluster.timeline.after(1000, () => this.#releaseAll());
  }

  #burst(node: SimulatedNode): void {
    for (let i = this.#chance.between(3, 12); i > 0; i -= 1) this.#publish(node);
  }

  /** So soon after that the publish may be anywhere on its way. */
  #publishThen(node: SimulatedNode, what: () => void): void {
    if (this.#chance.isTrue(50)) this.#publish(node);
    this.#cluster.timeline.after(this.#chance.below(8), what);
  }

  /** Several with one key, at any nodes, at the same time or soon one after the other. */
  #debounce(): void {
    const account = this.#chance.pick(ACCOUNTS);
    const [debounce, queueName] = this.#extras!.debounced();
    for (let i = this.#chance.pick([1, 2, 2, 4]); i > 0; i -= 1) {
      this.#cluster.timeline.after(this.#chance.pick([0, 1, 3, 700, 2500]), () => {
        const serving = [...this.#cluster.nodes].filter((each) => each.isServing);
        if (serving.length === 0) return;
        const draft = this.#drafter.draftDebounced(account, debounce, queueName);
        this.#client.publish(this.#chance.pick(serving), account, [draft]);
      });
    }
  }

  #cancel(node: SimulatedNode): void {
    this.#cancelOf(node, this.#client.accepted);
  }

  #cancelOf(node: SimulatedNode, accepted: Client['accepted']): void {
    if (accepted.length === 0) return;
    const { id, accountId } = this.#chance.pick(this.#chance.isTrue(70) ? accepted.slice(-6) : accepted);
    this.#client.cancel(node, id, accountId);
  }

  /** Of the newest, and now and then of any: several at once may change the same. */
  #change(node: SimulatedNode): void {
    const { accepted } = this.#client;
    if (accepted.length === 0) return;
    for (let i = this.#chance.pick([1, 1, 2, 4]); i > 0; i -= 1) {
      const of = this.#chance.pick(this.#chance.isTrue(70) ? accepted.slice(-8) : accepted);
      const asked = this.#drafter.newContent();
      const dueAt = this.#chance.isTrue(40) ? node.time.now() + this.#chance.pick([0, 0, 500, 5000, 20_000]) : null;
      const more = this.#extras?.ofChange(node.time.now());
      this.#client.change(node, of, { ...asked, ...more, dueAt }, this.#extras?.hasIfMatch());
    }
  }

  #cancelClaimed(node: SimulatedNode, claimed: Iterable<Entry>): void {
    const entries = [...claimed];
    // What is held is claimed by nobody, and rarely there.
    this.#dismiss(node);
    if (entries.length === 0) return;
    const { id, accountId } = this.#chance.pick(entries);
    this.#client.cancel(node, id, accountId);
  }

  /** A node freezes with claims in hand, shorter than its lease; others cancel what it holds, before it wakes or about then. */
  #cancelFrozen(by: SimulatedNode): void {
    const holder = [...this.#cluster.nodes].find((node) => node !== by && node.isServing);
    if (!holder) return;
    const ms = this.#chance.pick([300, 1500, 2500, 6000, 12_000]);
    this.#burst(holder);
    this.#cluster.timeline.after(this.#chance.below(60), () => this.#trouble.freeze(holder, ms));
    for (let i = this.#chance.between(2, 6); i > 0; i -= 1) {
      this.#cluster.timeline.after(this.#chance.between(20, ms + 200), () => {
        if (by.isServing) this.#cancelClaimed(by, this.#cluster.model.claimedBy(holder.id));
      });
    }
  }

  #pause(node: SimulatedNode): void {
    const { id } = this.#chance.pick(ACCOUNTS);
    const name = this.#chance.pick(Object.keys(QUEUES));
    this.#paused.set(`${id}/${name}`, [id, name]);
    this.#cluster.say(`pause ${id}/${name}`);
    node.store.saveQueue(id, name, { isPaused: true }, node.time.now()).then(
      () => this.#cluster.note('pause'),
      () => {},
    );
  }

  #resume(node: SimulatedNode): void {
    const paused = [...this.#paused.values()];
    if (paused.length === 0) return;
    const [id, name] = this.#chance.pick(paused);
    this.#cluster.say(`resume ${id}/${name}`);
    node.store.saveQueue(id, name, { isPaused: false }, node.time.now()).then(
      () => this.#cluster.note('resume'),
      () => {},
    );
  }

  #setParallelism(node: SimulatedNode): void {
    const { id } = this.#chance.pick(ACCOUNTS);
    const parallelism = this.#chance.pick([1, 2, 3, 5]);
    this.#cluster.say(`${id}/bulk may have ${parallelism}`);
    if (parallelism < 3) this.#cluster.note('parallelism lowered');
    node.store.saveQueue(id, 'bulk', { parallelism }, node.time.now()).catch(() => {});
  }

  #changeMood(): void {
    const host = this.#chance.pick(HOSTS);
    this.#cluster.say(`${host} is ${this.#cluster.network.changeMood(host)} now`);
  }

  /** Until every queue that was ever paused is surely not. */
  #resumeAll(): void {
    const node = [...this.#cluster.nodes].find((each) => each.isServing);
    for (const [key, [id, name]] of node ? this.#paused : []) {
      node!.store.saveQueue(id, name, { isPaused: false }, node!.time.now()).then(
        () => this.#paused.delete(key),
        () => {},
      );
    }
    if (this.#paused.size > 0) this.#cluster.timeline.after(1000, () => this.#resumeAll());
  }
}
