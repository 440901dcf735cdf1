// Opens the store that the settings name, and moves one store into the other. The only file that knows the store
// adapters.

import { join } from 'node:path';
import { BroadcastChannel } from 'node:worker_threads';
import { shownDatabase } from '../rules/nodes/database-url.ts';
import type { NodeDescription } from '../rules/nodes/node.ts';
import { lanes } from '../runtime/lane-part.ts';
import { systemWorld, type World } from '../runtime/world.ts';
import { type MoveProgress, type MoveReport, moveStore } from '../store/move.ts';
import type { DatabaseReserve } from '../store/ports/database-reserve.ts';
import type { OnCommit, Store } from '../store/ports/store.ts';
import type { Inbox } from '../store/shared/inbox.ts';
import { type Backup, startBackup as startFileBackup } from '../store/sqlite/files/backup.ts';
import { type CheckReport, checkStore as checkFileStore } from '../store/sqlite/files/check.ts';
import { DATABASE_FILE, OPEN_FILES, prepareDirectory, requireClock } from '../store/sqlite/files/directory.ts';
import { LiveHeader } from '../store/sqlite/files/live-header.ts';
import { LiveLog } from '../store/sqlite/files/live-log.ts';
import { openReader } from '../store/sqlite/files/open.ts';
import { restoreStore } from '../store/sqlite/files/restore.ts';
import type { StartCheck } from '../store/sqlite/files/start-check.ts';
import { openMoveSource } from '../store/sqlite/move.ts';
import { createSqliteStore, type NodeChannel } from '../store/sqlite/store.ts';
import {
  besideServiceExecutor,
  inlineExecutor,
  threadExecutor,
  timedExecutor,
} from '../store/sqlite/thread/executor.ts';
import { portExecutor, servePort } from '../store/sqlite/thread/port-executor.ts';
import { Reader } from '../store/sqlite/thread/reader.ts';
import { ReadsUnderWay } from '../store/sqlite/thread/reads-under-way.ts';
import { type CallsAtOnce, oneChangeAtATime, withTurnsOfAccounts } from '../store/turns/in-turn.ts';
import type { Log } from '../telemetry/log.ts';
import type { WatchedFiles } from '../upkeep/files.ts';
import { type LaneData, portPair } from './lanes.ts';
import type { Config } from './settings/config.ts';

export type { CheckReport };

export { restoreStore };

export interface OpenStoreOptions {
  readonly node: string;
  readonly about: NodeDescription;
  readonly world: World;
  readonly log: Log;
  readonly inbox: Inbox;
  /** The name of the channel between the lanes of this process; null if there is one lane. */
  readonly channel: string | null;
  /** Set on the thread of a further lane, which writes and reads through ports. */
  readonly lane: LaneData | null;
  /** Called when the store is broken for good: the process can only end. */
  readonly onBroken?: ((error: Error) => void) | undefined;
  /** Called when a newer program is about to change the store. After the change this program cannot serve it. */
  readonly onOutdated?: ((why: string) => void) | undefined;
  /** How much longer than usual a database may take to reply. */
  readonly morePatienceMs?: number | undefined;
  readonly onCommit: OnCommit;
}

/** A file has one thread for lists and one for look-ups. For changes, its writer lets accounts take turns. */
const FILE_AT_ONCE: CallsAtOnce = { lists: 1, lookUps: 1, areNeedsInTurn: false, changes: null };

export interface OpenedStore {
  readonly store: Store;
  /** Makes the ports through which a further lane writes and reads. Null on a further lane, and for a database. */
  readonly connectLane: (() => Pick<LaneData, 'writer' | 'longWriter' | 'readers'>) | null;
  /** Copies the write-ahead log into the store's file, to reuse its space. Null on a further lane, and for a database. */
  readonly emptyLog: (() => Promise<void>) | null;
  /** The reserve in a database. Null for a file, whose reserve is a file too. */
  readonly reserve: DatabaseReserve | null;
}

/** The cost of a read is measured in real time, even in a test with its own clock. */
const realMs = () => systemWorld().clock.monotonicMs();

