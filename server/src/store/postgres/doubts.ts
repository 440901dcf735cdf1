// Leases that may have been given out without our knowing: the connection was lost before the commit was answered. The
// messages are leased to a node that lives, so that nobody takes them over, and that does not know of them, so that
// they are never sent. They are given back as soon as the database answers again.

import { release } from './claim.ts';
import type { Database } from './database.ts';

/** A transaction of ours that is still under way on the other side has ended by then, one way or the other. */
const DOUBT_MS = 60_000;

interface Doubt {
  readonly leases: readonly string[];
  /** Of leases made by one claim, whose number is not known. */
  readonly prefix: string | null;
  readonly untilMs: number;
}

export class Doubts {
  #doubts: Doubt[] = [];

  get isEmpty(): boolean {
    return this.#doubts.length === 0;
  }

  addLeases(leases: readonly string[], nowMs: number): void {
    if (leases.length > 0) this.#doubts.push({ leases, prefix: null, untilMs: nowMs + DOUBT_MS });
  }

  addPrefix(prefix: string, nowMs: number): void {
    this.#doubts.push({ leases: [], prefix, untilMs: nowMs + DOUBT_MS });
  }

  /** Gives back what was leased after all; answers whether there was any. Asked again until no doubt is left. */
  async release(database: Database, node: string, now: number, nowMs: number): Promise<boolean> {
    const doubts = this.#doubts;
    const leases = doubts.flatMap((doubt) => doubt.leases);
    for (const { prefix } of doubts) {
      if (prefix === null) continue;
      const rows = await database.all<{ lease: string }>(
        // '/' is the character behind '.'.
        "SELECT lease FROM messages WHERE state = 'claimed' AND node = $1 AND lease > $2 || '.' AND lease < $2 || '/'",
        node,
        prefix,
      );
      leases.push(...rows.map(({ lease }) => lease));
    }
    const isAny = leases.length > 0 && (await release(database, leases, node, now)) !== null;
    this.#doubts = this.#doubts.filter(({ untilMs }) => untilMs > nowMs);
    return isAny;
  }
}
