// How PostgreSQL runs a verb that is written once (store/resources/): each step is awaited on the connection of the call.

import type { AuditRow } from '../../../rules/accounts/audit.ts';
import { saveAudit } from '../../resources/audit.ts';
import type { SharedVerbs } from '../../resources/shared-verb.ts';
import { type AdapterSteps, SHOWN_COUNTS, type Step, type Steps, type Value } from '../../resources/steps.ts';
import { withNote } from '../../shared/audit-note.ts';
import { cancel } from '../deliveries/cancel.ts';
import * as flowKeys from '../deliveries/flow-keys.ts';
import { positionSql } from '../deliveries/journal.ts';
import { applyQueueRules, COUNTED_PER_STATEMENT, lockOrCreateQueue, queueLags } from '../deliveries/queues.ts';
import type { Calls } from '../groups/calls.ts';
import { keyOf } from '../groups/lines.ts';
import { deleteDeadLetters, retryDeadLetters } from '../messages/dead-letters.ts';
import { deleteMessagesOf } from '../messages/expired.ts';
import { nullIfUnstorable } from '../messages/storable.ts';
import { countStored, deleteCounted } from '../messages/stored.ts';
import type { Database } from '../sessions/database.ts';

const STEPS: { readonly [N in keyof AdapterSteps]: OnConnection<AdapterSteps[N]> } = {
  all: (database, sql, values) => database.all(...inDialect(sql, values)),
  get: (database, sql, values) => database.get(...inDialect(sql, values)),
  run: (database, sql, values) => database.run(...inDialect(sql, values)),
  countStored,
  deleteCounted: (database, _accountId, sql, values) => deleteCounted(database, ...inDialect(sql, values)),
  lockAccount: async (database, accountId) => {
    await database.run('SELECT 1 FROM accounts WHERE id = $1 FOR NO KEY UPDATE', accountId);
  },
  lockTokens,
  forgetAccounts: async () => {},
  lockOrCreateQueue,
  applyQueueRules,
  queueLags,
  // An accept has written the limits already.
  applyRequestedLimits: async () => {},
  lockOrCreateFlowKey: async (database, accountId, key, limits) => {
    await flowKeys.lockOrCreateKeys(database, [{ accountId, key, limits }]);
  },
  takeBackUnstarted: flowKeys.takeBackUnstarted,
  setFlowLimits: flowKeys.setLimits,
  admitWaiting: async (database, row, now) => {
    await flowKeys.admitWaiting(database, new Map([[keyOf(row.account_id, row.key), row]]), now);
  },
  flowKeyCounts: (database, rows) =>
    flowKeys.readCounts(database, rows.slice(0, COUNTED_PER_STATEMENT), () => SHOWN_COUNTS),
  addJournal: async (database, accountId, seq, step, at) => {
    await database.run(ADD_JOURNAL, accountId, seq, step, at);
  },
  cancel,
  deleteMessagesOf,
  deleteDeadLetters,
  retryDeadLetters,
};

const ADD_JOURNAL = `INSERT INTO journal (account_id, seq, at, message_seq, step)
  SELECT account_id, ${positionSql('account_id', 'message_seq')}, at, message_seq, step
    FROM (VALUES ($1::text, $2::bigint, $3::integer, $4::bigint)) AS one (account_id, message_seq, step, at)`;

type OnConnection<F> = F extends (...args: infer A) => infer R ? (database: Database, ...args: A) => Promise<R> : never;

interface Translated {
  readonly text: string;
  /** How many of its parameters are stored. They are the first ones; columns are compared with the others. */
  readonly stored: number;
}

const texts = new Map<string, Translated>();

function translated(sql: string): Translated {
  let made = texts.get(sql);
  if (made === undefined) {
    let count = 0;
    const text = sql.replaceAll(/\?(\d*)/g, (_, number) => `$${number || ++count}`);
    const [sets = ''] = /^(?:INSERT|UPDATE)\b/.test(sql) ? sql.split(/\sWHERE\s/) : [];
    made = { text, stored: sets.split('?').length - 1 };
    texts.set(sql, made);
  }
  return made;
}

/** Text that PostgreSQL cannot store becomes null where a column is compared with it. Where it is stored, it is refused. */
function inDialect(sql: string, values: readonly Value[]): [string, ...Value[]] {
  const { text, stored } = translated(sql);
  const toSent = (value: Value, index: number) =>
    typeof value === 'string' && index >= stored ? nullIfUnstorable(value) : value;
  return [text, ...values.map(toSent)];
}

/** Runs the steps of a verb on this connection, one after another. */
export async function runSteps<R>(database: Database, steps: Steps<R>): Promise<R> {
  let turn = steps.next();
  while (!turn.done) turn = steps.next(await take(database, turn.value));
  return turn.value;
}

function take(database: Database, { name, args }: Step): Promise<unknown> {
  const run = STEPS[name] as (database: Database, ...args: readonly unknown[]) => Promise<unknown>;
  return run(database, ...args);
}

type OnCall<T> = {
  readonly [V in keyof T]: T[V] extends { steps: (...args: infer A) => Steps<infer R> }
    ? (...args: A) => Promise<R>
    : never;
};

/** The verbs of a table as calls of this adapter. */
export function onCall<T extends SharedVerbs>(calls: Calls, table: T): OnCall<T> {
  const verbs = Object.entries(table).map(([name, { steps, reads, work: _, audits, ...marks }]) => {
    const verb = (database: Database, ...args: never) => runSteps(database, steps(...args)) as Promise<never>;
    if (reads) return [name, calls.reading(verb)];
    if (!audits) return [name, calls.writing(verb, marks)];
    const audited =
      (row: AuditRow | null) =>
      async (database: Database, ...args: never) => {
        const reply = await verb(database, ...args);
        if (row !== null && audits(reply)) await runSteps(database, saveAudit([row]));
        return reply;
      };
    return [name, (...args: never) => withNote(audits, (row) => calls.writing(audited(row), marks)(...args))];
  });
  return Object.fromEntries(verbs) as OnCall<T>;
}

/**
 * How long a node that starts waits for the lock of another. This is longer than a machine may be paused: after a
 * pause, the timers of this node fire before the other node could do anything.
 */
const START_MS_MAX = 120_000;

/**
 * Takes the lock of all tokens until the end of the transaction. On all nodes together, one call at a time revokes a
 * token or creates the first administrator.
 */
async function lockTokens(database: Database, asker: 'request' | 'start'): Promise<void> {
  if (asker === 'start') {
    // No request waits for a start, so it may take longer. The node that holds the lock may be slow, because it is
    // starting too.
    await database.run(`SET LOCAL lock_timeout = ${START_MS_MAX}`);
    await database.run('SET LOCAL statement_timeout = 0');
  }
  await database.get("SELECT pg_advisory_xact_lock(hashtextextended('postrider tokens ' || current_schema(), 8411))");
}