export async function openStore(config: Config, options: OpenStoreOptions): Promise<OpenedStore> {
  if (config.store === null) {
    const opened = options.lane ? openLane(options.lane, options) : await openFile(config, options);
    return { ...opened, store: withTurnsOfAccounts(opened.store, FILE_AT_ONCE, realMs) };
  }
  const { node, about, log, inbox, onOutdated, morePatienceMs, onCommit } = options;
  // The adapter is loaded only where it is used: a node on a file needs none of it.
  const { openPostgres } = await import('../store/postgres/sessions/open.ts');
  const { ACCOUNT_CONNECTIONS } = await import('../store/postgres/sessions/connections.ts');
  const { store, reserve } = await openPostgres({
    url: config.store,
    node,
    // A database uses real time, even in a test with its own clock.
    timers: systemWorld().clock,
    log: (level, fields, text) => log[level](fields, text),
    inbox,
    about,
    onOutdated,
    morePatienceMs,
    onCommit,
  });
  // A change first waits for earlier changes of its own account, and only then in the line that all accounts share.
  const shared = oneChangeAtATime(withTurnsOfAccounts(store, ACCOUNT_CONNECTIONS, realMs));
  return { store: shared, connectLane: null, emptyLog: null, reserve };
}

/** Opens the store on the thread of a lane. If the store breaks, the main thread closes the process. */
function openLane({ writer, longWriter, readers, shownAs }: LaneData, options: OpenStoreOptions): OpenedStore {
  const { node, about, world, inbox, channel, onCommit } = options;
  const store = createSqliteStore({
    executor: timedExecutor(portExecutor(writer), realMs, onCommit),
    longExecutor: timedExecutor(portExecutor(longWriter), realMs, onCommit),
    readers: { lookUp: portExecutor(readers.lookUp), list: portExecutor(readers.list) },
    clock: world.clock,
    timers: systemWorld().clock,
    node,
    shownAs,
    inbox,
    about,
    channel: channel === null ? null : laneChannel(channel),
    onBroken: () => {},
  });
  return { store, connectLane: null, emptyLog: null, reserve: null };
}

async function openFile(config: Config, options: OpenStoreOptions): Promise<OpenedStore> {
  const { node, about, world, log, inbox, channel, onBroken, onCommit } = options;
  // A disk uses real time, even in a test with its own clock.
  const timers = systemWorld().clock;
  for (const warning of prepareDirectory(config.data)) log.warn({}, warning);
  requireClock(config.data, config.clock === 'manual');
  const onFound = (found: StartCheck) => logFound(log, found, config.data);
  const executor = await threadExecutor(config.data, 'writer', undefined, onFound);
  const underWay = new ReadsUnderWay(config.data, executor.emptyLog!);
  const newReader = () =>
    new Reader({ directory: config.data, underWay, timers, log: (level, fields, text) => log[level](fields, text) });
  const readers = { lookUp: newReader(), list: newReader() };
  const store = createSqliteStore({
    executor: timedExecutor(executor, realMs, onCommit),
    longExecutor: lanes() > 1 ? timedExecutor(portExecutor(executor.connect!()), realMs, onCommit) : null,
    readers,
    channel: channel === null ? null : laneChannel(channel),
    clock: world.clock,
    timers,
    node,
    inbox,
    about,
    onBroken: (error) => {
      try {
        log.fatal({ err: error }, 'the server can no longer write to the store');
      } finally {
        // Called even if logging fails: nothing may be accepted any more.
        onBroken?.(error);
      }
    },
  });
  const connectLane = () => {
    // The thread of a reader may end and be replaced, so lanes reach it through this thread.
    const served = (reader: Reader) => {
      const { here, there } = portPair();
      servePort(here, reader, node);
      return there;
    };
    return {
      writer: executor.connect!(),
      longWriter: executor.connect!(),
      readers: { lookUp: served(readers.lookUp), list: served(readers.list) },
    };
  };
  return { store, connectLane, emptyLog: executor.emptyLog!, reserve: null };
}

