// The link of a node to its database: the current server, and a watch that quickly notices when that server is
// unavailable, even if a half-open connection reports nothing. From then on every call is refused at once and hanging
// connections are closed. The link tries the servers again until one responds that can be written to.

import {
  type DatabaseTimeouts,
  databaseTimeouts,
  roundTripForTry,
  roundTripOf,
  withRoundTrip,
} from '../../../rules/nodes/database-pace.ts';
import { shownDatabase } from '../../../rules/nodes/database-url.ts';
import type { Clock } from '../../../runtime/world.ts';
import { StoreUnavailable } from '../../ports/store.ts';
import { NotWritable, type Server, within } from './connection.ts';
import { Connections } from './connections.ts';
import { areTablesMissing } from './errors.ts';
import { Listener } from './listener.ts';
import { SharedSession } from './own-session.ts';

const PING_EVERY_MS = 300;
/** If only the listener is silent, it is replaced after this many times the allowed silence. */
const DEAF_TIMES = 4;
/**
 * After a stall, a process runs its timers before it reads the replies that arrived meanwhile. This gives it time to
 * read them.
 */
const SECOND_LOOK_MS = 50;
const RECONNECT_EVERY_MS = 250;

export type WriteLog = (level: 'info' | 'warn' | 'error', fields: object, text: string) => void;

export interface LinkOptions {
  /** To be tried in this order. */
  readonly servers: readonly Server[];
  /** The real clock, even when a test controls the messages' clock: a database responds in real time. */
  readonly timers: Clock;
  readonly log: WriteLog;
  /** The channel to listen on. */
  readonly channel: string;
  readonly onNotification: (payload: string) => void;
  /** The database is available again: hints may have been missed meanwhile. */
  readonly onBack: () => void;
  /** A first measurement of the round trip. */
  readonly roundTripMs: number;
  /** Added to the time limits for replies of the database, and to the time that a transaction may be idle. */
  readonly morePatienceMs: number;
}

/** Why the database is unavailable. `gone`: the database that responds is not the one that was opened. */
export interface Unavailability {
  readonly reason: 'unavailable' | 'gone';
  readonly text: string;
}

const SILENT = 'the database does not respond';
const GONE: Unavailability = { reason: 'gone', text: 'the tables of the store were removed or replaced' };
const WHAT_IS_GONE =
  'the database no longer holds the tables that this node opened: it was dropped, emptied or replaced. Nothing is accepted. ' +
  'If this was not intended, restore the database. Then restart this node';

export class Link {
  readonly #options: LinkOptions;
  #connections: Connections;
  #listener: Listener | null = null;
  /** The id of the table of messages that was opened. */
  #store: string | null = null;
  /** When the listener last got a reply. `#answeredAtMs` is when any connection last got one. */
  #heardAtMs = 0;
  #answeredAtMs: number;
  /** The durations of the latest round trips, in ms, to the server that is connected now. */
  #roundTrips: readonly number[];
  #away: Unavailability | null = null;
  #isClosed = false;
  #cancelPing = () => {};

  constructor(options: LinkOptions) {
    this.#options = options;
    this.#roundTrips = withRoundTrip([], options.roundTripMs);
    this.#connections = this.#open(options.servers[0]!);
    this.#answeredAtMs = options.timers.monotonicMs();
  }

  get connections(): Connections {
    return this.#connections;
  }

  /** Null while the database responds. */
  get away(): Unavailability | null {
    return this.#away;
  }

