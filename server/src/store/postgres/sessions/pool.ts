// How calls get a connection to the database: each kind of call has its own connections and a limited wait. A call is
// refused at once while the database is unavailable or accepts no writes.

import type pg from 'pg';
import { destroyConnection } from '../../../runtime/node-internals/database-connection.ts';
import type { Clock } from '../../../runtime/world.ts';
import { StoreUnavailable } from '../../ports/store.ts';
import { NotWritable } from './connection.ts';
import type { Connections, Role } from './connections.ts';
import { Database } from './database.ts';
import {
  areTablesMissing,
  CommitInDoubt,
  committing,
  isDiskFull,
  isNoSessionPossible,
  isReadOnly,
  isSharedSession,
  mayRunAgain,
  ReplyTooLate,
  requireFirstCutOff,
  throwCutOff,
  toStoreError,
} from './errors.ts';
import { KeptPlan } from './kept-plan.ts';
import { Link, type LinkOptions } from './link.ts';
import { dropReserve } from './reserve.ts';
import { ReserveReleaser } from './reserve-releaser.ts';
import { WriteWatch } from './write-watch.ts';

/** How often work is tried after a conflict, or after a change of the schema, when each statement may be outdated. */
const TRIES_MAX = 10;

export interface PoolOptions extends LinkOptions {
  /** Writes one row and commits, as a publish would. */
  readonly probe: (database: Database) => Promise<void>;
  /** A write found no space, and the reserve was released for it. */
  readonly onReserveReleased: () => void;
}

/**
 * What to do when work finds no disk space. Work that ends or deletes messages releases the reserve and uses it. A
 * publish releases it and fails. A read that is too large for the disk must not release it.
 */
type OnFull = 'usesReserve' | 'releases' | 'fails';

/** Bounds the wait for one reply, or for several: if the wait is longer, the connection is closed. */
type Within = <T>(ms: number, answer: Promise<T>) => Promise<T>;

export class Pool {
  readonly #timers: Clock;
  readonly #keptPlan = new KeptPlan();
  readonly #link: Link;
  readonly #writes: WriteWatch;
  readonly #reserveReleaser: ReserveReleaser;

