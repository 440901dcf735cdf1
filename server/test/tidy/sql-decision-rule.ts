// Finds decisions in the SQL of the store: a choice between values, or arithmetic with a limit, a count or a time.
// Rules of the product stand in rules/. What must stay in SQL is listed here, each with the reason.

import type { SourceView } from './source-view.ts';

/** A choice; and a sum or difference with a column that holds a limit, a count or a time. */
const NUMBER = String.raw`\b(?:\w+\.)?(?:\w+_(?:at|ms|max|count)|attempts|parallelism|rate|places|started)\b`;
const DECISION = new RegExp(
  [
    String.raw`\bCASE\b`,
    String.raw`\biif\(`,
    String.raw`\b(?:greatest|least)\(`,
    String.raw`\b(?:max|min)\([^()]*,`,
    `${NUMBER} [-+*/] `,
    String.raw`[\w?)] [-+*/] ${NUMBER}`,
  ].join('|'),
  'g',
);

const NOT_LOCKED =
  'the row is not locked before it is written: the statement looks again whether it is claimed or to be cancelled';
const WHOLE_SET = 'one statement moves up to a thousand rows; reading them first would double the work of a claim';
const FIRST_START = 'one statement makes a set of rows ready; when each could first start is known only to the row';
const PLACE_KEPT = 'whether the row has a place is known only to the row; a flow key takes it back, a queue leaves it';
const SIZE = 'how large a body is, wherever it is stored; nothing is decided by it here';
const LEFT_OUT = 'what is not shown is not read: large bodies and headers stay in the database';
const CANCELLED_AT = 'a message never ends before it was asked to; the time of the request is known only to the row';
const FOR_PEOPLE = 'a number for people, counted over many rows where they are';
const RETENTION = 'deletes in pieces over all accounts; the two times come from the tiers, in rules/limits/tier.ts';

interface Allowed {
  /** Below server/src/store/. */
  readonly file: string;
  /** A part of the line. */
  readonly sql: string;
  readonly reason: string;
}

const EXTENDED = 'an extension may be written at the same time; ack.ts decides the deadlines';

