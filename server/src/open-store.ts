// Opens the store that the settings name, and moves one into the other. Beside main.ts the only file that knows the
// store adapters.

import { join } from 'node:path';
import type { Config } from './config.ts';
import type { NodeAbout } from './domain/node.ts';
import { changingInTurn } from './store/changes-in-turn.ts';
import { type AtOnce, inTurn } from './store/in-turn.ts';
import type { Inbox } from './store/inbox.ts';
import { type MoveProgress, type MoveReport, moveStore } from './store/move.ts';
import { openMoveTarget } from './store/postgres/move.ts';
import { openPostgresStore, shown } from './store/postgres/open.ts';
import { DATABASE_AT_ONCE } from './store/postgres/pool.ts';
import { type Backup, startBackup as startFileBackup } from './store/sqlite/backup.ts';
import { type CheckReport, checkStore as checkFileStore } from './store/sqlite/check.ts';
import { DATABASE_FILE, OPEN_FILES, prepareDirectory } from './store/sqlite/directory.ts';
import { besideExecutor, threadExecutor } from './store/sqlite/executor.ts';
import { LiveHeader } from './store/sqlite/live-header.ts';
import { openMoveSource } from './store/sqlite/move.ts';
import { readerExecutor } from './store/sqlite/reader.ts';
import type { StartCheck } from './store/sqlite/start-check.ts';
import { createSqliteStore } from './store/sqlite/store.ts';
import type { Store } from './store/store.ts';
import type { Log } from './telemetry/log.ts';
import type { WatchedFiles } from './upkeep/files.ts';
import { systemWorld, type World } from './world.ts';

export interface OpenStoreOptions {
  readonly node: string;
  readonly about: NodeAbout;
  readonly world: World;
  readonly log: Log;
  readonly inbox: Inbox;
  /** The store is gone for good: there is nothing left to do but end the process. */
  readonly onBroken?: ((error: Error) => void) | undefined;
  /** A newer program is about to change the store so that this one cannot serve it any more. */
  readonly onOutdated?: ((why: string) => void) | undefined;
}

/** The reader of a file is one thread; what writes it has accounts take turns by itself. */
const FILE_AT_ONCE: AtOnce = { lists: 1, lookUps: null, changes: null };

export async function openStore(config: Config, options: OpenStoreOptions): Promise<Store> {
  const store = await openAdapter(config, options);
  if (config.store === null) return inTurn(store, FILE_AT_ONCE);
  // Who waits for a change of its own account does not wait in the line of all.
  return changingInTurn(inTurn(store, DATABASE_AT_ONCE));
}

async function openAdapter(config: Config, options: OpenStoreOptions): Promise<Store> {
  const { node, about, world, log, inbox, onBroken, onOutdated } = options;
  // A disk or a database answers in real time, whatever time a test has for the messages.
  const timers = systemWorld().clock;
  if (config.store !== null) {
    return openPostgresStore({
      url: config.store,
      node,
      timers,
      log: (level, fields, text) => log[level](fields, text),
      inbox,
      about,
      onOutdated,
    });
  }
  for (const warning of prepareDirectory(config.data)) log.warn({}, warning);
  const onFound = (found: StartCheck) => logFound(log, found, config.data);
  const executor = await threadExecutor(config.data, 'writer', undefined, onFound);
  return createSqliteStore({
    executor,
    reader: await readerExecutor({
      directory: config.data,
      emptyLog: executor.emptyLog!,
      timers,
      log: (level, fields, text) => log[level](fields, text),
    }),
    clock: world.clock,
    timers,
    node,
    inbox,
    about,
    onBroken: (error) => {
      try {
        log.fatal({ err: error }, 'the store can no longer be written');
      } finally {
        // Whatever becomes of the log: nothing may be accepted any more.
        onBroken?.(error);
      }
    },
  });
}

function logFound(log: Log, { problems, unchecked }: StartCheck, directory: string): void {
  if (problems.length > 0) {
    log.error(
      { problems },
      `the database in ${directory} is damaged. It is used all the same, because most of it can be read: stop the server, copy the ` +
        'directory, look at the disk, run postrider check, and restore a backup if need be',
    );
  }
  if (unchecked.length > 0) {
    log.info({ unchecked }, 'the database is large: these tables were not checked at the start; postrider check does');
  }
}

/**
 * The same store for a command that changes a little in it and leaves, beside a service that may run on it. Neither made nor
 * brought up to date: that is for the service to do.
 */
export async function openStoreBeside(config: Config): Promise<Store> {
  const { clock } = systemWorld();
  const node = 'nod_beside';
  if (config.store !== null) {
    return openPostgresStore({ url: config.store, node, timers: clock, log: () => {}, isBeside: true });
  }
  const onBroken = (error: Error) => {
    throw error;
  };
  return createSqliteStore({ executor: besideExecutor(config.data), clock, node, onBroken });
}

/** The files that a running service has open; none of a database. To be closed behind the store. */
export function storeFiles(config: Config): WatchedFiles & { close(): void } {
  if (config.store !== null) return { paths: [], overwritten: async () => null, close: () => {} };
  const path = join(config.data, DATABASE_FILE);
  const header = new LiveHeader(path);
  return {
    paths: OPEN_FILES.map((name) => join(config.data, name)),
    overwritten: async () => ((await header.isOverwritten()) ? path : null),
    close: () => header.close(),
  };
}

/** A copy of the data directory's store, under the name of `--to` or one made of the time. Throws before anything was made. */
export function startBackup(config: Config, now: number): Backup {
  requireDirectory(config, 'make a copy with pg_dump, or a base backup with its log');
  const time = new Date(now).toISOString().replaceAll(':', '').replace(/\.\d+/, '');
  return startFileBackup(config.data, config.to ?? `postrider-backup-${time}.db`);
}

export function checkStore(config: Config): CheckReport {
  requireDirectory(config, 'check it with pg_amcheck, and turn on its data checksums');
  return checkFileStore(config.data, config.repair);
}

function requireDirectory(config: Config, instead: string): void {
  if (config.store === null) return;
  throw new Error(`the store is ${storePlace(config)}, and this command is for a data directory: ${instead}`);
}

/** Where it keeps what it accepts, in words. */
export function storePlace(config: Config): string {
  return config.store === null ? config.data : `PostgreSQL at ${shown(config.store)}`;
}

/** From the data directory into the database of `--store`. Rejects with MoveStopped once it had begun. */
export async function migrateStore(config: Config, onProgress: (progress: MoveProgress) => void): Promise<MoveReport> {
  const { clock } = systemWorld();
  const source = openMoveSource(config.data);
  try {
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
