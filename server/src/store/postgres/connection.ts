// How a connection of ours is made: every setting is set by a statement and read back, because a pooler in between drops
// or refuses what is asked for when a connection is opened.

import pg from 'pg';
import type { Clock } from '../../world.ts';
import { typeParsers } from './database.ts';

/** How long to wait for a new connection, or for its settings. */
export const ACQUIRE_MS_MAX = 1500;

export type Settings = ReadonlyMap<string, string>;

/**
 * Every session of ours: a commit is on disk when it is answered; nothing is held for long that others wait for; plans
 * are made for the values and the tables at hand, because a plan made for an empty table is no plan for a full one.
 */
const SESSION: Settings = new Map([
  ['synchronous_commit', 'on'],
  ['statement_timeout', '30000'],
  // A node that stands still in the middle of a transaction holds up the others no longer than this; and nobody waits
  // longer than a caller may.
  ['lock_timeout', '1500'],
  ['idle_in_transaction_session_timeout', '3000'],
  ['plan_cache_mode', 'force_custom_plan'],
  ['client_min_messages', 'warning'],
]);

/** Asked for, but not demanded: a Unix socket has none of them. */
const WISHED: Settings = new Map([
  ['tcp_keepalives_idle', '10'],
  ['tcp_keepalives_interval', '5'],
  ['tcp_keepalives_count', '3'],
]);

/**
 * What writes knows its rows, by their keys or as the first of an index. It never reads a table through, nor all of an
 * index: those of a queue are full of rows that are gone, until they are vacuumed, and only an index scan learns to
 * pass over them.
 */
export const WRITING: Settings = new Map([
  ['enable_seqscan', 'off'],
  ['enable_bitmapscan', 'off'],
  ['enable_hashjoin', 'off'],
  ['enable_mergejoin', 'off'],
  ['enable_incremental_sort', 'off'],
]);

/** What only adds rows chooses no index: one plan is right for all values and tables, and is not made at every call. */
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

/** They are set by statement, and ours after them; in the URL, theirs would win over ours. */
function withoutOptions(url: string): string {
  const parsed = new URL(url);
  parsed.searchParams.delete('options');
  return parsed.href;
}

/** The `options` of the URL: settings (`-c name=value`), and what only a server can be asked for when it is connected to. */
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

/** Did not answer in time, as a database does that is away, or a pooler that has no server connection left for us. */
export class NoAnswer extends Error {
  constructor(ms: number) {
    super(
      `a new connection did not answer within ${ms} ms. Behind a connection pooler, its pool may be too small: a node needs ` +
        'up to 16 connections',
    );
  }
}

export interface SetUp {
  readonly url: string;
  readonly name: string;
  readonly settings?: Settings;
  readonly timers: Clock;
  readonly msMax?: number;
}

/** Sets what every session of ours needs and reads it back. Answers the id of the session's process. */
export async function setUp(client: pg.ClientBase, options: SetUp): Promise<number> {
  const { url, name, settings = new Map(), timers, msMax = ACQUIRE_MS_MAX } = options;
  const demanded: Settings = new Map([...SESSION, ...settings, ['application_name', name]]);
  const all = [...new Map([...givenOptions(url).settings, ...WISHED, ...demanded])];
  const sets = all.map(([key, value]) => `set_config(${pg.escapeLiteral(key)}, ${pg.escapeLiteral(value)}, false)`);
  const names = [...demanded.keys()].map((key) => pg.escapeLiteral(key));
  // Sent as one. What another user of a pooled session has prepared under our names is forgotten.
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
        'is there a connection pooler in between that does not pass it on?',
    );
  }
  return rows[0]!.pid;
}

/** What is not answered in time is given up; the connection is good for nothing then. */
export async function within<T>(answer: Promise<T>, msMax: number, timers: Clock): Promise<T> {
  let cancel = () => {};
  const late = new Promise<never>((_, reject) => {
    cancel = timers.after(msMax, () => reject(new NoAnswer(msMax)));
  });
  // When it is late, nobody hears of it any more.
  answer.catch(() => {});
  try {
    return await Promise.race([answer, late]);
  } finally {
    cancel();
  }
}

/** At once, without a word to the other side: it may not be listening. */
export function destroy(client: pg.ClientBase): void {
  (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
}
