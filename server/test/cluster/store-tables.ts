// Looks into the database that all nodes share, past all of them, and waits for it where it is away.

import { setTimeout as wait } from 'node:timers/promises';
import type pg from 'pg';
import { JOIN_BODY } from '../../src/store/postgres/deliveries/bodies.ts';
import { WHOLE_COLUMNS } from '../../src/store/postgres/messages/messages.ts';
import { typeParsers } from '../../src/store/postgres/sessions/database.ts';
import type { MessageRow } from '../../src/store/rows/message-row.ts';
import { toMessage } from '../../src/store/rows/message-row.ts';
import type { AttemptRow } from '../../src/store/rows/rows.ts';
import { toAttempt } from '../../src/store/rows/rows.ts';
import type { StoredMessage } from '../checker/history.ts';
import { type HeldClaim, requireBodies, toStored } from '../crash/store-file.ts';
import { until } from '../crash/trial.ts';
import { withClient } from '../postgres/databases.ts';
import { STORED_BODIES, type StoredBodies } from '../store/stored-bodies.ts';

const AWAY_MS_MAX = 30_000;
const POLL_MS = 50;

export interface NodeClaim extends HeldClaim {
  readonly node: string;
  /** Of the message, when it was claimed. */
  readonly attempts: number;
  readonly interrupted: number;
}

export interface NodeLife {
  readonly id: string;
  /** How long it is still taken for alive, by the database's clock; negative for a node that is not any more. */
  readonly leftMs: number;
}

export class StoreTables {
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  /** The attempts under way, of these nodes or of all. */
  claims(nodes?: readonly string[]): Promise<NodeClaim[]> {
    return this.query<NodeClaim>(
      `SELECT id AS "messageId", lease, node, attempts, interrupted FROM messages
         WHERE state = 'claimed' AND ($1::text[] IS NULL OR node = ANY ($1::text[]))`,
      [nodes ?? null],
    );
  }

  /**
   * Which of these claims stand as they did, in words: their node has not settled them, and nobody else has taken them
   * up.
   */
  async untouched(claims: readonly NodeClaim[]): Promise<string[]> {
    const rows = await this.query<{ messageId: string; state: string; interrupted: number; attempts: number }>(
      `SELECT m.id AS "messageId", m.state, m.interrupted, m.attempts
         FROM messages m JOIN unnest($1::text[], $2::text[], $3::int[], $4::int[]) AS c (id, lease, attempts, interrupted)
           ON m.id = c.id
         WHERE m.ended_at IS NULL AND NOT (m.state = 'claimed' AND m.lease <> c.lease)
           AND (m.attempts = c.attempts OR m.attempts = c.attempts + 1 AND m.interrupted > c.interrupted)`,
      [
        claims.map(({ messageId }) => messageId),
        claims.map(({ lease }) => lease),
        claims.map(({ attempts }) => attempts),
        claims.map(({ interrupted }) => interrupted),
      ],
    );
    return rows.map(
      ({ messageId, state, interrupted, attempts }) =>
        `${messageId} ${state} after ${attempts} attempts, cut off ${interrupted} times in a row`,
    );
  }

  async countOpen(): Promise<number> {
    const [row] = await this.query<{ open: number }>('SELECT count(*) AS open FROM messages WHERE ended_at IS NULL');
    return row!.open;
  }

  /** The messages that were first due before. */
  async dueBefore(at: number): Promise<string[]> {
    const rows = await this.query<{ id: string }>('SELECT id FROM messages WHERE first_due_at < $1', [at]);
    return rows.map(({ id }) => id);
  }

  lives(): Promise<NodeLife[]> {
    return this.query<NodeLife>(
      'SELECT id, (extract(epoch FROM alive_until - clock_timestamp()) * 1000)::float8 AS "leftMs" FROM nodes',
    );
  }

  /** The node that listens there, once it has been heard of. */
  async nodeAt(address: string): Promise<string> {
    let id: string | undefined;
    await until(
      async () => {
        const found = "SELECT id FROM nodes WHERE about::json->>'address' = $1";
        id = (await this.query<{ id: string }>(found, [address]))[0]?.id;
        return id !== undefined;
      },
      () => `the store has not heard of the node at ${address}`,
      AWAY_MS_MAX,
    );
    return id!;
  }

  /** Ends the sessions behind these connections, as an administrator or a failing server would. */
  async terminate(ports: readonly number[]): Promise<number> {
    const ended = await this.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE client_port = ANY ($1::int[])`,
      [ports],
    );
    return ended.length;
  }

  /** Until the database has noticed that these connections are gone, and has ended what it did for them. */
  async sessionsEnded(ports: readonly number[]): Promise<void> {
    const count = 'SELECT count(*) AS sessions FROM pg_stat_activity WHERE client_port = ANY ($1::int[])';
    await until(
      async () => (await this.query<{ sessions: number }>(count, [ports]))[0]!.sessions === 0,
      () => 'the database holds on to sessions of a dead node',
      AWAY_MS_MAX,
    );
  }

  async readStored(): Promise<StoredMessage[]> {
    requireBodies((await this.query<StoredBodies>(STORED_BODIES))[0]!);
    const rows = await this.query<MessageRow>(`SELECT ${WHOLE_COLUMNS} FROM messages m ${JOIN_BODY} ORDER BY m.seq`);
    const attempts = Map.groupBy(
      await this.query<AttemptRow & { message_seq: number }>('SELECT * FROM attempts ORDER BY message_seq, number'),
      ({ message_seq }) => message_seq,
    );
    return rows.map((row) =>
      toStored({ message: toMessage(row), attempts: (attempts.get(row.seq) ?? []).map(toAttempt) }),
    );
  }

  async query<Row extends object>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    const deadline = performance.now() + AWAY_MS_MAX;
    for (;;) {
      try {
        const config: pg.QueryConfig = { text, values: [...values], types: typeParsers };
        return await withClient(this.#url, async (client) => (await client.query(config)).rows as Row[]);
      } catch (error) {
        if (!isAway(error as { code?: string; severity?: string }) || performance.now() > deadline) throw error;
      }
      await wait(POLL_MS);
    }
  }
}

/** Errors about our own statement are reported by the server, as other classes. */
function isAway({ code = '', severity }: { readonly code?: string; readonly severity?: string }): boolean {
  return severity === undefined || /^(?:08|57)/.test(code);
}