export const ALLOWED_DECISIONS: readonly Allowed[] = [
  {
    file: 'sqlite/messages/acks.ts',
    sql: 'deadline_at = max(excluded.deadline_at, min(deadline_at, excluded.latest_at))',
    reason: EXTENDED,
  },
  {
    file: 'postgres/messages/acks.ts',
    sql: 'deadline_at = greatest(excluded.deadline_at, least(a.deadline_at, excluded.latest_at))',
    reason: EXTENDED,
  },
  { file: 'resources/schedules.ts', sql: 'CASE WHEN octet_length(body) <=', reason: LEFT_OUT },
  {
    file: 'rows/message-columns.ts',
    sql: 'due_at - coalesce(ahead_ms, 0)',
    reason: 'an index has to be in this order, and every retry changes the due time; priority.ts decides how far ahead',
  },
  { file: 'sqlite/deliveries/bodies.ts', sql: 'iif(body_id IS NULL, length(body)', reason: SIZE },
  { file: 'sqlite/deliveries/promote.ts', sql: "state = iif(flow_key IS NULL, 'ready', 'queued')", reason: WHOLE_SET },
  {
    file: 'sqlite/deliveries/open-message.ts',
    sql: 'holds_place = iif(flow_key IS NULL, holds_place, 0)',
    reason: PLACE_KEPT,
  },
  { file: 'sqlite/deliveries/open-message.ts', sql: 'ended_at = max(?, cancel_requested_at)', reason: CANCELLED_AT },
  { file: 'sqlite/deliveries/journal.ts', sql: "iif(a.tier = 'free', ?, ?)", reason: RETENTION },
  { file: 'sqlite/messages/messages.ts', sql: 'CASE WHEN m.retried > 0', reason: LEFT_OUT },
  { file: 'sqlite/messages/messages.ts', sql: 'iif(number >= ?1, response_headers', reason: LEFT_OUT },
  { file: 'sqlite/deliveries/message-sql.ts', sql: 'ready_at = iif(attempts = 0, ?1, ready_at)', reason: FIRST_START },
  {
    file: 'sqlite/deliveries/settle.ts',
    sql: 'holds_place = iif(flow_key IS NULL, holds_place, 0)',
    reason: PLACE_KEPT,
  },
  { file: 'sqlite/messages/statistics.ts', sql: 'min(max(due_at, ifnull(ready_at, due_at)))', reason: FOR_PEOPLE },
  { file: 'postgres/deliveries/bodies.ts', sql: 'THEN octet_length(', reason: SIZE },
  { file: 'postgres/deliveries/cancel.ts', sql: 'CASE WHEN m.lease IS', reason: NOT_LOCKED },
  { file: 'postgres/deliveries/cancel.ts', sql: 'CASE WHEN is_claimed', reason: NOT_LOCKED },
  { file: 'postgres/deliveries/claim.ts', sql: 'm.cancel_requested_at IS', reason: NOT_LOCKED },
  {
    file: 'postgres/deliveries/insert.ts',
    sql: 'CASE WHEN shared IS NULL',
    reason: 'a body that is shared is stored once, beside the messages; the others keep theirs in the row',
  },
  {
    file: 'postgres/deliveries/insert.ts',
    sql: 'CASE WHEN lease IS NULL',
    reason: 'writes which step the journal tells; whether there is a lease was decided before',
  },
  {
    file: 'postgres/deliveries/journal.ts',
    sql: 'least(min(xact_start), now())',
    reason: 'the order of the journal goes by the clock of the database',
  },
  { file: 'postgres/deliveries/journal.ts', sql: "CASE tier WHEN 'free'", reason: RETENTION },
  { file: 'postgres/deliveries/lease.ts', sql: 'ready_at = CASE m.attempts WHEN 0', reason: FIRST_START },
  { file: 'postgres/deliveries/lease.ts', sql: 'CASE WHEN m.body_id IS NULL THEN m.body END', reason: LEFT_OUT },
  { file: 'postgres/messages/messages.ts', sql: 'CASE WHEN m.retried > 0', reason: LEFT_OUT },
  { file: 'postgres/messages/messages.ts', sql: 'CASE WHEN a.number >= $4', reason: LEFT_OUT },
  {
    file: 'postgres/deliveries/promote.ts',
    sql: "CASE WHEN m.flow_key IS NULL THEN 'ready' ELSE 'queued' END",
    reason: WHOLE_SET,
  },
  { file: 'postgres/deliveries/message-sql.ts', sql: 'ready_at = CASE m.attempts WHEN 0', reason: FIRST_START },
  {
    file: 'postgres/deliveries/queues.ts',
    sql: 'LIMIT greatest(0, least($5::int, g.places - holding.started))',
    reason: 'bounds what is read, in the statement that counts; planHeads decides',
  },
  {
    file: 'postgres/sessions/schema-upgrade.ts',
    sql: 'reader_min = greatest(reader_min, $1)',
    reason: 'two nodes that change the schema at once; no rule of the product',
  },
  {
    file: 'postgres/deliveries/settle.ts',
    sql: 'ended_at = greatest(given.ended_at, m.cancel_requested_at)',
    reason: CANCELLED_AT,
  },
  { file: 'postgres/messages/statistics.ts', sql: 'min(greatest(due_at, ready_at))', reason: FOR_PEOPLE },
];

/** The inside of strings and templates alone. */
export function sqlText({ code, codeAndText }: SourceView): string {
  return codeAndText
    .split('')
    .map((char, at) => (char === '\n' || code[at] === ' ' ? char : ' '))
    .join('');
}

export function findSqlDecisions(path: string, view: SourceView): { at: number; message: string }[] {
  const file = path.replace(/^server\/src\/store\//, '');
  const allowed = ALLOWED_DECISIONS.filter((each) => each.file === file);
  const text = sqlText(view);
  const used = new Set<Allowed>();
  const found = [...text.matchAll(DECISION)].flatMap(({ index }) => {
    const start = text.lastIndexOf('\n', index) + 1;
    const end = text.indexOf('\n', index);
    const line = text.slice(start, end === -1 ? undefined : end).trim();
    const reason = allowed.find(({ sql }) => line.includes(sql));
    if (reason) used.add(reason);
    return reason
      ? []
      : [{ at: index, message: `${line}: a rule belongs into rules/, or on the list with its reason` }];
  });
  const gone = allowed
    .filter((each) => !used.has(each))
    .map(({ sql }) => ({ at: -1, message: `"${sql}" is no longer here: take it off the list of decisions in SQL` }));
  return [...found, ...gone];
}
