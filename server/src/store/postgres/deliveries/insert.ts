// Inserts messages with their labels, journal rows and usage counts: one statement for any number of messages, with one
// parameter for all columns and one for all bodies. A body that several messages share is sent and stored once.

import pg from 'pg';
import { COUNT_KINDS } from '../../../rules/accounts/activity.ts';
import type { NewMessage } from '../../../rules/delivery/message.ts';
import { bytesBesideBody } from '../../../rules/limits/stored-bytes.ts';
import type { RowState } from '../../rows/message-columns.ts';
import { ACCEPTED_COLUMNS, type Column, type Kind } from '../../rows/message-fields.ts';
import { ACCEPTED, ACCEPTED_STARTED } from '../../rows/rows.ts';
import type { AccountAtClaim } from '../../shared/commands.ts';
import { activityCountSql } from '../messages/activity.ts';
import { acceptedRow } from '../messages/message-code.ts';
import { storedBytesSql } from '../messages/stored.ts';
import type { Database } from '../sessions/database.ts';
import { positionSql } from './journal.ts';

export interface PlacedMessage {
  readonly message: NewMessage;
  /** The message that this one shares its body with, possibly itself; null if the body is not shared. */
  readonly bodyOf: NewMessage | null;
  readonly state: RowState;
  readonly claim: { readonly lease: string; readonly node: string; readonly at: number } | null;
  /** The time that orders the message in its queue. */
  readonly firstDueAt: number;
}

/** The columns of a new row that do not come from the message. */
const PLACED_COLUMNS: readonly Pick<Column, 'name' | 'kind'>[] = [
  { name: 'state', kind: 'text' },
  { name: 'first_due_at', kind: 'bigint' },
  { name: 'lease', kind: 'text' },
  { name: 'node', kind: 'text' },
  { name: 'claimed_at', kind: 'bigint' },
  { name: 'is_first_of_key', kind: 'flag' },
  { name: 'stored_bytes', kind: 'bigint' },
];
const COLUMNS = [...ACCEPTED_COLUMNS, ...PLACED_COLUMNS];

const NAMES = COLUMNS.map(({ name }) => name).join(', ');
const TYPED = COLUMNS.map(({ name, kind }) => `${name} ${columnType(kind)}`).join(', ');

const GIVEN_BODY = 'substring($2::bytea FROM body_at FOR body_length)';

/** `at` is the index of a message in the given list: the rows get their `seq` in this order. */
const given = (more = '', moreTyped = '') => `WITH given AS MATERIALIZED
    (SELECT at, weight, body_at, body_length, ${more}${NAMES} FROM json_to_recordset($1::json) AS r
       (at int, weight bigint, body_at int, body_length int, ${moreTyped}${TYPED}))`;

const WITH_OWN_BODIES = `${given()},
  made AS
    (INSERT INTO messages (${NAMES}, body)
       SELECT ${NAMES}, ${GIVEN_BODY} FROM given ORDER BY at
       RETURNING account_id, seq, created_at, labels, lease)`;

/** `shared` numbers the shared bodies from 1 to $4. `keeps` is true for the one message that stores the shared body. */
const WITH_SHARED_BODIES = `${given('shared, keeps, ', 'shared int, keeps boolean, ')},
  numbers AS MATERIALIZED
    (SELECT array_agg(nextval('message_seq')) AS ids FROM generate_series(1, $4::int)),
  kept AS
    (INSERT INTO bodies (account_id, id, bytes)
       SELECT account_id, (SELECT ids FROM numbers)[shared], ${GIVEN_BODY} FROM given WHERE keeps),
  made AS
    (INSERT INTO messages (${NAMES}, body, body_id)
       SELECT ${NAMES}, CASE WHEN shared IS NULL THEN ${GIVEN_BODY} ELSE '' END, (SELECT ids FROM numbers)[shared]
         FROM given ORDER BY at
       RETURNING account_id, seq, created_at, labels, lease)`;

/** Sessions count in different rows: otherwise callbacks, ticks and retries of all nodes would wait for one row. */
const USAGE_SHARD = '(pg_backend_pid() % 16)::smallint';

const TOLD = `,
  journalled AS
    (INSERT INTO journal (account_id, seq, at, message_seq, step)
       SELECT account_id, ${positionSql('account_id', 'seq')}, created_at, seq,
         CASE WHEN lease IS NULL THEN ${ACCEPTED} ELSE ${ACCEPTED_STARTED} END FROM made),
  counted AS
    (INSERT INTO usage AS u (account_id, day, kind, shard, count)
       SELECT account_id, $3, kind, ${USAGE_SHARD}, count(*) FROM given GROUP BY account_id, kind
         ORDER BY account_id, kind
       ON CONFLICT (account_id, day, kind, shard) DO UPDATE SET count = u.count + excluded.count),
  happened AS (${activityCountSql(`SELECT account_id, created_at AS at, ${COUNT_KINDS.accepted}::smallint AS kind FROM given`)})`;

