// Which store the servers of the tests run on: SQLite, or PostgreSQL when POSTRIDER_TEST_STORE says so. There, a data
// directory stands for a database, so that two servers that share the one share the other.

import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { sharedServer } from '../postgres/server.ts';
import { lacks } from './machine.ts';

const CREATE = join(import.meta.dirname, '..', 'postgres', 'create-database.ts');

const postgres = process.env.POSTRIDER_TEST_STORE === 'postgres' ? await sharedServer() : null;

export const isOnPostgres = postgres !== null;

/** Why a test is left out that is about SQLite alone; false where it is not left out. */
export const onlySqlite = lacks('sqlite');

export interface StoreInUse {
  /** What a server is given beside its data directory. */
  readonly flags: readonly string[];
  /** When the server has ended. The last one of a directory throws the database away. */
  release(): Promise<void>;
}

const NOTHING: StoreInUse = { flags: [], release: async () => {} };

const databases = new Map<string, { readonly name: string; users: number }>();

export async function storeOf(data: string): Promise<StoreInUse> {
  if (!postgres) return NOTHING;
  return use(data, databases.get(data)?.name ?? (await postgres.createDatabase()));
}

/** The same for who cannot wait: another process makes the database meanwhile. */
export function storeOfNow(data: string): StoreInUse {
  if (!postgres) return NOTHING;
  const env = { ...process.env, POSTRIDER_TEST_POSTGRES: postgres.homeUrl };
  return use(data, databases.get(data)?.name ?? execFileSync(process.execPath, [CREATE], { env, encoding: 'utf8' }));
}

function use(data: string, name: string): StoreInUse {
  const database = databases.get(data) ?? { name, users: 0 };
  databases.set(data, database);
  database.users += 1;
  return {
    flags: ['--store', postgres!.url(name)],
    async release() {
      database.users -= 1;
      if (database.users > 0) return;
      databases.delete(data);
      await postgres!.dropDatabase(name);
    },
  };
}
