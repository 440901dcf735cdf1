// The connections of a node, and a watch that soon notices when the database is away, even if a half-open connection
// reports nothing. From then on every call is refused at once and hanging connections are closed. The pool reconnects
// until the database answers, so nothing needs a restart.

import pg from 'pg';
import { nodeMax } from '../../domain/budgets.ts';
import type { Clock } from '../../world.ts';
import { AccountLine } from '../account-line.ts';
import { StoreUnavailable } from '../store.ts';
import { ACQUIRE_MS_MAX, ADDING, clientConfig, destroy, type Settings, setUp, WRITING, within } from './connection.ts';
import { Database } from './database.ts';
import { CommitInDoubt, CutOff, committing, cutOff, isConflict, isNotOurs, toStoreError } from './errors.ts';
import { WRITER_NAME } from './journal.ts';
import { KeptPlan } from './kept-plan.ts';
import { backendPid, requireOwnSessions, SharedSession } from './own-session.ts';

/** How many connections the accounts may use at once. The others of each kind are for the node's own work. */
export const DATABASE_AT_ONCE = {
  lists: nodeMax('databaseLists'),
  lookUps: nodeMax('databaseLookUps'),
  changes: nodeMax('databaseChanges'),
};
const PING_EVERY_MS = 300;
/** The database is away if neither the ping nor anything else got a reply for this long. */
export const SILENCE_MS_MAX = 800;
/** Only the listener is dead if it got no reply for this long although the database answers. */
const DEAF_MS_MAX = 3000;
/**
 * After a stall, a process runs its timers before it reads the replies that arrived meanwhile. This gives it time to
 * read them.
 */
const SECOND_LOOK_MS = 50;
const RECONNECT_EVERY_MS = 250;
const CONFLICT_TRIES_MAX = 10;
const LISTENER_NAME = 'postrider listener';

export type Note = (level: 'info' | 'warn' | 'error', fields: object, text: string) => void;

export interface PoolOptions {
  readonly url: string;
  /** The real clock, even when a test controls the messages' clock: a database answers in real time. */
  readonly timers: Clock;
  readonly log: Note;
  /** The channel to listen on. */
  readonly channel: string;
  readonly onNotification: (payload: string) => void;
  /** The database is back: hints may have been missed while it was away. */
  readonly onBack: () => void;
  /** How long the database may be silent before it counts as away. */
  readonly silenceMsMax: number;
}

type Role = 'writers' | 'adders' | 'settlers' | 'readers' | 'heartbeat';

const MAX: Readonly<Record<Role, number>> = {
  // The other four: accepts into queues, settles, claims and upkeep.
  writers: DATABASE_AT_ONCE.changes + 4,
  // Each runs one statement at a time.
  adders: 1,
  settlers: 1,
  // The other two: tokens, bodies of claimed messages, and upkeep.
  readers: DATABASE_AT_ONCE.lists + DATABASE_AT_ONCE.lookUps + 2,
  heartbeat: 1,
};

function newLines(): Record<Role, AccountLine> {
  const line = (role: Role) => new AccountLine(MAX[role]);
  return {
    writers: line('writers'),
    adders: line('adders'),
    settlers: line('settlers'),
    readers: line('readers'),
    heartbeat: line('heartbeat'),
  };
}

