// Nothing is left lying: a message that is due, and for which a healthy node has room, is claimed soon. An engine that
// misses a wake-up still delivers everything in the end, because something else wakes it; here it is seen.

import type { EngineLimits } from '../../src/delivery/in-flight.ts';
import type { Database } from '../../src/store/sqlite/database.ts';
import type { Model } from './model.ts';
import type { SimulatedNode } from './node.ts';

const CHECK_EVERY_MS = 2000;
/** An engine looks around at least with every sign of life it gives; once more for what it can only take in two bites. */
const CLAIMED_WITHIN_MS = 12_000;

interface Waiting {
  readonly id: string;
  readonly account_id: string;
  readonly host: string;
}

export class Promptness {
  readonly #limits: EngineLimits;
  readonly #model: Model;
  readonly #report: (violation: string) => void;
  readonly #sinceMs = new Map<string, number>();
  #checkedAtMs = 0;

  constructor(limits: EngineLimits, model: Model, report: (violation: string) => void) {
    this.#limits = limits;
    this.#model = model;
    this.#report = report;
  }

  check(database: Database, nodes: Iterable<SimulatedNode>, nowMs: number, now: number): void {
    if (nowMs - this.#checkedAtMs < CHECK_EVERY_MS) return;
    this.#checkedAtMs = nowMs;
    const healthy = [...nodes].filter((node) => node.isServing && !node.isCutOff);
    const waiting = database.all<Waiting>(
      `SELECT id, account_id, host FROM messages WHERE state = 'ready'
         UNION ALL SELECT id, account_id, host FROM messages WHERE state = 'delayed' AND due_at <= ?`,
      now,
    );
    const stillWaiting = new Set(waiting.map(({ id }) => id));
    for (const id of this.#sinceMs.keys()) if (!stillWaiting.has(id)) this.#sinceMs.delete(id);
    for (const message of waiting) {
      const free = healthy.find((node) => this.#hasRoom(node, message));
      const sinceMs = Math.max(this.#sinceMs.get(message.id) ?? nowMs, free?.undisturbedSinceMs ?? nowMs);
      this.#sinceMs.set(message.id, sinceMs);
      if (nowMs - sinceMs > CLAIMED_WITHIN_MS) {
        this.#report(`${message.id} is due for ${nowMs - sinceMs} ms, a node has room for it, and nobody takes it`);
        this.#sinceMs.delete(message.id);
      }
    }
  }

  #hasRoom(node: SimulatedNode, message: Waiting): boolean {
    const running = node.sender.running.map(({ messageId }) => this.#model.entries.get(messageId)!);
    const bytes = node.sender.running.reduce((sum, { body }) => sum + body.length, 0);
    const { concurrency, hostConcurrency, accountConcurrency, bodyBytes } = this.#limits;
    return (
      running.length < concurrency &&
      running.filter(({ host }) => host === message.host).length < hostConcurrency &&
      running.filter(({ accountId }) => accountId === message.account_id).length < accountConcurrency &&
      bytes < bodyBytes
    );
  }
}
