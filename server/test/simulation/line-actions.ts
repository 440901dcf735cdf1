// What people do to queues and flow keys on the way: they give a queue another priority, pause a key, and pin its limit.

import type { Chance } from './chance.ts';
import type { Cluster } from './cluster.ts';
import { FLOW_KEYS } from './extras.ts';
import type { SimulatedNode } from './node.ts';
import { ACCOUNTS } from './prepare.ts';

const PINS = [1, 2, 3];
const QUEUE_PRIORITIES = [null, 0, 3, 7, 9];

export class LineActions {
  readonly #cluster: Cluster;
  readonly #chance: Chance;
  /** Keys that are paused, or may be. */
  readonly #paused = new Map<string, readonly [accountId: string, key: string]>();

  constructor(cluster: Cluster, chance: Chance) {
    this.#cluster = cluster;
    this.#chance = chance;
  }

  prioritize(node: SimulatedNode): void {
    const { id } = this.#chance.pick(ACCOUNTS);
    const priority = this.#chance.pick(QUEUE_PRIORITIES);
    this.#cluster.say(`${id}/bulk gets the priority ${priority}`);
    this.#do('priority of a queue', node.store.saveQueue(id, 'bulk', { priority }, node.time.now()));
  }

  pin(node: SimulatedNode): void {
    const { id } = this.#chance.pick(ACCOUNTS);
    const key = this.#chance.pick(Object.keys(FLOW_KEYS));
    const parallelism = this.#chance.pick(PINS);
    this.#cluster.say(`${id}/${key} is pinned to ${parallelism}`);
    const pins = { parallelism, rate: 'keep' } as const;
    this.#do('flow key pinned', node.store.pinFlowKey(id, key, pins, node.time.now()));
  }

  pause(node: SimulatedNode): void {
    const { id } = this.#chance.pick(ACCOUNTS);
    this.pauseOne(node, id, this.#chance.pick(Object.keys(FLOW_KEYS)));
  }

  pauseOne(node: SimulatedNode, id: string, key: string): void {
    this.#paused.set(`${id}/${key}`, [id, key]);
    this.#cluster.say(`${id}/${key} is paused`);
    this.#do('flow key paused', node.store.pauseFlowKey(id, key, true, node.time.now()));
  }

  resume(node: SimulatedNode): void {
    for (const [name, [id, key]] of this.#paused) {
      this.#cluster.say(`${name} is resumed`);
      node.store.pauseFlowKey(id, key, false, node.time.now()).catch(() => {});
    }
  }

  /** Until every key that was ever paused is surely not. */
  resumeAll(): void {
    const node = [...this.#cluster.nodes].find((each) => each.isServing);
    for (const [name, [id, key]] of node ? this.#paused : []) {
      node!.store.pauseFlowKey(id, key, false, node!.time.now()).then(
        () => this.#paused.delete(name),
        () => {},
      );
    }
    if (this.#paused.size > 0) this.#cluster.timeline.after(1000, () => this.resumeAll());
  }

  #do(happening: Parameters<Cluster['note']>[0], call: Promise<unknown>): void {
    call.then(
      () => this.#cluster.note(happening),
      () => {},
    );
  }
}
