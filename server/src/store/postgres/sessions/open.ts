// Opens the database so that a commit means "on disk", and refuses to run where that is not certain. Brings its schema
// up to date, one node at a time.

import pg from 'pg';
import { shownDatabase } from '../../../rules/nodes/database-url.ts';
import type { NodeDescription } from '../../../rules/nodes/node.ts';
import type { Clock } from '../../../runtime/world.ts';
import type { Files } from '../../../shipped-files.ts';
import type { OnCommit, Store } from '../../ports/store.ts';
import type { Inbox } from '../../shared/inbox.ts';
import { probe } from '../deliveries/insert.ts';
import { createPostgresStore, type PostgresStore } from '../store.ts';
import { clientConfig, isNoReply, NotWritable, prepareSession, type Server, serversOf } from './connection.ts';
import { Database } from './database.ts';
import { mostUsefulError, type WriteLog } from './link.ts';
import { requireOwnSessions } from './own-session.ts';
import { Pool } from './pool.ts';
import { bringUpToDate, hasTable, requireUpToDate, underSchemaLock } from './schema-upgrade.ts';

const VERSION_MIN = 14;
/** How long to wait for a database that is starting. */
const START_MS_MAX = 10_000;
const START_PAUSE_MS = 500;
/** How long one connection may take at start. No request waits yet, so a distant server gets more time. */
const CONNECT_MS_MAX = 5000;
const START_NAME = 'postrider start';

export interface OpenOptions {
  readonly url: string;
  readonly node: string;
  /** The real clock. */
  readonly timers: Clock;
  readonly log: WriteLog;
  /** See PostgresStoreOptions. */
  readonly knownForMs?: number;
  /** For a command beside the service: the schema is neither created nor brought up to date. */
  readonly isBeside?: boolean;
  /** See PostgresStoreOptions. */
  readonly inbox?: Inbox;
  /** Another version of the schema, for tests. */
  readonly migrations?: Files;
  /** See LinkOptions. For tests: on a busy machine, an available database may be silent for some time. */
  readonly morePatienceMs?: number | undefined;
  /** The schema now needs a newer program: the node must stop in an orderly way. */
  readonly onOutdated?: ((why: string) => void) | undefined;
  /** What people want to know about this node: its role, version and address. */
  readonly about?: NodeDescription;
  readonly onCommit?: OnCommit;
}

export async function openPostgresStore(options: OpenOptions): Promise<Store> {
  return (await openPostgres(options)).store;
}

/** Opens the database for a node, which also keeps the reserve. */
export async function openPostgres(options: OpenOptions): Promise<Pick<PostgresStore, 'store' | 'reserve'>> {
  const { url, node, timers, log, about = { role: 'all', version: '', address: '' } } = options;
  const { channel, known, roundTripMs } = await prepare(options);
  let opened: PostgresStore | null = null;
  const pool = new Pool({
    servers: serversOf(url),
    timers,
    log,
    channel,
    onNotification: (payload) => opened?.hear(payload),
    onBack: () => opened?.cameBack(),
    onReserveReleased: () => opened?.reserveReleased(),
    probe: (database) => probe(database, node),
    roundTripMs,
    morePatienceMs: options.morePatienceMs ?? 0,
  });
  const { knownForMs, onCommit } = options;
  opened = createPostgresStore({
    pool,
    timers,
    node,
    about,
    schema: { known, onOutdated: options.onOutdated ?? (() => {}) },
    ...(knownForMs !== undefined && { knownForMs }),
    ...(options.inbox && { inbox: options.inbox }),
    ...(onCommit && { onCommit }),
  });
  await start(pool, timers);
  return opened;
}

/** Checks that the server is durable, and migrates, on a connection of its own. */
async function prepare(options: OpenOptions): Promise<{ channel: string; known: number; roundTripMs: number }> {
  const client = await connect(options.url, options.timers);
  try {
    await requireSessions(client, options);
    const database = new Database(client);
    await requireDurability(database, options.log);
    const known = await underSchemaLock(database, options, async () => {
      const version = await (options.isBeside
        ? requireUpToDate(database, options.migrations)
        : bringUpToDate(database, options));
      await requireNoMove(database);
      return version;
    });
    const askedAtMs = options.timers.monotonicMs();
    const row = await database.get<{ schema: string }>('SELECT current_schema() AS schema');
    const roundTripMs = options.timers.monotonicMs() - askedAtMs;
    return { channel: `postrider ${row!.schema}`, known, roundTripMs };
  } finally {
    await client.end().catch(() => {});
  }
}

