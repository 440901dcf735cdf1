// Looks into the store of a server that is not running: into a copy of its files, because even reading a write-ahead log
// changes what lies beside it.

import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { STATUS_NOT_RETRYABLE } from '../../src/rules/delivery/settle.ts';
import type { StoredMessage as StoredInStore } from '../../src/store/ports/message-store.ts';
import { getMessage } from '../../src/store/sqlite/messages/messages.ts';
import { Database } from '../../src/store/sqlite/thread/database.ts';
import type { StoredMessage } from '../checker/history.ts';
import { STORED_BODIES, type StoredBodies, wrongBodies } from '../store/stored-bodies.ts';
import { hashOf } from './receiver.ts';

export const DATABASE = 'postrider.db';

export interface HeldClaim {
  readonly messageId: string;
  readonly lease: string;
}

/** The attempts that were under way when the process ended: what may be repeated. */
export function readClaims(directory: string): HeldClaim[] {
  return readCopy(directory, (database) =>
    database.all<HeldClaim>("SELECT id AS messageId, lease FROM messages WHERE state = 'claimed'"),
  );
}

export function readStored(directory: string): StoredMessage[] {
  return readCopy(directory, (database) => {
    requireBodies(database.get<StoredBodies>(STORED_BODIES)!);
    return database
      .all<{ id: string; accountId: string }>('SELECT id, account_id AS accountId FROM messages ORDER BY seq')
      .map(({ id, accountId }) => toStored(getMessage(database, accountId, id)!));
  });
}

export function requireBodies(stored: StoredBodies): void {
  const problems = wrongBodies(stored);
  if (problems.length > 0) throw new Error(problems.join('; '));
}

/** In the words of the checker. */
export function toStored({ message, attempts }: StoredInStore): StoredMessage {
  return {
    ...message,
    bodyHash: hashOf(message.body),
    queue: message.queueName,
    attempts: attempts.map((attempt) => ({
      ...attempt,
      retryAfterMs: null, // the receiver never asks for one
      isFinal: attempt.status === STATUS_NOT_RETRYABLE,
    })),
  };
}

/** How many messages have not ended. Asked beside a running server, as one more reader of its file. */
export function countOpen(directory: string): number {
  const database = new DatabaseSync(join(directory, DATABASE), { readOnly: true, timeout: 5000 });
  try {
    return Number(database.prepare('SELECT count(*) AS open FROM messages WHERE ended_at IS NULL').get()!.open);
  } finally {
    database.close();
  }
}

function readCopy<T>(directory: string, read: (database: Database) => T): T {
  const copy = mkdtempSync(join(tmpdir(), 'postrider-copy-'));
  try {
    for (const name of [DATABASE, `${DATABASE}-wal`]) {
      if (existsSync(join(directory, name))) copyFileSync(join(directory, name), join(copy, name));
    }
    const database = new Database(join(copy, DATABASE));
    try {
      return read(database);
    } finally {
      database.close();
    }
  } finally {
    rmSync(copy, { recursive: true });
  }
}
