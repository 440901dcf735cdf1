// Nothing is left lying: a message that is due, and for which a healthy node has room, is claimed soon. An engine that
// misses a wake-up still delivers everything in the end, because something else wakes it; here it is seen.

import type { EngineLimits } from '../../src/delivery/engine/in-flight.ts';
import { countedBytes, fitsShare, slotsRoom } from '../../src/rules/delivery/slots.ts';
import { BACKLOG } from '../../src/store/rows/message-columns.ts';
import { BODY_BYTES } from '../../src/store/sqlite/deliveries/bodies.ts';
import type { Database } from '../../src/store/sqlite/thread/database.ts';
import type { Model } from './model.ts';
import type { SimulatedNode } from './node.ts';

const CHECK_EVERY_MS = 2000;
/** An engine looks around at least with every sign of life it gives; once more for what it can only take in two bites. */
const CLAIMED_WITHIN_MS = 12_000;

/** One that starts alone waits for others to make way, and for a slot on a node with few. */
const STARTED_ALONE_WITHIN_MS = 150_000;

interface Waiting {
  /** And how often it was tried: each time it waits anew. */
  readonly id: string;
  readonly account_id: string;
  readonly host: string;
  readonly backlog: string;
  readonly bytes: number;
}

export class Promptness {
  readonly #limits: EngineLimits;
  readonly #model: Model;
  readonly #report: (violation: string) => void;
  readonly #sinceMs = new Map<string, number>();
  readonly #aloneSinceMs = new Map<string, number>();
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
      `SELECT id || ' ' || attempts AS id, account_id, host, ${BACKLOG} AS backlog, ${BODY_BYTES} AS bytes FROM messages m
         WHERE (state = 'ready' OR state = 'delayed' AND due_at <= ?)
           AND (${BACKLOG} = host OR NOT EXISTS (SELECT 1 FROM hosts
             WHERE hosts.account_id = m.account_id AND hosts.host = m.host AND parked_at IS NOT NULL))
         ORDER BY due_at, seq`,
      now,
    );
    const stillWaiting = new Set(waiting.map(({ id }) => id));
    // Behind one of the same account and host that is too large for now, the next ones may not be looked at.
    const full = new Set<string>();
    for (const id of this.#sinceMs.keys()) if (!stillWaiting.has(id)) this.#sinceMs.delete(id);
    for (const message of waiting) {
      const backlog = `${message.account_id} ${message.backlog}`;
      const free = full.has(backlog) ? undefined : healthy.find((node) => this.#hasRoom(node, message));
      if (!free) full.add(backlog);
      const sinceMs = Math.max(this.#sinceMs.get(message.id) ?? nowMs, free?.undisturbedSinceMs ?? nowMs);
      this.#sinceMs.set(message.id, sinceMs);
      if (nowMs - sinceMs > CLAIMED_WITHIN_MS) {
        this.#report(
          `${message.id} is due for ${nowMs - sinceMs} ms and a node has room for it, but no node claims it`,
        );
        this.#sinceMs.delete(message.id);
      }
    }
    this.#checkAlone(database, healthy, nowMs, now);
  }

  #checkAlone(database: Database, healthy: readonly SimulatedNode[], nowMs: number, now: number): void {
    const waiting = database.all<{ id: string }>(
      "SELECT id FROM messages WHERE state = 'delayed' AND alone_from_at <= ?",
      now,
    );
    const ids = new Set(waiting.map(({ id }) => id));
    for (const id of this.#aloneSinceMs.keys()) if (!ids.has(id)) this.#aloneSinceMs.delete(id);
    const peaceSinceMs = Math.min(nowMs, ...healthy.map(({ undisturbedSinceMs }) => undisturbedSinceMs));
    for (const id of ids) {
      const sinceMs = Math.max(this.#aloneSinceMs.get(id) ?? nowMs, healthy.length === 0 ? nowMs : peaceSinceMs);
      this.#aloneSinceMs.set(id, sinceMs);
      if (nowMs - sinceMs <= STARTED_ALONE_WITHIN_MS) continue;
      this.#report(`${id} may start alone for ${nowMs - sinceMs} ms, but no node starts it`);
      this.#aloneSinceMs.delete(id);
    }
  }

  /** By what is surely free: a body that is written may be let go already. */
  #hasRoom(node: SimulatedNode, message: Waiting): boolean {
    const { concurrency, hostConcurrency, accountConcurrency, bodyBytes } = this.#limits;
    const running = node.sender.running.map(({ messageId, body }) => ({
      ...this.#model.entries.get(messageId)!,
      bytes: countedBytes(body.length),
    }));
    const own = running.filter(({ accountId }) => accountId === message.account_id);
    const there = running.filter(({ host }) => host === message.host);
    const ownThere = there.filter(({ accountId }) => accountId === message.account_id);
    const bytesOf = (some: typeof running) => some.reduce((sum, { bytes }) => sum + bytes, 0);
    return (
      slotsRoom(concurrency - running.length, own.length, true) > 0 &&
      slotsRoom(hostConcurrency - there.length, ownThere.length, true) > 0 &&
      own.length < (accountConcurrency ?? concurrency) &&
      (running.every(({ bytes }) => bytes === 0) ||
        fitsShare(countedBytes(message.bytes), bodyBytes - bytesOf(running), bytesOf(own)))
    );
  }
}