  get timeouts(): DatabaseTimeouts {
    return databaseTimeouts(this.#roundTrips, this.#options.morePatienceMs);
  }

  get #roundTripMs(): number {
    return roundTripOf(this.#roundTrips);
  }

  /** Starts to listen and begins the watch. Rejects if no server can be used; then it may be called again. */
  async start(): Promise<void> {
    await this.#listen(this.#roundTripMs);
    this.#schedulePing();
  }

  notify(payload: string): void {
    if (this.#away === null) this.#listener?.notify(payload);
  }

  /** Notes that a reply has arrived. */
  noteAnswer(): void {
    this.#answeredAtMs = this.#options.timers.monotonicMs();
  }

  /** Call this after an error that makes the connections useless: callers stop waiting, and new ones are made. */
  lose(error: Error): void {
    if (this.#listener) this.#lose(this.#listener, error.message, areTablesMissing(error) ? GONE : undefined);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelPing();
    const listener = this.#listener;
    this.#listener = null;
    await Promise.allSettled([listener?.end(), this.#connections.end()]);
  }

  #open(server: Server): Connections {
    return new Connections({
      server,
      timers: this.#options.timers,
      connectMs: () => this.timeouts.connectMs,
      morePatienceMs: this.#options.morePatienceMs,
      onSession: (pid) => {
        if (pid !== this.#listener?.session.pid && !this.#connections.has(pid)) return;
        const shared = new SharedSession('two connections have the same server process');
        // Reconnecting checks whether sessions are really shared.
        this.lose(shared);
        throw shared;
      },
    });
  }

  /** Tries one server after the other. */
  async #listen(roundTripMs: number, servers = this.#options.servers): Promise<void> {
    const failed: Error[] = [];
    for (const server of servers) {
      try {
        return await this.#listenTo(server, roundTripMs);
      } catch (error) {
        failed.push(error as Error);
      }
    }
    throw mostUsefulError(failed, servers);
  }

  async #listenTo(server: Server, roundTripMs: number): Promise<void> {
    const { timers, channel, onNotification } = this.#options;
    // This limit has no added time: a caller that starts or has lost the connection tries again.
    const { connectMs } = databaseTimeouts([roundTripMs]);
    const onLost = (each: Listener) => this.#lose(each, SILENT);
    const listener = new Listener({ server, timers, channel, connectMs, onNotification, onLost });
    // If the server was unavailable, its connections were closed, so new ones are needed.
    const isSame = server === this.#connections.server && this.#away === null;
    const connections = isSame ? this.#connections : this.#open(server);
    try {
      await listener.connect();
      this.#requireSameStore(listener);
      const askedAtMs = timers.monotonicMs();
      await within(listener.ping(), connectMs, timers);
      this.#roundTrips = withRoundTrip([], timers.monotonicMs() - askedAtMs);
      const other = await connections.connect('heartbeat');
      await listener.listen(other).then(
        () => other.release(),
        (error: Error) => {
          other.release(error);
          throw error;
        },
      );
      if (this.#isClosed) throw new Error('closed');
    } catch (error) {
      listener.destroy();
      if (!isSame || this.#isClosed) connections.cutOff();
      throw error;
    }
    const before = this.#listener;
    this.#listener = listener;
    before?.destroy();
    this.#store ??= listener.session.store;
    this.#connections = connections;
    this.#heardAtMs = this.#answeredAtMs = timers.monotonicMs();
  }

  #requireSameStore({ session }: Listener): void {
    if (this.#store !== null && session.store !== this.#store) throw new StoreUnavailable(GONE.reason, GONE.text);
  }

  #schedulePing(): void {
    if (this.#isClosed) return;
    this.#cancelPing = this.#options.timers.after(PING_EVERY_MS, () => void this.#ping());
  }

  async #ping(): Promise<void> {
    const listener = this.#listener;
    if (!listener) return;
    const { timers } = this.#options;
    const { silenceMs } = this.timeouts;
    const askedAtMs = timers.monotonicMs();
    const answer = listener.ping().then(
      (isOurs) => {
        this.#heardAtMs = this.#answeredAtMs = timers.monotonicMs();
        this.#roundTrips = withRoundTrip(this.#roundTrips, this.#heardAtMs - askedAtMs);
        return isOurs;
      },
      () => false,
    );
    let cancel = () => {};
    const silence = new Promise<boolean>((resolve) => {
      cancel = timers.after(silenceMs, () => {
        // A reply early in this time may have been sent before the time began.
        cancel = timers.after(SECOND_LOOK_MS, () => resolve(this.#answeredAtMs >= askedAtMs + silenceMs / 2));
      });
    });
    const isThere = await Promise.race([answer, silence]);
    cancel();
    if (this.#listener !== listener) return;
    if (!isThere) this.#lose(listener, SILENT);
    else if (timers.monotonicMs() - this.#heardAtMs > DEAF_TIMES * silenceMs) await this.#listenAnew(listener);
    else this.#schedulePing();
  }

  /** Replaces the listener's connection if only that one is silent: until then, no hint is received or sent. */
  async #listenAnew(listener: Listener): Promise<void> {
    this.#options.log('warn', {}, 'the connection for notifications does not respond; connecting again');
    try {
      await this.#listen(this.#roundTripMs, [this.#connections.server]);
    } catch {
      return this.#lose(listener, SILENT);
    }
    // The link was lost meanwhile: the reconnect does the rest.
    if (this.#away !== null) return;
    this.#schedulePing();
    this.#options.onBack();
  }

  /** The database is unavailable: callers stop waiting for it, and the link reconnects until it is available again. */
  #lose(listener: Listener, why: string, away: Unavailability = { reason: 'unavailable', text: why }): void {
    if (this.#isClosed || this.#listener !== listener) return;
    this.#listener = null;
    this.#away = away;
    this.#cancelPing();
    this.#options.log(
      'error',
      {},
      away === GONE ? WHAT_IS_GONE : `${why}; connecting again until the database can be used`,
    );
    listener.destroy();
    this.#connections.cutOff();
    void this.#comeBack();
  }

  async #comeBack(): Promise<void> {
    const { timers, log, onBack } = this.#options;
    let logged = this.#away === GONE ? WHAT_IS_GONE : '';
    for (let tries = 0; !this.#isClosed; tries += 1) {
      try {
        await this.#listen(roundTripForTry(this.#roundTripMs, tries));
        break;
      } catch (error) {
        if (this.#isClosed) return;
        this.#away = whyAway(error as Error);
        const text = this.#away === GONE ? WHAT_IS_GONE : (error as Error).message;
        if (text !== logged) log('error', {}, text);
        logged = text;
        await new Promise<void>((resolve) => {
          this.#cancelPing = timers.after(RECONNECT_EVERY_MS, resolve);
        });
      }
    }
    if (this.#isClosed) return;
    this.#away = null;
    log('info', {}, 'the database can be used again');
    this.#schedulePing();
    onBack();
  }
}

function whyAway(error: Error): Unavailability {
  if (areTablesMissing(error) || (error instanceof StoreUnavailable && error.reason === 'gone')) return GONE;
  return { reason: 'unavailable', text: error instanceof NotWritable ? error.message : SILENT };
}

/**
 * One error for all servers: the error of a server that responded is more useful than that of one that did not. Its
 * text names all of them.
 */
export function mostUsefulError(failed: readonly Error[], servers: readonly Server[]): Error {
  if (failed.length === 1) return failed[0]!;
  const error = failed.find((each) => each instanceof NotWritable || areTablesMissing(each)) ?? failed.at(-1)!;
  error.message = servers.map(({ url }, index) => `${shownDatabase(url)}: ${failed[index]!.message}`).join('; ');
  return error;
}
