// Leases that may have been given out without our knowing: the connection was lost before the commit was answered. The
// messages are leased to a node that lives, so that nobody takes them over, and that does not know of them, so that
// they are never sent. They are given back as soon as the database answers again.

import { eachMax } from '../../domain/budgets.ts';
import { release } from './claim.ts';
import type { Database } from './database.ts';
import { CommitInDoubt } from './errors.ts';

interface Doubt {
  readonly leases: readonly string[];
  /** Of leases made by one claim, whose number is not known. */
  readonly prefix: string | null;
  /**
   * The database's process on the other end of the connection that was lost. As long as there is one, it may still get the
   * commit, however late. Null where the commit itself was answered.
   */
  readonly session: number | null;
}

export class Doubts {
  #doubts: Doubt[] = [];
  #count = 0;

  get isEmpty(): boolean {
    return this.#doubts.length === 0;
  }

  /** Of an acceptance that failed. Only one that was not answered leaves a doubt: else nothing was written. */
  addLeases(leases: readonly string[], error: unknown): void {
    if (leases.length > 0 && error instanceof CommitInDoubt) {
      this.#add({ leases, prefix: null, session: error.session });
    }
  }

  /** Of a claim that failed; `isWritten`, when only what followed its commit was not answered. */
  addPrefix(prefix: string, error: unknown, isWritten = false): void {
    const isDoubtful = error instanceof CommitInDoubt;
    if (isWritten || isDoubtful) this.#add({ leases: [], prefix, session: isDoubtful ? error.session : null });
  }

  /**
   * Gives back what was leased after all, and returns whether there was any. Call it again until no doubt is left. A doubt is over
   * when its session had ended before the look.
   */
  async release(database: Database, node: string, now: number): Promise<boolean> {
    const doubts = this.#doubts;
    const open = await openSessions(database, doubts);
    const leases = [
      ...doubts.flatMap((doubt) => doubt.leases),
      ...(await claimedBy(
        database,
        node,
        doubts.flatMap(({ prefix }) => prefix ?? []),
      )),
    ];
    const isAny = leases.length > 0 && (await release(database, leases, node, now)) !== null;
    const looked = new Set(doubts);
    // Of those that came meanwhile, nothing is known.
    this.#keep(
      this.#doubts.filter((doubt) => !looked.has(doubt) || (doubt.session !== null && open.has(doubt.session))),
    );
    return isAny;
  }

  #add(doubt: Doubt): void {
    this.#doubts.push(doubt);
    this.#count += size(doubt);
    const max = eachMax('doubtedLeases');
    // The oldest go first: `strayClaims` finds what becomes of them.
    let gone = 0;
    while (this.#count > max && gone < this.#doubts.length) {
      this.#count -= size(this.#doubts[gone]!);
      gone += 1;
    }
    if (gone > 0) this.#doubts = this.#doubts.slice(gone);
  }

  #keep(doubts: Doubt[]): void {
    this.#doubts = doubts;
    this.#count = doubts.reduce((sum, doubt) => sum + size(doubt), 0);
  }
}

/** The leases that were made with one of these prefixes. */
async function claimedBy(database: Database, node: string, prefixes: readonly string[]): Promise<string[]> {
  if (prefixes.length === 0) return [];
  const rows = await database.all<{ lease: string }>(
    `SELECT lease FROM messages
       WHERE state = 'claimed' AND node = $1 AND regexp_replace(lease, '[.][^.]*$', '') = ANY ($2::text[])`,
    node,
    prefixes,
  );
  return rows.map(({ lease }) => lease);
}

/** Which of their sessions there still are. A pooler may keep one for others: then a doubt is kept for longer than it must be. */
async function openSessions(database: Database, doubts: readonly Doubt[]): Promise<ReadonlySet<number>> {
  const sessions = new Set(doubts.flatMap(({ session }) => session ?? []));
  if (sessions.size === 0) return sessions;
  const rows = await database.all<{ pid: number }>('SELECT pid FROM pg_stat_activity WHERE pid = ANY ($1::int[])', [
    ...sessions,
  ]);
  return new Set(rows.map(({ pid }) => pid));
}

function size({ leases }: Doubt): number {
  return Math.max(1, leases.length);
}
