// What can be done to the nodes of a cluster and undone again: crashes and restarts, freezes, a store that is away,
// an orderly stop. When is for the script to say.

import type { Chance } from './chance.ts';
import type { Client } from './client.ts';
import type { Cluster } from './cluster.ts';
import type { SimulatedNode } from './node.ts';

const DRAIN_MS = 5000;
/** By then a running node has kept the time once more. */
const KEPT_AGAIN_MS = 6000;

export class Trouble {
  readonly #cluster: Cluster;
  readonly #client: Client;
  readonly #chance: Chance;
  readonly #nodesWanted: number;
  readonly #stopping = new Set<SimulatedNode>();

  constructor(cluster: Cluster, client: Client, chance: Chance, nodesWanted: number) {
    this.#cluster = cluster;
    this.#client = client;
    this.#chance = chance;
    this.#nodesWanted = nodesWanted;
  }

  startMissing(): void {
    while (this.#cluster.nodes.size < this.#nodesWanted) this.#cluster.start();
  }

  crash(node: SimulatedNode, restartMs = this.#chance.between(500, 8000)): void {
    if (!this.#cluster.nodes.has(node)) return;
    this.#cluster.crash(node);
    if (this.#client.loseAnswers(node) > 0) this.#cluster.note('crash with a publish in flight');
    this.#restartAfter(restartMs);
  }

  /** All nodes, several times, with just enough time between to start again what was under way. */
  crashAgainAndAgain(): void {
    for (let time = 0; time < 4; time += 1) {
      this.#cluster.timeline.after(time * 1500, () => {
        for (const node of [...this.#cluster.nodes]) this.crash(node, 500);
      });
    }
  }

  freeze(node: SimulatedNode, ms = this.#chance.pick([2000, 8000, 14_000, 20_000, 45_000])): void {
    if (node.clock.state !== 'running') return;
    this.#cluster.note('freeze');
    this.#cluster.say(`${this.#cluster.nameOf(node)} freezes for ${ms} ms`);
    node.clock.freeze();
    this.#cluster.frozenMsMax = Math.max(this.#cluster.frozenMsMax, ms);
    this.#cluster.timeline.after(ms, () => this.#wake(node));
  }

  cutOff(node: SimulatedNode): void {
    const ms = this.#chance.pick([50, 1000, 8000, 20_000]);
    this.#cluster.note('store away');
    this.#cluster.say(`${this.#cluster.nameOf(node)} has no store for ${ms} ms`);
    node.isCutOff = true;
    this.#cluster.timeline.after(ms, () => this.#reconnect(node));
  }

  stop(node: SimulatedNode): void {
    if (!node.isServing) return;
    node.isStopping = true;
    this.#stopping.add(node);
    this.#cluster.say(`${this.#cluster.nameOf(node)} is told to stop`);
  }

  /** A node that was told to stop first answers its clients, as the server does. */
  afterEvent(): void {
    for (const node of this.#stopping) {
      const isAlive = this.#cluster.nodes.has(node);
      if (isAlive && this.#client.isWaitingFor(node)) continue;
      this.#stopping.delete(node);
      if (isAlive) this.#stopNow(node);
    }
  }

  endAll(): void {
    for (const node of this.#cluster.nodes) {
      this.#reconnect(node);
      this.#wake(node);
    }
    for (let count = this.#cluster.nodes.size; count < this.#nodesWanted; count += 1) this.#restartAfter(0);
  }

  #wake(node: SimulatedNode): void {
    if (node.clock.state !== 'frozen') return;
    this.#cluster.say(`${this.#cluster.nameOf(node)} wakes`);
    node.undisturbedSinceMs = this.#cluster.timeline.nowMs;
    node.clock.wake();
  }

  #reconnect(node: SimulatedNode): void {
    node.isCutOff = false;
    // As after every connection that was lost: something may have been written that it does not know of.
    node.hearOfOthers(true);
    node.undisturbedSinceMs = this.#cluster.timeline.nowMs;
  }

  #stopNow(node: SimulatedNode): void {
    const name = this.#cluster.nameOf(node);
    const startedAtMs = this.#cluster.timeline.nowMs;
    this.#cluster.note('stop');
    node.engine.stop(DRAIN_MS).then(
      () => {
        this.#cluster.say(`${name} has stopped`);
        const left = this.#cluster.model.claimedBy(node.id).map(({ id }) => id);
        const wasDisturbed = node.isCutOff || node.undisturbedSinceMs > startedAtMs;
        const known = this.#cluster.model.knownTo(node.id).map(({ id }) => id);
        if (known.length > 0 && !wasDisturbed) this.#cluster.report(`${name} has stopped and still holds ${known}`);
        if (!this.#cluster.nodes.has(node)) return;
        this.#cluster.end(node, left);
        this.#restartAfter(this.#chance.between(500, 8000));
      },
      (error) => this.#cluster.report(`${name} could not stop: ${error}`),
    );
  }

  #restartAfter(ms: number): void {
    this.#cluster.timeline.after(ms, () => {
      if (this.#cluster.nodes.size >= this.#nodesWanted) return;
      // A node that joins others asks them for the time: what they have kept must be newer than the jump.
      const isKept = this.#cluster.keptAtMs > this.#cluster.jumpedAtMs;
      if (this.#cluster.nodes.size > 0 && !isKept) return this.#restartAfter(KEPT_AGAIN_MS);
      this.#cluster.start();
    });
  }
}
