// A receiver that is down for a while, and messages that park for it: enough of them that it is parked, and that it shows
// how many come at once when it is back. And people who park hosts and resume them.

import type { Chance } from './chance.ts';
import type { Client } from './client.ts';
import type { Cluster } from './cluster.ts';
import { type DraftAccount, type Drafter, PARKING_HOST, targetOf } from './draft.ts';
import type { SimulatedNode } from './node.ts';
import { ACCOUNTS } from './prepare.ts';

const DOWN_MS = [6000, 20_000, 40_000, 60_000];
const { host: HOST } = targetOf(`https://${PARKING_HOST}/`);

export class Outages {
  /** One of them is not over. */
  isUnderWay = false;
  readonly #cluster: Cluster;
  readonly #client: Client;
  readonly #chance: Chance;
  readonly #drafter: Drafter;
  /** Accounts for which a person has parked the host, or may have. */
  readonly #parked = new Set<string>();

  constructor(cluster: Cluster, client: Client, chance: Chance, drafter: Drafter) {
    this.#cluster = cluster;
    this.#client = client;
    this.#chance = chance;
    this.#drafter = drafter;
  }

  begin(node: SimulatedNode): void {
    if (this.isUnderWay) return;
    const { network, timeline } = this.#cluster;
    this.isUnderWay = true;
    network.down.add(PARKING_HOST);
    this.#cluster.note('receiver down');
    const account = this.#chance.pick(ACCOUNTS);
    const ms = this.#chance.pick(DOWN_MS);
    this.#cluster.say(`${PARKING_HOST} is down for ${ms} ms`);
    this.#publish(node, account, this.#chance.between(16, 28));
    timeline.after(ms / 2, () => {
      const serving = this.#serving();
      if (serving) this.#publish(serving, account, 6);
    });
    timeline.after(ms, () => {
      this.isUnderWay = false;
      network.down.delete(PARKING_HOST);
      this.#cluster.say(`${PARKING_HOST} is back`);
    });
  }

  park(node: SimulatedNode): void {
    const { id } = this.#chance.pick(ACCOUNTS);
    this.#parked.add(id);
    this.#cluster.say(`${HOST} is parked by hand for ${id}`);
    node.store.parkHost(id, HOST, node.time.now(), 100, 100).then(
      () => {
        this.#cluster.note('host parked by hand');
        node.lookAtHosts();
      },
      () => {},
    );
  }

  resume(node: SimulatedNode): void {
    for (const id of this.#parked) this.#resumeOne(node, id);
  }

  /** Until every host that was ever parked by hand is surely not. */
  resumeAll(): void {
    const node = this.#serving();
    for (const id of node ? this.#parked : []) this.#resumeOne(node!, id);
    if (this.#parked.size > 0) this.#cluster.timeline.after(1000, () => this.resumeAll());
  }

  #resumeOne(node: SimulatedNode, id: string): void {
    this.#cluster.say(`${HOST} is resumed by hand for ${id}`);
    node.store.resumeHost(id, HOST, node.time.now()).then(
      () => {
        this.#cluster.note('host resumed by hand');
        this.#parked.delete(id);
        node.lookAtHosts();
      },
      () => {},
    );
  }

  #publish(node: SimulatedNode, account: DraftAccount, count: number): void {
    const drafts = Array.from({ length: count }, () => this.#drafter.draftParking(account));
    this.#client.publish(node, account, drafts);
  }

  #serving(): SimulatedNode | undefined {
    return [...this.#cluster.nodes].find((each) => each.isServing);
  }
}