  constructor(options: PoolOptions) {
    const { timers, log, probe, onBack, onReserveReleased } = options;
    this.#timers = timers;
    this.#link = new Link(options);
    this.#reserveReleaser = new ReserveReleaser({
      timers,
      release: () => this.#dropReserve(),
      onReleased: onReserveReleased,
    });
    this.#writes = new WriteWatch({
      timers,
      commitMs: () => this.#link.timeouts.commitMs,
      // A late probe is not closed: its session would still wait for the commit at the server, and so would that of
      // each later probe.
      probe: (onBegin) =>
        this.#use('probe', (database) => {
          onBegin();
          return committing(probe(database));
        }),
      onStall: (why) => log('error', {}, `${why}; nothing is accepted until the database takes writes again`),
      onBack: () => {
        log('info', {}, 'the database takes writes again');
        onBack();
      },
    });
  }

  /** Rejects if the database cannot be reached; then it may be called again. */
  start(): Promise<void> {
    return this.#link.start();
  }

  /** Why a publish would be refused now, or null. Tries a write if none has just succeeded. */
  async whyNotWritable(): Promise<{ readonly isGone: boolean; readonly text: string } | null> {
    const why = this.#link.away === null ? await this.#writes.look() : null;
    const { away } = this.#link;
    if (away !== null) return { isGone: away.reason === 'gone', text: away.text };
    return why === null ? null : { isGone: false, text: why };
  }

  /**
   * Reads on its own connection. Each statement sees what was committed before it. Runs again once if the connection was
   * lost: nothing was written.
   */
  read<T>(work: (database: Database) => Promise<T>): Promise<T> {
    return this.#again(() => this.#use('readers', (database) => work(database).catch(throwCutOff)), 'fails');
  }

  /** One statement that writes: it is its own transaction. */
  write<T>(work: (database: Database) => Promise<T>): Promise<T> {
    return this.#again(() => this.#use('writers', (database) => committing(work(database))));
  }

  /** The heartbeat, on a connection that nothing else uses, so that it never waits behind other work. */
  beat<T>(work: (database: Database) => Promise<T>): Promise<T> {
    return this.#again(() =>
      this.#use('heartbeat', (database, within) => committing(within(this.#lockAndCommitMs, work(database)))),
    );
  }

  /** One statement that only inserts rows. */
  add<T>(work: (database: Database) => Promise<T>): Promise<T> {
    return this.#again(
      () =>
        this.#use('adders', async (database, within) => {
          const result = await committing(within(this.#link.timeouts.commitMs, work(database)));
          this.#writes.noteWritten();
          return result;
        }),
      'releases',
    );
  }

  /** One statement that settles plain messages. */
  settle<T>(work: (database: Database) => Promise<T>): Promise<T> {
    return this.#again(() =>
      this.#use('settlers', async (database, within) => {
        await this.#keptPlan.look(database, this.#timers.monotonicMs());
        return committing(within(this.#lockAndCommitMs, work(database)));
      }),
    );
  }

  /**
   * Commits what `work` did, or nothing. Runs again after a conflict with another transaction, and once if the
   * connection was lost before the commit, as happens after a stall of the process.
   */
  transaction<T>(work: (database: Database) => Promise<T>): Promise<T> {
    return this.#again(() => this.#transactionOnce(work));
  }

  /**
   * A transaction of the upkeep that writes no messages, and may take long. Live events do not wait for its end, as
   * they do for the end of a writer's transaction. The reserve is not released for it.
   */
  beside<T>(work: (database: Database) => Promise<T>): Promise<T> {
    return this.#transactionOnce(work, 'readers');
  }

  /** Another node has released the reserve. */
  noteReserveReleased(): void {
    this.#reserveReleaser.noteReleased();
  }

  /** A transaction whose caller cannot wait long for locks. If it waits too long, it is certain that nothing was written. */
  acceptInLine<T>(work: (database: Database) => Promise<T>): Promise<T> {
    const within = (database: Database, bound: Within) => bound(this.#link.timeouts.acceptMs, work(database));
    return this.#again(() => this.#transactionOnce(within), 'releases');
  }

  notify(payload: string): void {
    this.#link.notify(payload);
  }

  async close(): Promise<void> {
    this.#writes.close();
    await this.#link.close();
  }

  /** The time limit for a statement that may wait for the lock of a row before it commits. */
  get #lockAndCommitMs(): number {
    return 2 * this.#link.timeouts.commitMs;
  }

  #transactionOnce<T>(work: (database: Database, within: Within) => Promise<T>, role: Role = 'writers'): Promise<T> {
    return this.#use(role, async (database, within) => {
      let result: T;
      try {
        await database.exec('BEGIN');
        result = await work(database, within);
      } catch (error) {
        // On a lost connection the rollback fails too, with no new information.
        await database.exec('ROLLBACK').catch(() => {});
        return throwCutOff(error);
      }
      await committing(within(this.#link.timeouts.commitMs, database.exec('COMMIT')));
      return result;
    });
  }

  async #again<T>(work: () => Promise<T>, onFull: OnFull = 'usesReserve'): Promise<T> {
    const { times } = this.#reserveReleaser;
    let usesReserve = false;
    for (let tries = 1; ; tries += 1) {
      try {
        return await work();
      } catch (error) {
        if (mayRunAgain(error) && tries < TRIES_MAX) continue;
        if (isDiskFull(error) && !usesReserve) {
          usesReserve = await this.#makeRoom(isNoSessionPossible(error) ? 'usesReserve' : onFull, times);
          if (usesReserve) continue;
        }
        requireFirstCutOff(error, tries);
      }
    }
  }

  /** Tries to release space. Returns whether the statement may run again. */
  async #makeRoom(onFull: OnFull, times: number): Promise<boolean> {
    if (onFull === 'fails') return false;
    const made = this.#reserveReleaser.makeRoom(times);
    return onFull === 'usesReserve' && (await made);
  }

  /** If no new session can start, uses the connection of the heartbeat, which is never idle for long enough to be closed. */
  async #dropReserve(): Promise<boolean> {
    try {
      return await this.beside(dropReserve);
    } catch (error) {
      if (!isNoSessionPossible(error)) throw error;
      return await this.#transactionOnce(dropReserve, 'heartbeat');
    }
  }

  async #use<T>(role: Role, work: (database: Database, within: Within) => Promise<T>): Promise<T> {
    const { connections } = this.#link;
    this.#refuse(role, connections);
    return connections.inTurn(role, () => this.#useNow(role, connections, work));
  }

  #refuse(role: Role, connections: Connections): void {
    const { away } = this.#link;
    if (away !== null) throw new StoreUnavailable(away.reason, away.text);
    // This call has waited for a connection that was closed meanwhile.
    if (this.#link.connections !== connections)
      throw new StoreUnavailable('unavailable', 'the database was unavailable');
    // The heartbeat is always tried: whether this node keeps its claims does not depend on whether messages can be
    // written.
    if (role === 'adders' || role === 'settlers' || role === 'writers') this.#writes.requireWritable();
  }

  async #useNow<T>(
    role: Role,
    connections: Connections,
    work: (database: Database, within: Within) => Promise<T>,
  ): Promise<T> {
    this.#refuse(role, connections);
    let client: pg.PoolClient;
    try {
      client = await connections.connect(role);
    } catch (error) {
      if (areTablesMissing(error) || error instanceof NotWritable) this.#link.lose(error as Error);
      throw isNoSessionPossible(error) ? error : toStoreError(error);
    }
    try {
      const result = await work(new Database(client), this.#withinOn(client));
      this.#link.noteAnswer();
      client.release();
      return result;
    } catch (error) {
      // A server whose disk is full has still responded.
      const isLost = toStoreError(error) instanceof StoreUnavailable && !isDiskFull(error);
      if (error instanceof CommitInDoubt) error.session = connections.processOf(client);
      if (!isLost) this.#link.noteAnswer();
      client.release(isLost);
      this.#noteFailure(role, connections, error);
      throw error;
    }
  }

  #noteFailure(role: Role, { server }: Connections, error: unknown): void {
    if (role !== 'readers' && role !== 'probe') this.#writes.noteFailed(error, role === 'adders');
    const mayBeElsewhere = isReadOnly(error) && server.target === 'read-write';
    if (isSharedSession(error) || areTablesMissing(error) || mayBeElsewhere) this.#link.lose(error as Error);
  }

  #withinOn(client: pg.ClientBase): Within {
    return async (ms, answer) => {
      let cancel = () => {};
      const late = new Promise<never>((_, reject) => {
        cancel = this.#timers.after(ms, () => {
          reject(new ReplyTooLate(ms));
          destroyConnection(client);
        });
      });
      // A result that comes too late is a failure as well.
      answer.catch(() => {});
      try {
        return await Promise.race([answer, late]);
      } finally {
        cancel();
      }
    };
  }
}
