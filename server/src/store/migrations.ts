// Forward-only migrations: numbered SQL files, each applied once, in order. Every adapter has files of its own.

import type { Files } from '../shipped-files.ts';

export interface Migration {
  readonly version: number;
  readonly name: string;
  readonly sql: string;
}

/** Reads the migrations of an adapter from its files: `0001-name.sql` and so on. Throws if a number is missing. */
export function readMigrations(files: Files): Migration[] {
  const names = [...files.keys()].filter((name) => name.endsWith('.sql')).sort();
  if (names.length === 0) throw new Error('the migrations are missing: this copy of the program is incomplete');
  return names.map((name, index) => {
    const version = Number.parseInt(name, 10);
    if (version !== index + 1) throw new Error(`migration ${name} should be number ${index + 1}`);
    return { version, name, sql: files.get(name)!.toString('utf8') };
  });
}

/**
 * The migrations that the store still needs. Throws if a newer program has applied migrations that this program does
 * not know. `readerMin`: programs that know the migrations up to this number can use the store nevertheless.
 */
export function pendingMigrations(
  all: readonly Migration[],
  storeVersion: number,
  readerMin = storeVersion,
): readonly Migration[] {
  if (storeVersion > all.length && readerMin > all.length) {
    throw new Error(
      `The store has schema version ${storeVersion}, but this program only knows versions up to ${all.length}. ` +
        'It was written by a newer postrider: run the newer version, or restore a backup made before the upgrade.',
    );
  }
  return all.slice(storeVersion);
}