export class Pool {
  readonly #options: PoolOptions;
  #pools: Record<Role, pg.Pool>;
  readonly #keptPlan = new KeptPlan();
  /** In front of the pools: waiting for a connection that is in use says nothing about the database. */
  #lines = newLines();
  /** All connections, so that hanging ones can be closed. */
  readonly #clients = new Set<pg.ClientBase>();
  /** Their server processes: no two connections may have the same one. */
  readonly #pids = new Map<pg.ClientBase, number>();
  /** The same, including lost connections. The process id that a pooler reports at connect is a different one. */
  readonly #processes = new WeakMap<pg.ClientBase, number>();
  #listener: pg.Client | null = null;
  #listenerPid = 0;
  /** When the listener itself last got a reply. */
  #heardAtMs = 0;
  /** The last query of the listener: its queries run one after another. */
  #asked: Promise<unknown> = Promise.resolve();
  #isAway = false;
  #isClosed = false;
  #answeredAtMs: number;
  #cancelPing = () => {};

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#pools = this.#open();
    this.#answeredAtMs = options.timers.monotonicMs();
  }

  /** Starts to listen and begins the watch. Rejects if the database cannot be reached, and may be called again then. */
  async start(): Promise<void> {
    await this.#listen();
    this.#schedulePing();
  }

  /**
   * Reads on its own connection. Each statement sees what was committed before it. Runs again once if the connection was
   * lost: nothing was written.
   */
  read<T>(work: (database: Database) => Promise<T>): Promise<T> {
    return this.#again(() => this.#use('readers', (database) => work(database).catch(cutOff)));
  }

  /** One statement that writes: it is its own transaction. */
  write<T>(work: (database: Database) => Promise<T>): Promise<T> {
    return this.#again(() => this.#use('writers', (database) => committing(work(database))));
  }

  /** The heartbeat, on a connection that nothing else uses, so that it never waits behind other work. */
  beat<T>(work: (database: Database) => Promise<T>): Promise<T> {
    return this.#again(() => this.#use('heartbeat', (database) => committing(work(database))));
  }

  /** One statement that only inserts rows. */
  add<T>(work: (database: Database) => Promise<T>): Promise<T> {
    return this.#again(() => this.#use('adders', (database) => committing(work(database))));
  }

  /** One statement that settles plain messages. */
  settle<T>(work: (database: Database) => Promise<T>): Promise<T> {
    return this.#again(() =>
      this.#use('settlers', async (database) => {
        await this.#keptPlan.look(database, this.#options.timers.monotonicMs());
        return committing(work(database));
      }),
    );
  }

  /**
   * Commits what `work` did, or nothing. Runs again after a conflict with another transaction, and once if the
   * connection was lost before the commit, as happens after a stall of the process.
   */
  transaction<T>(work: (database: Database) => Promise<T>): Promise<T> {
    const once = () =>
      this.#use('writers', async (database) => {
        let result: T;
        try {
          await database.exec('BEGIN');
          result = await work(database);
        } catch (error) {
          // On a lost connection this fails too, which tells nothing new.
          await database.exec('ROLLBACK').catch(() => {});
          return cutOff(error);
        }
        await committing(database.exec('COMMIT'));
        return result;
      });
    return this.#again(once);
  }

  notify(payload: string): void {
    const listener = this.#listener;
    if (!listener || this.#isAway) return;
    this.#ask(() => listener.query('SELECT pg_notify($1, $2)', [this.#options.channel, payload])).catch(() => {});
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelPing();
    const listener = this.#listener;
    this.#listener = null;
    await Promise.allSettled([listener?.end(), ...Object.values(this.#pools).map((pool) => pool.end())]);
  }

  async #again<T>(work: () => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await work();
      } catch (error) {
        if (isConflict(error) && tries < CONFLICT_TRIES_MAX) continue;
        if (!(error instanceof CutOff)) throw error;
        if (tries > 1) throw error.cause;
      }
    }
  }

  async #use<T>(role: Role, work: (database: Database) => Promise<T>): Promise<T> {
    this.#refuseIfAway();
    return this.#lines[role].run('', () => this.#useNow(role, work));
  }

  #refuseIfAway(): void {
    if (this.#isAway) throw new StoreUnavailable('unavailable', 'The database does not answer.');
  }

  async #useNow<T>(role: Role, work: (database: Database) => Promise<T>): Promise<T> {
    this.#refuseIfAway();
    let client: pg.PoolClient;
    try {
      client = await this.#pools[role].connect();
    } catch (error) {
      throw toStoreError(error);
    }
    try {
      const result = await work(new Database(client));
      this.#answeredAtMs = this.#options.timers.monotonicMs();
      client.release();
      return result;
    } catch (error) {
      const isLost = toStoreError(error) instanceof StoreUnavailable;
      if (error instanceof CommitInDoubt) error.session = this.#processes.get(client) ?? null;
      if (!isLost) this.#answeredAtMs = this.#options.timers.monotonicMs();
      client.release(isLost);
      if (isNotOurs(error) && this.#listener) this.#lose(this.#listener);
      throw error;
    }
  }

  #open(): Record<Role, pg.Pool> {
    const { url, timers } = this.#options;
    const open = (name: string, role: Role, settings: Settings = new Map()) => {
      // The driver awaits this hook, although its type does not say so. If it rejects, the connection is closed.
      const onConnect = async (client: pg.ClientBase): Promise<void> => {
        // A connection that breaks while in use, between two statements, reports it only here, and an 'error' event
        // without a listener would end the process. The next statement fails.
        client.on('error', () => {});
        this.#clients.add(client);
        client.on('end', () => this.#forget(client));
        this.#notePid(client, await setUp(client, { url, name, settings, timers }));
      };
      const pool = new pg.Pool({ ...clientConfig(url, name), max: MAX[role], idleTimeoutMillis: 30_000, onConnect });
      pool.on('remove', (client) => this.#forget(client));
      // For an idle connection: the pool has dropped it, and the next caller gets another one.
      pool.on('error', () => {});
      return pool;
    };
    return {
      writers: open(WRITER_NAME, 'writers', WRITING),
      adders: open(WRITER_NAME, 'adders', ADDING),
      settlers: open(WRITER_NAME, 'settlers', WRITING),
      readers: open('postrider reader', 'readers'),
      heartbeat: open('postrider heartbeat', 'heartbeat'),
    };
  }

  async #listen(): Promise<void> {
    const { url, timers, channel, onNotification } = this.#options;
    const listener = new pg.Client(clientConfig(url, LISTENER_NAME));
    // Also before it is connected: an 'error' event without a listener would end the process.
    listener.on('error', () => this.#lose(listener));
    listener.on('end', () => this.#lose(listener));
    listener.on('notification', ({ payload }) => onNotification(payload ?? ''));
    try {
      await listener.connect();
      this.#listenerPid = await setUp(listener, { url, name: LISTENER_NAME, timers });
      const other = await this.#pools.heartbeat.connect();
      await requireOwnSessions(listener, other, timers).then(
        () => other.release(),
        (error: Error) => {
          other.release(error);
          throw error;
        },
      );
      await within(listener.query(`LISTEN ${pg.escapeIdentifier(channel)}`), ACQUIRE_MS_MAX, timers);
    } catch (error) {
      destroy(listener);
      throw error;
    }
    const before = this.#listener;
    this.#listener = listener;
    if (before) destroy(before);
    this.#asked = Promise.resolve();
    this.#heardAtMs = this.#answeredAtMs = timers.monotonicMs();
  }

  #ask<T>(work: () => Promise<T>): Promise<T> {
    const asked = this.#asked.then(work);
    this.#asked = asked.catch(() => {});
    return asked;
  }

  #notePid(client: pg.ClientBase, pid: number): void {
    const isShared = pid === this.#listenerPid || [...this.#pids.values()].includes(pid);
    if (!isShared) {
      this.#processes.set(client, pid);
      return void this.#pids.set(client, pid);
    }
    // Reconnecting checks whether sessions are really shared.
    if (this.#listener) this.#lose(this.#listener);
    throw new SharedSession('two connections have the same server process');
  }

  #forget(client: pg.ClientBase): void {
    this.#clients.delete(client);
    this.#pids.delete(client);
  }

  #schedulePing(): void {
    if (this.#isClosed) return;
    this.#cancelPing = this.#options.timers.after(PING_EVERY_MS, () => void this.#ping());
  }

  async #ping(): Promise<void> {
    const listener = this.#listener;
    if (!listener) return;
    const { timers, silenceMsMax } = this.#options;
    const askedAtMs = timers.monotonicMs();
    const answer = this.#ask(() => backendPid(listener)).then(
      (pid) => {
        this.#heardAtMs = this.#answeredAtMs = timers.monotonicMs();
        // If the mode of a pooler was changed, it may have lent our session to another client.
        return pid === this.#listenerPid;
      },
      () => false,
    );
    let cancel = () => {};
    const silence = new Promise<boolean>((resolve) => {
      cancel = timers.after(silenceMsMax, () => {
        // A reply early in this time may have been on its way already.
        cancel = timers.after(SECOND_LOOK_MS, () => resolve(this.#answeredAtMs >= askedAtMs + silenceMsMax / 2));
      });
    });
    const isThere = await Promise.race([answer, silence]);
    cancel();
    if (this.#listener !== listener) return;
    if (!isThere) this.#lose(listener);
    else if (timers.monotonicMs() - this.#heardAtMs > DEAF_MS_MAX) await this.#listenAnew(listener);
    else this.#schedulePing();
  }

  /**
   * Only the listener's connection is silent, and would stay so for long: no hint is received or sent until it is
   * replaced.
   */
  async #listenAnew(listener: pg.Client): Promise<void> {
    this.#options.log('warn', {}, 'the connection for notifications does not answer; connecting again');
    try {
      await this.#listen();
    } catch {
      return this.#lose(listener);
    }
    if (this.#isClosed) return void this.#listener?.end().catch(() => {});
    // Lost meanwhile: the reconnect does the rest.
    if (this.#isAway) return;
    this.#schedulePing();
    this.#options.onBack();
  }

  /** The database is away: no caller waits for it any more, and it reconnects until the database is back. */
  #lose(listener: pg.Client): void {
    if (this.#isClosed || this.#listener !== listener) return;
    this.#listener = null;
    this.#listenerPid = 0;
    this.#isAway = true;
    this.#cancelPing();
    this.#options.log('error', {}, 'the database does not answer; trying again until it does');
    destroy(listener);
    const pools = Object.values(this.#pools);
    const clients = [...this.#clients];
    this.#clients.clear();
    this.#pids.clear();
    this.#pools = this.#open();
    // Callers that wait in the old lines are refused as soon as the connections they wait for are closed.
    this.#lines = newLines();
    for (const client of clients) destroy(client);
    for (const pool of pools) void pool.end().catch(() => {});
    void this.#comeBack();
  }

  async #comeBack(): Promise<void> {
    const { timers, log, onBack } = this.#options;
    let isTold = false;
    while (!this.#isClosed) {
      try {
        await this.#listen();
        break;
      } catch (error) {
        if (error instanceof SharedSession && !isTold) log('error', {}, error.message);
        isTold ||= error instanceof SharedSession;
        await new Promise<void>((resolve) => {
          this.#cancelPing = timers.after(RECONNECT_EVERY_MS, resolve);
        });
      }
    }
    if (this.#isClosed) return void this.#listener?.end().catch(() => {});
    this.#isAway = false;
    log('info', {}, 'the database answers again');
    this.#schedulePing();
    onBack();
  }
}