/** `weight`: the bytes of the message, and of the shared body that it stores. */
const WEIGHED = `,
  weighed AS (${storedBytesSql('SELECT account_id, weight AS bytes FROM given')})`;

const LABELLED = `,
  labelled AS
    (INSERT INTO message_labels (account_id, label, message_seq)
       SELECT DISTINCT made.account_id, label, made.seq FROM made
         CROSS JOIN json_array_elements_text(made.labels::json) AS label)`;

const ACCOUNTS = `
  SELECT a.id, a.tier, a.current_key AS "signingKey"
    FROM (SELECT DISTINCT account_id FROM given WHERE lease IS NOT NULL) AS leased JOIN accounts a ON a.id = leased.account_id`;

const WITHOUT_LABELS = WITH_OWN_BODIES + TOLD + WEIGHED + ACCOUNTS;
const WITH_LABELS = WITH_OWN_BODIES + TOLD + WEIGHED + LABELLED + ACCOUNTS;
const SHARED_WITHOUT_LABELS = WITH_SHARED_BODIES + TOLD + WEIGHED + ACCOUNTS;
const SHARED_WITH_LABELS = WITH_SHARED_BODIES + TOLD + WEIGHED + LABELLED + ACCOUNTS;

/** Returns what a claim needs to know about the accounts of messages that were leased at accept. */
export async function insertMessages(
  database: Database,
  placed: readonly PlacedMessage[],
  day: string,
): Promise<Map<string, AccountAtClaim>> {
  const bodies = new Bodies();
  const rows = placed.map((each, at) => {
    const { message, claim } = each;
    const place: BodyPlace = bodies.add(each);
    const storedBytes = bytesBesideBody(message) + (each.bodyOf === null ? message.body.length : 0);
    // A missing property becomes null in the row.
    return {
      ...acceptedRow(message),
      state: each.state,
      first_due_at: each.firstDueAt,
      lease: claim?.lease,
      node: claim?.node,
      claimed_at: claim?.at,
      // False until `OrderKeys` has checked the key.
      is_first_of_key: message.orderKey === null || message.queueName === null,
      stored_bytes: storedBytes,
      at,
      weight: storedBytes + (place.keeps ? message.body.length : 0),
      ...place,
    };
  });
  const hasLabels = placed.some(({ message }) => message.labels.length > 0);
  const values = [JSON.stringify(rows), bodies.joined(), day] as const;
  const accounts = await (bodies.shared === 0
    ? database.all<LeasedAccount>(hasLabels ? WITH_LABELS : WITHOUT_LABELS, ...values)
    : database.all<LeasedAccount>(hasLabels ? SHARED_WITH_LABELS : SHARED_WITHOUT_LABELS, ...values, bodies.shared));
  return new Map(accounts.map(({ id, tier, signingKey }) => [id, { tier, signingKey }]));
}

/** The tables that an insert of messages locks: a transaction that locks one of them may make the insert wait. */
const WRITTEN_TABLES = 'messages, message_labels, bodies, journal, usage, activity_minutes, stored';

/**
 * Tests whether messages can be written, with a write to the row of the node: it waits for the same tables as an insert
 * of messages, and its commit for the same standby. Both statements are sent together and are one transaction.
 */
export async function probe(database: Database, node: string): Promise<void> {
  await database.exec(
    `LOCK TABLE ${WRITTEN_TABLES} IN ROW EXCLUSIVE MODE;
     UPDATE nodes SET alive_until = alive_until WHERE id = ${pg.escapeLiteral(node)}`,
  );
}

type LeasedAccount = AccountAtClaim & { readonly id: string };

interface BodyPlace {
  readonly body_at: number;
  readonly body_length: number;
  readonly shared?: number;
  /** Whether this message stores the body for all that share it. */
  readonly keeps?: boolean;
}

/** All bodies in one buffer, and where each one is. */
class Bodies {
  readonly #pieces: Uint8Array[] = [];
  readonly #sharedBy = new Map<NewMessage, number>();
  #bytes = 0;

  get shared(): number {
    return this.#sharedBy.size;
  }

  add({ message, bodyOf }: PlacedMessage): BodyPlace {
    const known = bodyOf === null ? undefined : this.#sharedBy.get(bodyOf);
    // An earlier message of the statement stores the body.
    if (known !== undefined) return { body_at: 1, body_length: 0, shared: known, keeps: false };
    const { body } = message;
    const range = { body_at: this.#bytes + 1, body_length: body.length };
    this.#pieces.push(body);
    this.#bytes += body.length;
    if (bodyOf === null) return range;
    this.#sharedBy.set(bodyOf, this.#sharedBy.size + 1);
    return { ...range, shared: this.#sharedBy.size, keeps: true };
  }

  joined(): Uint8Array {
    return this.#pieces.length === 1 ? this.#pieces[0]! : Buffer.concat(this.#pieces, this.#bytes);
  }
}

/** The column type for each kind of value. */
export function columnType(kind: Kind): string {
  if (kind === 'integer' || kind === 'bigint') return kind;
  if (kind === 'flag') return 'boolean';
  return kind === 'bytes' ? 'bytea' : 'text';
}
