// Opens a connection. Every setting is set by a statement and read back, because a pooler in between may drop or refuse
// settings given at connect.

import pg from 'pg';
import type { Clock } from '../../world.ts';
import { typeParsers } from './database.ts';

/** How long to wait for a new connection, or for its settings. */
export const ACQUIRE_MS_MAX = 1500;

export type Settings = ReadonlyMap<string, string>;

/**
 * For every session: a commit is on disk when it returns; no lock is held long; and each statement is planned for its
 * values and the current tables, because a plan made for an empty table is bad for a full one.
 */
const SESSION: Settings = new Map([
  ['synchronous_commit', 'on'],
  ['statement_timeout', '30000'],
  // A node that stalls in the middle of a transaction blocks the others no longer than this. No statement waits longer
  // for a lock than its caller may.
  ['lock_timeout', '1500'],
  ['idle_in_transaction_session_timeout', '3000'],
  ['plan_cache_mode', 'force_custom_plan'],
  ['client_min_messages', 'warning'],
]);

/** Set but not required: a Unix socket has none of them. */
const WISHED: Settings = new Map([
  ['tcp_keepalives_idle', '10'],
  ['tcp_keepalives_interval', '5'],
  ['tcp_keepalives_count', '3'],
]);

/**
 * A write finds its rows by key, or as the first rows of an index. It must never scan a whole table or a whole index:
 * the indexes of a queue are full of dead rows until vacuum, and only an index scan learns to skip them.
 */
export const WRITING: Settings = new Map([
  ['enable_seqscan', 'off'],
  ['enable_bitmapscan', 'off'],
  ['enable_hashjoin', 'off'],
  ['enable_mergejoin', 'off'],
  ['enable_incremental_sort', 'off'],
]);

/**
 * A statement that only inserts chooses no index: one generic plan fits all values and is not made again for each call.
 */
export const ADDING: Settings = new Map([...WRITING, ['plan_cache_mode', 'force_generic_plan']]);

export function clientConfig(url: string, name: string): pg.ClientConfig {
  const { rest } = givenOptions(url);
  return {
    connectionString: withoutOptions(url),
    application_name: name,
    ...(rest !== '' && { options: rest }),
    connectionTimeoutMillis: ACQUIRE_MS_MAX,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    types: typeParsers,
  };
}

/** The options of the URL are set by statement, before ours. In the URL, they would override ours. */
function withoutOptions(url: string): string {
  const parsed = new URL(url);
  parsed.searchParams.delete('options');
  return parsed.href;
}

/**
 * The `options` of the URL: settings (`-c name=value`), and the rest, which only the server can interpret at connect.
 */
export function givenOptions(url: string): { settings: Settings; rest: string } {
  const given = new URL(url).searchParams.get('options') ?? '';
  const words = given.match(/(?:\\.|[^\s\\])+/g) ?? [];
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

/** No reply in time: the database is away, or a pooler has no server connection left for us. */
export class NoAnswer extends Error {
  constructor(ms: number) {
    super(
      `a new connection did not answer within ${ms} ms. Behind a connection pooler, its pool may be too small: a node needs ` +
        'up to 17 connections',
    );
  }
}

/** What the driver and its pool say when a connection is not made within `connectionTimeoutMillis`. */
const TIMEOUTS: readonly string[] = ['timeout expired', 'timeout exceeded when trying to connect'];

/** Whether a new connection was not made, or did not answer, in time. */
export function isNoAnswer(error: unknown): boolean {
  return error instanceof NoAnswer || (error instanceof Error && TIMEOUTS.includes(error.message));
}

export interface SetUp {
  readonly url: string;
  readonly name: string;
  readonly settings?: Settings;
  readonly timers: Clock;
  readonly msMax?: number;
}

/** Applies the settings that every session needs and reads them back. Returns the id of the server process. */
export async function setUp(client: pg.ClientBase, options: SetUp): Promise<number> {
  const { url, name, settings = new Map(), timers, msMax = ACQUIRE_MS_MAX } = options;
  const demanded: Settings = new Map([...SESSION, ...settings, ['application_name', name]]);
  const all = [...new Map([...givenOptions(url).settings, ...WISHED, ...demanded])];
  const sets = all.map(([key, value]) => `set_config(${pg.escapeLiteral(key)}, ${pg.escapeLiteral(value)}, false)`);
  const names = [...demanded.keys()].map((key) => pg.escapeLiteral(key));
  // Sent as one query. DEALLOCATE drops statements that another user of a pooled session prepared under our names.
  const answer = client.query(
    `DEALLOCATE ALL; SELECT ${sets.join(', ')};
     SELECT pg_backend_pid() AS pid, name, setting FROM pg_settings WHERE name IN (${names.join(', ')})`,
  ) as unknown as Promise<pg.QueryResult[]>;
  const results = await within(answer, msMax, timers);
  const rows = results.at(-1)!.rows as { pid: number; name: string; setting: string }[];
  const found = new Map(rows.map((row) => [row.name, row.setting]));
  for (const [key, value] of demanded) {
    if (found.get(key) === value) continue;
    throw new Error(
      `${key} is ${found.get(key) ?? 'unknown'} although this session set it to ${value}; ` +
        'check for a connection pooler that does not pass this setting on',
    );
  }
  return rows[0]!.pid;
}

/** Rejects if there is no reply in time. The connection must not be used after that. */
export async function within<T>(answer: Promise<T>, msMax: number, timers: Clock): Promise<T> {
  let cancel = () => {};
  const late = new Promise<never>((_, reject) => {
    cancel = timers.after(msMax, () => reject(new NoAnswer(msMax)));
  });
  // A late error must not become an unhandled rejection.
  answer.catch(() => {});
  try {
    return await Promise.race([answer, late]);
  } finally {
    cancel();
  }
}

/** Closes at once, without a message to the other side, which may not be listening. */
export function destroy(client: pg.ClientBase): void {
  (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
}