/** A channel that reaches all lanes of the process that use the same name. */
function laneChannel(name: string): NodeChannel {
  const channel = new BroadcastChannel(`postrider ${name}`);
  return {
    say: (payload) => channel.postMessage(payload),
    onHeard: (listener) => {
      channel.onmessage = (event) => listener(String((event as MessageEvent).data));
    },
    close: () => channel.close(),
  };
}

function logFound(log: Log, { problems, unchecked }: StartCheck, directory: string): void {
  if (problems.length > 0) {
    log.error(
      { problems },
      `the database in ${directory} is damaged. The server uses it anyway, because most of it can be read. Stop the server, copy the ` +
        'directory, check the disk, run postrider check, and restore a backup if needed',
    );
  }
  if (unchecked.length > 0) {
    log.info(
      { unchecked },
      'the database is large: these tables were not checked at the start; run postrider check to check them',
    );
  }
}

/**
 * Opens a store for a command that makes a small change, possibly while a service runs on the store. It neither creates
 * nor migrates the store: the service does that.
 */
export async function openStoreForCommand(config: Config): Promise<Store> {
  const { clock } = systemWorld();
  const node = 'nod_beside';
  if (config.store !== null) {
    const { openPostgresStore } = await import('../store/postgres/sessions/open.ts');
    return openPostgresStore({ url: config.store, node, timers: clock, log: () => {}, isBeside: true });
  }
  const onBroken = (error: Error) => {
    throw error;
  };
  const executor = besideServiceExecutor(config.data);
  // Lists are read over a separate connection, so that they do not prevent a service from writing.
  const reader = () => inlineExecutor(openReader(config.data).database);
  return createSqliteStore({ executor, readers: { lookUp: reader(), list: reader() }, clock, node, onBroken });
}

/**
 * The files that a running service has open. A database has none. Close the result after the store, and only once in a
 * process: closing a file drops all locks of the process on it, also those that other threads need.
 */
export function storeFiles(config: Config): WatchedFiles & { close(): void } {
  if (config.store !== null) return { paths: [], overwritten: async () => null, close: () => {} };
  const path = join(config.data, DATABASE_FILE);
  const header = new LiveHeader(path, systemWorld().clock);
  const liveLog = new LiveLog(path);
  return {
    paths: OPEN_FILES.map((name) => join(config.data, name)),
    overwritten: async () => {
      if (await header.isOverwritten()) return path;
      return (await liveLog.isChanged()) ? `${path}-wal` : null;
    },
    close() {
      header.close();
      liveLog.close();
    },
  };
}

/**
 * Starts to copy the store of the data directory, to the file that `--to` names or to one named after the time. If the
 * copy cannot start, this throws before anything is written.
 */
export function startBackup(config: Config, now: number): Backup {
  requireDirectory(config, 'make a copy with pg_dump, or a base backup with the write-ahead log');
  const time = new Date(now).toISOString().replaceAll(':', '').replace(/\.\d+/, '');
  return startFileBackup(config.data, config.to ?? `postrider-backup-${time}.db`);
}

export function checkStore(config: Config): CheckReport {
  requireDirectory(config, 'check it with pg_amcheck, and turn on its data checksums');
  return checkFileStore(config.data, config.repair);
}

function requireDirectory(config: Config, instead: string): void {
  if (config.store === null) return;
  throw new Error(`the store is ${storeLocation(config)}, but this command works only on a data directory: ${instead}`);
}

/** Where messages are stored, as text. */
export function storeLocation(config: Config): string {
  return config.store === null ? config.data : `PostgreSQL at ${shownDatabase(config.store)}`;
}

/** Copies the data directory into the database of `--store`. Rejects with MoveStopped if it fails after the start. */
export async function moveIntoDatabase(
  config: Config,
  onProgress: (progress: MoveProgress) => void,
): Promise<MoveReport> {
  const { clock } = systemWorld();
  requireClock(config.data, false);
  const source = openMoveSource(config.data, shownDatabase(config.store!));
  try {
    const { openMoveTarget } = await import('../store/postgres/move.ts');
    const target = await openMoveTarget({ url: config.store!, timers: clock, log: () => {} });
    try {
      return await moveStore(source, target, { now: clock.now(), onProgress });
    } finally {
      await target.close();
    }
  } finally {
    source.close();
  }
}
