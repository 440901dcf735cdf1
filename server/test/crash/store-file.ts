// Looks into the store of a server that is not running, or at least not asked: into a copy of its files, because even
// reading a write-ahead log changes what lies beside it.

import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { HeaderPairs, StoredAttempt, StoredMessage } from '../checker/history.ts';
import { hashOf } from './receiver.ts';

export const DATABASE = 'postrider.db';
const STATUS_FINAL = 489;

export interface HeldClaim {
  readonly messageId: string;
  readonly lease: string;
}

/** The attempts that were under way when the process ended: what may be repeated. */
export function readClaims(directory: string): HeldClaim[] {
  return readCopy(directory, (database) => {
    const rows = database.prepare("SELECT id, lease FROM messages WHERE state = 'claimed'").all();
    return rows.map(({ id, lease }) => ({ messageId: String(id), lease: String(lease) }));
  });
}

export function readStored(directory: string): StoredMessage[] {
  return readCopy(directory, (database) => {
    const attempts = Map.groupBy(
      database.prepare('SELECT * FROM attempts ORDER BY message_seq, number').all() as unknown as AttemptRow[],
      (row) => row.message_seq,
    );
    const rows = database.prepare('SELECT * FROM messages ORDER BY seq').all() as unknown as MessageRow[];
    return rows.map((row) => toStored(row, attempts.get(row.seq) ?? []));
  });
}

/** Asked beside a running server, as one more reader of its file. */
export function countOpen(directory: string): number {
  const database = new DatabaseSync(join(directory, DATABASE), { readOnly: true, timeout: 5000 });
  try {
    return Number(database.prepare('SELECT count(*) AS n FROM messages WHERE ended_at IS NULL').get()!.n);
  } finally {
    database.close();
  }
}

function readCopy<T>(directory: string, read: (database: DatabaseSync) => T): T {
  const copy = mkdtempSync(join(tmpdir(), 'postrider-look-'));
  try {
    for (const name of [DATABASE, `${DATABASE}-wal`]) {
      if (existsSync(join(directory, name))) copyFileSync(join(directory, name), join(copy, name));
    }
    const database = new DatabaseSync(join(copy, DATABASE));
    try {
      return read(database);
    } finally {
      database.close();
    }
  } finally {
    rmSync(copy, { recursive: true });
  }
}

interface MessageRow {
  readonly seq: number;
  readonly id: string;
  readonly kind: StoredMessage['kind'];
  readonly state: string;
  readonly first_due_at: number;
  readonly url: string;
  readonly method: string;
  readonly headers: string;
  readonly retries_max: number;
  readonly retried: number;
  readonly interrupted: number;
  readonly queue_name: string | null;
  readonly source_message_id: string | null;
  readonly ended_at: number | null;
  readonly body: Uint8Array;
}

interface AttemptRow {
  readonly message_seq: number;
  readonly number: number;
  readonly started_at: number;
  readonly ended_at: number;
  readonly outcome: StoredAttempt['outcome'];
  readonly status: number | null;
}

function toStored(row: MessageRow, attempts: readonly AttemptRow[]): StoredMessage {
  const isWaiting = ['delayed', 'queued', 'ready'].includes(row.state);
  return {
    id: row.id,
    kind: row.kind,
    sourceMessageId: row.source_message_id,
    url: row.url,
    method: row.method,
    bodyHash: hashOf(row.body),
    headers: JSON.parse(row.headers) as HeaderPairs,
    queue: row.queue_name,
    retriesMax: row.retries_max,
    firstDueAt: row.first_due_at,
    state: isWaiting ? 'pending' : (row.state as StoredMessage['state']),
    endedAt: row.ended_at,
    retried: row.retried,
    interrupted: row.interrupted,
    attempts: attempts.map((attempt) => ({
      number: attempt.number,
      startedAt: attempt.started_at,
      endedAt: attempt.ended_at,
      outcome: attempt.outcome,
      status: attempt.status,
      retryAfterMs: null,
      isFinal: attempt.status === STATUS_FINAL,
    })),
  };
}
