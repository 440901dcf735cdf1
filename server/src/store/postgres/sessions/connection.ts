// Opens a connection. Every setting is set by a statement and read back, because a pooler in between may drop or refuse
// settings given at connect.

import pg from 'pg';
import { parseDatabaseUrl, type TargetServer } from '../../../rules/nodes/database-url.ts';
import type { Clock } from '../../../runtime/world.ts';
import { typeParsers } from './database.ts';

/** How long to wait for the settings of a new connection, if the round trip is not known. */
const ACQUIRE_MS_MAX = 5000;

const LOCK_MS_MAX = 1500;
/** A node that stalls in the middle of a transaction blocks the others no longer than this. */
export const STALL_MS_MAX = 3000;
/** The setting of PostgreSQL that ends the transaction of a node that stalls. */
export const STALL_SETTING = 'idle_in_transaction_session_timeout';
/** How long an insert waits for a lock. Less than `commitMs`: the server can still report that nothing was written. */
const ADD_LOCK_MS_MAX = 1000;

export type Settings = ReadonlyMap<string, string>;

/**
 * For every session: a commit is on disk when it returns; no lock is held long; and each statement is planned for its
 * values and the current tables, because a plan made for an empty table is bad for a full one.
 */
const SESSION: Settings = new Map([
  ['synchronous_commit', 'on'],
  ['statement_timeout', '30000'],
  // No statement waits for a lock longer than its caller may wait.
  ['lock_timeout', String(LOCK_MS_MAX)],
  [STALL_SETTING, String(STALL_MS_MAX)],
  ['plan_cache_mode', 'force_custom_plan'],
  // Every statement is short. Scans that `WRITER_SETTINGS` turns off count as so expensive that they would be compiled first.
  ['jit', 'off'],
  ['client_min_messages', 'warning'],
]);

/** Set but not required: a connection over a Unix socket has none of these settings. */
const WISHED: Settings = new Map([
  ['tcp_keepalives_idle', '10'],
  ['tcp_keepalives_interval', '5'],
  ['tcp_keepalives_count', '3'],
]);

/**
 * A write finds its rows by key, or as the first rows of an index. It must never scan a whole table or a whole index:
 * the indexes of a queue are full of dead rows until vacuum, and only an index scan learns to skip them.
 */
export const WRITER_SETTINGS: Settings = new Map([
  ['enable_seqscan', 'off'],
  ['enable_bitmapscan', 'off'],
  ['enable_hashjoin', 'off'],
  ['enable_mergejoin', 'off'],
  ['enable_incremental_sort', 'off'],
]);

/**
 * A statement that only inserts chooses no index: one generic plan fits all values and is not made again for each call.
 */
export const ADDER_SETTINGS: Settings = new Map([
  ...WRITER_SETTINGS,
  ['plan_cache_mode', 'force_generic_plan'],
  ['lock_timeout', String(ADD_LOCK_MS_MAX)],
]);

/** For the probe, which takes the same locks as an insert of messages. */
export const PROBE_SETTINGS: Settings = new Map([['lock_timeout', String(ADD_LOCK_MS_MAX)]]);

/** One server of the database, and the settings of every connection to it. */
export interface Server {
  readonly url: string;
  readonly target: TargetServer;
  readonly options: DatabaseUrlOptions;
}

/** The servers to try, in this order. */
export function serversOf(url: string): Server[] {
  const parsed = parseDatabaseUrl(url);
  if ('rule' in parsed) throw new Error(`the URL of the database ${parsed.rule}`);
  const options = databaseUrlOptions(parsed.options);
  return parsed.servers.map((server) => ({ url: server, target: parsed.target, options }));
}

export function clientConfig({ url, options: { rest } }: Server, name: string, connectMs: number): pg.ClientConfig {
  return {
    connectionString: url,
    application_name: name,
    ...(rest !== '' && { options: rest }),
    connectionTimeoutMillis: connectMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    types: typeParsers,
  };
}

export interface DatabaseUrlOptions {
  readonly settings: Settings;
  readonly rest: string;
}

/**
 * Splits the `options` of the URL into settings (`-c name=value`) and the rest, which only the server can interpret at
 * connect. The settings are set by statement, before ours. In the URL, they would override ours.
 */