/** Opens one connection for a move into the database. Requires the same durability and schema as for a node. */
export async function openForMove(options: Pick<OpenOptions, 'url' | 'timers' | 'log'>) {
  const client = await connect(options.url, options.timers);
  const close = () => client.end().catch(() => {});
  try {
    await requireSessions(client, options);
    const database = new Database(client);
    await requireDurability(database, options.log);
    await underSchemaLock(database, options, () => bringUpToDate(database, options));
    return { database, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Starts the pool. No request waits yet, so a slow database is tried again. */
async function start(pool: Pool, timers: Clock): Promise<void> {
  const endsAtMs = timers.monotonicMs() + START_MS_MAX;
  for (;;) {
    try {
      return await pool.start();
    } catch (error) {
      if (!isNoReply(error) || timers.monotonicMs() > endsAtMs) throw error;
    }
  }
}

/** Connects to the first server that can be used. If there is none, returns the errors of all servers. */
async function connectToFirst(servers: ReturnType<typeof serversOf>, timers: Clock): Promise<pg.Client | Error[]> {
  const failed: Error[] = [];
  for (const server of servers) {
    try {
      return await connectTo(server, timers);
    } catch (error) {
      failed.push(error as Error);
    }
  }
  return failed;
}

/** Connects to the first server that can be used. Tries again for some seconds if an error is temporary. */
async function connect(url: string, timers: Clock): Promise<pg.Client> {
  const servers = serversOf(url);
  const endsAtMs = timers.monotonicMs() + START_MS_MAX;
  for (;;) {
    const failed = await connectToFirst(servers, timers);
    if (!Array.isArray(failed)) return failed;
    const error = mostUsefulError(failed, servers);
    if (!failed.some(mayPass) || timers.monotonicMs() > endsAtMs) {
      const what = `cannot ${error instanceof NotWritable ? 'use' : 'reach'} PostgreSQL at ${shownDatabase(url)}`;
      throw new Error(`${what}: ${error.message || (error as { code?: string }).code}`);
    }
    await new Promise<void>((resolve) => timers.after(START_PAUSE_MS, resolve));
  }
}

async function connectTo(server: Server, timers: Clock): Promise<pg.Client> {
  const client = new pg.Client(clientConfig(server, START_NAME, CONNECT_MS_MAX));
  // An 'error' event without a listener would end the process. The running statement reports the error too.
  client.on('error', () => {});
  try {
    await client.connect();
    await prepareSession(client, { server, name: START_NAME, timers });
    return client;
  } catch (error) {
    void client.end().catch(() => {});
    throw error;
  }
}

/** Whether the error is temporary: the server is starting, does not respond, or may soon be promoted. */
function mayPass(error: Error): boolean {
  const { code } = error as { code?: string };
  return code === 'ECONNREFUSED' || code === '57P03' || isNoReply(error) || error instanceof NotWritable;
}

/** Runs before any change: in a session shared with other clients, neither our locks nor our settings would hold. */
async function requireSessions(client: pg.Client, { url, timers }: Pick<OpenOptions, 'url' | 'timers'>): Promise<void> {
  const other = await connect(url, timers);
  try {
    // No request waits yet, so an overloaded machine gets more time.
    await requireOwnSessions(client, other, timers, START_MS_MAX);
  } finally {
    await other.end().catch(() => {});
  }
}

async function requireDurability(database: Database, log: WriteLog): Promise<void> {
  const settings = await database.all<{ name: string; setting: string }>(
    `SELECT name, setting FROM pg_settings WHERE name IN
       ('fsync', 'full_page_writes', 'synchronous_standby_names', 'server_version_num', 'track_activities')`,
  );
  const of = new Map(settings.map(({ name, setting }) => [name, setting]));
  const version = Math.floor(Number(of.get('server_version_num')) / 10_000);
  if (version < VERSION_MIN) {
    throw new Error(`this is PostgreSQL ${version}; postrider needs ${VERSION_MIN} or newer`);
  }
  for (const name of ['fsync', 'full_page_writes']) {
    if (of.get(name) === 'off') {
      throw new Error(
        `PostgreSQL runs with ${name}=off: an acknowledged message could be lost when the machine stops. ` +
          `Set ${name}=on and restart PostgreSQL.`,
      );
    }
  }
  if (of.get('track_activities') === 'off') {
    throw new Error(
      'PostgreSQL runs with track_activities=off: live events could be lost, because nodes cannot see which transactions ' +
        'still run. Set track_activities=on.',
    );
  }
  if (of.get('synchronous_standby_names') === '') {
    log(
      'info',
      {},
      'PostgreSQL has no synchronous standby: acknowledged messages are on the disk of one server only, and are lost with this server',
    );
  }
}

/** A half-finished copy must not be used as a store. */
async function requireNoMove(database: Database): Promise<void> {
  if (await hasUnfinishedMove(database)) {
    throw new Error('a move into this database is not finished; run postrider migrate-store again');
  }
}

/** The table is created when a move begins and dropped when it is finished: move.ts. */
export function hasUnfinishedMove(database: Database): Promise<boolean> {
  return hasTable(database, 'store_move');
}
