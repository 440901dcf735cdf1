// Doubtful leases: the connection was lost before the commit was confirmed, so the messages may be leased to this node
// without its knowledge. No other node takes them over while this node is alive, and this node does not know them, so
// the messages would never be sent. They are released as soon as the database responds again.

import { eachMax } from '../../../rules/limits/budgets.ts';
import { release } from '../deliveries/claim.ts';
import type { Database } from '../sessions/database.ts';
import { CommitInDoubt } from '../sessions/errors.ts';

interface Doubt {
  readonly leases: readonly string[];
  /** The prefix of the leases of one claim, if the leases themselves are not known. */
  readonly prefix: string | null;
  /**
   * The server process of the lost connection. While it exists, it may still receive the commit, however late. Null if
   * the commit itself was confirmed.
   */
  readonly session: number | null;
}

export class Doubts {
  #doubts: Doubt[] = [];
  #count = 0;

  get isEmpty(): boolean {
    return this.#doubts.length === 0;
  }

  /**
   * For a failed accept. There is a doubt only if the commit got no reply; any other error means that nothing was
   * written.
   */
  addLeases(leases: readonly string[], error: unknown): void {
    if (leases.length > 0 && error instanceof CommitInDoubt) {
      this.#add({ leases, prefix: null, session: error.session });
    }
  }

  /** For a failed claim. `isWritten`: the commit was confirmed, and a later step failed. */
  addPrefix(prefix: string, error: unknown, isWritten = false): void {
    const isDoubtful = error instanceof CommitInDoubt;
    if (isWritten || isDoubtful) this.#add({ leases: [], prefix, session: isDoubtful ? error.session : null });
  }

  /**
   * Releases the leases that were granted after all. Returns whether there were any. Call it again until no doubt is
   * left: a doubt is over if its session had ended before this call read the leases.
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
    const isAny = leases.length > 0 && (await release(database, leases, node, now)).dueAt !== null;
    const looked = new Set(doubts);
    // Keeps the doubts that were added meanwhile.
    this.#keep(
      this.#doubts.filter((doubt) => !looked.has(doubt) || (doubt.session !== null && open.has(doubt.session))),
    );
    return isAny;
  }

  #add(doubt: Doubt): void {
    this.#doubts.push(doubt);
    this.#count += size(doubt);
    const max = eachMax('doubtedLeases');
    // Drops the oldest doubts first: `strayClaims` finds their leases later.
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

/** The leases with one of these prefixes. */
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

/**
 * Which of the sessions still exist. A pooler may keep a session for other clients; then a doubt is kept longer than
 * needed.
 */
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