export function databaseUrlOptions(options: string): DatabaseUrlOptions {
  const words = options.match(/(?:\\.|[^\s\\])+/g) ?? [];
  const settings = new Map<string, string>();
  const rest: string[] = [];
  for (let at = 0; at < words.length; at += 1) {
    const isApart = words[at] === '-c' && at + 1 < words.length;
    const word = isApart ? `-c${words[++at]}` : words[at]!;
    const [, name, value] = /^(?:-c|--)([\w.-]+)=(.*)$/s.exec(word.replace(/\\(.)/gs, '$1')) ?? [];
    if (name === undefined || value === undefined) rest.push(word);
    else settings.set(name.replaceAll('-', '_'), value);
  }
  return { settings, rest: rest.join(' ') };
}

/** No reply in time: the database is unavailable, or a pooler has no server connection left for us. */
export class NoReply extends Error {
  constructor(ms: number) {
    super(
      `a new connection did not respond within ${ms} ms. Behind a connection pooler, its pool may be too small: a node needs ` +
        'up to 18 connections',
    );
  }
}

/** The error texts of the driver and its pool when a connection is not made within `connectionTimeoutMillis`. */
const TIMEOUTS: readonly string[] = [
  'timeout expired',
  'timeout exceeded when trying to connect',
  'Connection terminated due to connection timeout',
];

/** Whether a new connection was not made, or did not respond, in time. */
export function isNoReply(error: unknown): boolean {
  return error instanceof NoReply || (error instanceof Error && TIMEOUTS.includes(error.message));
}

/** The server cannot be written to: it is a standby, or it is read-only and the URL requires a writable one. */
export class NotWritable extends Error {}

export interface SessionSettings {
  readonly server: Server;
  readonly name: string;
  readonly settings?: Settings;
  readonly timers: Clock;
  readonly msMax?: number;
}

export interface Session {
  /** The id of the server process. */
  readonly pid: number;
  /** The id of the table of messages; null if there is none. Another id means another store. */
  readonly store: string | null;
}

interface SessionRow {
  readonly pid: number;
  readonly store: string | null;
  readonly is_standby: boolean;
  readonly is_read_only: boolean;
  readonly name: string;
  readonly setting: string;
}

/** Applies the settings that every session needs and reads them back. Rejects if the server cannot be written to. */
export async function prepareSession(client: pg.ClientBase, options: SessionSettings): Promise<Session> {
  const { server, name, settings = new Map(), timers, msMax = ACQUIRE_MS_MAX } = options;
  const demanded: Settings = new Map([...SESSION, ...settings, ['application_name', name]]);
  const all = [...new Map([...server.options.settings, ...WISHED, ...demanded])];
  const sets = all.map(([key, value]) => `set_config(${pg.escapeLiteral(key)}, ${pg.escapeLiteral(value)}, false)`);
  const names = [...demanded.keys()].map((key) => pg.escapeLiteral(key));
  // Sent as one query. DEALLOCATE drops statements that another user of a pooled session prepared under our names.
  const answer = client.query(
    `DEALLOCATE ALL; SELECT ${sets.join(', ')};
     SELECT pg_backend_pid() AS pid, to_regclass('messages')::oid::text AS store, pg_is_in_recovery() AS is_standby,
       current_setting('default_transaction_read_only') = 'on' AS is_read_only, name, setting
       FROM pg_settings WHERE name IN (${names.join(', ')})`,
  ) as unknown as Promise<pg.QueryResult[]>;
  const results = await within(answer, msMax, timers);
  const rows = results.at(-1)!.rows as SessionRow[];
  const found = new Map(rows.map((row) => [row.name, row.setting]));
  for (const [key, value] of demanded) {
    if (found.get(key) === value) continue;
    throw new Error(
      `${key} is ${found.get(key) ?? 'unknown'} although this session set it to ${value}; ` +
        'check for a connection pooler that does not pass this setting on',
    );
  }
  const { pid, store, is_standby, is_read_only } = rows[0]!;
  if (is_standby) throw new NotWritable('the server is a standby, which cannot be written to');
  if (is_read_only && server.target === 'read-write') {
    throw new NotWritable('the server is set to be read-only (default_transaction_read_only)');
  }
  return { pid, store };
}

/** Rejects if there is no reply in time. The connection must not be used after that. */
export async function within<T>(answer: Promise<T>, msMax: number, timers: Clock): Promise<T> {
  let cancel = () => {};
  const late = new Promise<never>((_, reject) => {
    cancel = timers.after(msMax, () => reject(new NoReply(msMax)));
  });
  // A late error must not become an unhandled rejection.
  answer.catch(() => {});
  try {
    return await Promise.race([answer, late]);
  } finally {
    cancel();
  }
}
