// More messages of all priorities than a slow host with few slots takes, and more of them a minute later: what still waits
// then has risen by a level, so that of two with different priorities the older one may be ahead.

import type { Chance } from './chance.ts';
import type { Client } from './client.ts';
import type { Cluster } from './cluster.ts';
import type { Draft, DraftAccount, Drafter } from './draft.ts';
import { FLOW_KEYS } from './extras.ts';
import type { LineActions } from './line-actions.ts';
import type { SimulatedNode } from './node.ts';
import { ACCOUNTS } from './prepare.ts';

const EARLY = [3, 4, 4, 5];
const LATE = [5, 5, 6, 7];
/** On a host with more, nothing waits for long. */
const HOST_SLOTS_MAX = 2;
const LATE_AFTER_MS = 65_000;
const PAUSE_AFTER_MS = 15_000;
const FLOW_KEY = 'both';

export class Crowd {
  /** The second half has not come yet. */
  isComing = false;
  #hasCome = false;
  readonly #cluster: Cluster;
  readonly #client: Client;
  readonly #chance: Chance;
  readonly #drafter: Drafter;
  readonly #lines: LineActions;

  constructor(cluster: Cluster, client: Client, chance: Chance, drafter: Drafter, lines: LineActions) {
    this.#cluster = cluster;
    this.#client = client;
    this.#chance = chance;
    this.#drafter = drafter;
    this.#lines = lines;
  }

  come(node: SimulatedNode): void {
    const { hostConcurrency } = this.#cluster.limits;
    if (this.#hasCome || hostConcurrency > HOST_SLOTS_MAX) return;
    this.#hasCome = true;
    this.isComing = true;
    const account = this.#chance.pick(ACCOUNTS);
    const slots = hostConcurrency * this.#cluster.nodes.size;
    this.#publish(node, account, 4 * slots + 4, EARLY);
    this.#cluster.timeline.after(PAUSE_AFTER_MS, () => {
      const serving = this.#serving();
      if (serving) this.#lines.pauseOne(serving, account.id, FLOW_KEY);
    });
    this.#cluster.timeline.after(LATE_AFTER_MS, () => {
      this.isComing = false;
      const serving = this.#serving();
      if (serving) this.#publish(serving, account, 2 * slots + 2, LATE);
    });
  }

  #serving(): SimulatedNode | undefined {
    return [...this.#cluster.nodes].find((each) => each.isServing);
  }

  #publish(node: SimulatedNode, account: DraftAccount, count: number, priorities: readonly number[]): void {
    this.#cluster.note('crowd at a slow host');
    const drafts = Array.from({ length: count }, () => this.#draft(account, this.#chance.pick(priorities)));
    this.#client.publish(node, account, drafts);
  }

  #draft(account: DraftAccount, priority: number): Draft {
    const draft = this.#drafter.draftSlow(account);
    const flow = this.#chance.isTrue(30) ? { key: FLOW_KEY, limits: FLOW_KEYS[FLOW_KEY]! } : null;
    return { ...draft, request: { ...draft.request, priority, flow } };
  }
}
