// Opens a disk image as the server would and says what is missing from it.

import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openDirectory } from '../../src/store/sqlite/files/open.ts';
import { STORED_BODIES, type StoredBodies, wrongBodies } from '../store/stored-bodies.ts';
import type { Image } from './disk.ts';

export interface Promised {
  /** The ids of messages that were acknowledged before the cut. */
  readonly accepted: Iterable<string>;
  /** How often each message had arrived before the cut. */
  readonly arrivals: ReadonlyMap<string, number>;
}

export function writeImage(image: Image, directory: string): void {
  mkdirSync(directory, { recursive: true });
  for (const [name, content] of image) writeFileSync(join(directory, name), content);
}

/** Broken promises, in sentences; none for a good image. */
export function checkImage(image: Image, directory: string, promised: Promised): string[] {
  rmSync(directory, { recursive: true, force: true });
  writeImage(image, directory);
  const problems: string[] = [];
  let opened: ReturnType<typeof openDirectory>;
  try {
    opened = openDirectory(directory);
  } catch (error) {
    return [`the store does not open: ${(error as Error).message}`];
  }
  const { database } = opened;
  try {
    const found = database.all<{ integrity_check: string }>('PRAGMA integrity_check');
    if (found[0]?.integrity_check !== 'ok') problems.push(`the store is damaged: ${JSON.stringify(found.slice(0, 3))}`);
    problems.push(...wrongBodies(database.get<StoredBodies>(STORED_BODIES)!));
    const rows = database.all<{ id: string; claims: number }>(
      "SELECT id, attempts + (state = 'claimed') AS claims FROM messages",
    );
    const claims = new Map(rows.map(({ id, claims }) => [id, claims]));
    for (const id of promised.accepted) if (!claims.has(id)) problems.push(`${id} was acknowledged and is lost`);
    for (const [id, times] of promised.arrivals) {
      const known = claims.get(id) ?? 0;
      if (known < times) problems.push(`${id} had arrived ${times} times, but the store has only ${known} attempts`);
    }
  } catch (error) {
    problems.push(`the store cannot be read: ${(error as Error).message}`);
  } finally {
    opened.close();
  }
  return problems;
}
