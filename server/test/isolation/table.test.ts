// The table of budgets is complete: every row is shown by a test, every pool that accounts share is in /metrics, and no
// limit of what is held stands elsewhere.

import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { test } from 'node:test';
import { BUDGETS } from '../../src/domain/budgets.ts';
import { startRider } from '../http/harness.ts';

const ROOT = join(import.meta.dirname, '..', '..');

/** The file of each row with the test that goes over it. The types demand one for every row. */
const SHOWN_BY: Readonly<Record<keyof typeof BUDGETS, string>> = {
  slots: 'isolation/slots.test.ts',
  hostSlots: 'isolation/slots.test.ts',
  claimHosts: 'conformance/claim.ts',
  dueMessages: 'conformance/fairness.ts',
  flowKeyReady: 'isolation/flow-keys.test.ts',
  flowKeysJudged: 'store/flow-key-rows.test.ts',
  dueFlowKeys: 'store/flow-key-rows.test.ts',
  inFlightBytes: 'isolation/bytes-in-flight.test.ts',
  uploads: 'isolation/uploads.test.ts',
  bodyPieces: 'isolation/uploads.test.ts',
  plannedMessages: 'isolation/request-size.test.ts',
  plannedBytes: 'isolation/request-size.test.ts',
  inboxMessages: 'isolation/inbox.test.ts',
  inboxBytes: 'isolation/inbox.test.ts',
  doubtedLeases: 'store/postgres-doubts.test.ts',
  headerBytes: 'isolation/header-bytes.test.ts',
  settingLength: 'isolation/header-bytes.test.ts',
  topicHeaders: 'isolation/topics.test.ts',
  topicHeaderBytes: 'isolation/topics.test.ts',
  errorLength: 'isolation/errors.test.ts',
  redactionNames: 'isolation/redaction-names.test.ts',
  descendants: 'isolation/descendants.test.ts',
  filterValues: 'isolation/filters.test.ts',
  filterIds: 'isolation/filters.test.ts',
  filterCharacters: 'isolation/filters.test.ts',
  searchCharacters: 'isolation/filters.test.ts',
  pageBytes: 'isolation/pages.test.ts',
  listedBodyBytes: 'isolation/lists.test.ts',
  lagCount: 'isolation/counts.test.ts',
  lineCount: 'isolation/counts.test.ts',
  matchedCount: 'isolation/counts.test.ts',
  reads: 'isolation/reads.test.ts',
  answerBytes: 'isolation/reads.test.ts',
  databaseLists: 'store/account-line.test.ts',
  databaseLookUps: 'store/postgres-turns.test.ts',
  databaseChanges: 'store/postgres-turns.test.ts',
  logBytes: 'isolation/counts.test.ts',
  streams: 'isolation/streams.test.ts',
  streamReads: 'isolation/streams.test.ts',
  streamBytes: 'isolation/streams.test.ts',
  dueSchedules: 'isolation/engine-loop.test.ts',
  dueScheduleBytes: 'conformance/schedules.ts',
  upkeepRows: 'isolation/engine-loop.test.ts',
  upkeepBytes: 'conformance/retention.ts',
  sessions: 'isolation/sessions.test.ts',
  runningJobs: 'isolation/engine-loop.test.ts',
  lookups: 'isolation/dns.test.ts',
  lookupNames: 'delivery/lookups.test.ts',
  lookupAddresses: 'delivery/lookups.test.ts',
  interimAnswers: 'isolation/interim-answers.test.ts',
  answerHeadBytes: 'isolation/interim-answers.test.ts',
  answerHeaders: 'isolation/answer-headers.test.ts',
  keptHeaders: 'isolation/answer-headers.test.ts',
  answerHeaderBytes: 'isolation/answer-headers.test.ts',
  answerFramingBytes: 'isolation/answer-headers.test.ts',
  answerChunks: 'isolation/answer-headers.test.ts',
  answerBodyBytes: 'delivery/misbehaving.test.ts',
  answers: 'isolation/answer-headers.test.ts',
  acceptedAtOnce: 'isolation/accepting.test.ts',
  connections: 'isolation/connections.test.ts',
  requests: 'isolation/connections.test.ts',
  pipelined: 'isolation/connections.test.ts',
  headBytes: 'security/hostile-requests.test.ts',
  headSeconds: 'isolation/connections.test.ts',
  requestSeconds: 'isolation/connections.test.ts',
  idleSeconds: 'isolation/connections.test.ts',
  refusedBytes: 'isolation/connections.test.ts',
  refusedSeconds: 'isolation/connections.test.ts',
  endedSeconds: 'isolation/connections.test.ts',
  unreadSeconds: 'isolation/connections.test.ts',
  unreadAnswers: 'isolation/connections.test.ts',
  sinkRequests: 'http/sink.test.ts',
  sinkBodyBytes: 'http/sink.test.ts',
  sinkCounts: 'http/sink.test.ts',
  idleConnections: 'delivery/undici-sender.test.ts',
};

test('every row names a test file that is there', () => {
  for (const [row, file] of Object.entries(SHOWN_BY)) {
    const text = readFileSync(join(ROOT, 'test', file), 'utf8');
    assert.match(text, /\btest\(/, `${row}: ${file}`);
  }
});

test('every pool that accounts share is in /metrics, with its size, and with its refusals where it refuses', async (t) => {
  const rider = await startRider(t);
  const { text } = await rider.call('GET', '/metrics', { token: null });
  // A host is not a pool of the node: there is one such limit for each.
  const shared = Object.entries(BUDGETS).filter(([row, { account }]) => account === 'share' && row !== 'hostSlots');
  assert.ok(shared.length >= 9);
  for (const [row, { node, beyond }] of shared) {
    const max = Number(new RegExp(`^postrider_pool_max\\{pool="${row}"\\} (\\d+)$`, 'm').exec(text)?.[1]);
    assert.ok(typeof node === 'number' ? max >= node : max > 0, `${row}: ${max}`);
    assert.match(text, new RegExp(`^postrider_pool_used\\{pool="${row}"\\} \\d+$`, 'm'));
    // What waits instead is never refused.
    if (!beyond.includes('share_used')) continue;
    assert.match(text, new RegExp(`^postrider_pool_refused_total\\{pool="${row}",why="account"\\} 0$`, 'm'));
  }
});

/** Limits that stand beside their use, and why: none of them is for what waits or is kept between two requests. */
const ELSEWHERE: readonly (readonly [names: RegExp, why: string])[] = [
  [/_(MS|TRIES|SECONDS)_MAX$/, 'a time or a number of tries: nothing is held'],
  [
    /^(BATCH|SMALL|PIECE|SETTLE|PROMOTE|PIECES|LOOKS)_(\w+_)?MAX$|^(PROMOTE|PIECE|PIECES|LOOKS)_MAX$/,
    'a piece of work: the rest follows in the next',
  ],
  [
    /^(LOOKED_AT|WAYS|SEARCHED_BYTES|BODIES_BYTES|ANSWERS_BYTES|LANES|CHANGED_BYTES|STATES_COUNTED)_MAX$/,
    'the work of one call: the answer ends there',
  ],
  [
    /^(COUNT|LIST|COUNTED|GROUPED|MATCHED|STEPS|HELD_COUNTED|STATES_COUNTED|PER_SECOND|PER_ACCOUNT|REASONS)_MAX$/,
    'entries of one answer',
  ],
  [/^(NAMED_ACCOUNTS|NAMED_HOSTS)_MAX$/, 'entries of one claim'],
  [
    /^(BODY_BYTES|PARAMETER_LENGTH|OTHER_BYTES|BYTES_A_BODY_BYTE|BESIDE_BODY_BYTES|SIGN_IN_BYTES|DEPTH|COUNTED_LENGTH|SIZE_DIGITS)_MAX$/,
    'the size of one request or of a part of it',
  ],
  [/^(WRITERS|ADDERS|READERS)_MAX$/, 'connections to the database, which no caller makes'],
  [/^(REMEMBERED|ACCOUNTS|ADDRESSES)_MAX$/, 'a cache: it is emptied when it is full'],
  [/^(BYTES|TABLE_BYTES|PROBLEMS)_MAX$/, 'the check at the start, which no caller makes'],
  [/^PLACE_OF_TIME_MAX$/, 'the last date that a place in the journal can tell'],
];

test('a limit of what is held stands in the table, and not elsewhere', () => {
  const parts = ['http', 'delivery', 'store', 'accounts', 'upkeep', 'telemetry'];
  const files = globSync(parts.map((part) => join(ROOT, 'src', part, '**', '*.ts')));
  assert.ok(files.length > 100);
  const found = files.flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/^(?:export )?const ([A-Z][A-Z0-9_]*_MAX)\b[^=\n]*= *[0-9(]/gm)].map(
      ([, name]) => [relative(ROOT, file), name!] as const,
    ),
  );
  assert.ok(found.length > 30);
  const unknown = found.filter(([, name]) => !ELSEWHERE.some(([names]) => names.test(name)));
  assert.deepEqual(unknown, [], 'put it into domain/budgets.ts, or say here why it needs no row');
});

test('every pool has its size from the table', () => {
  const made = globSync(join(ROOT, 'src', '**', '*.ts')).flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/new Pool\(([^)\n]*)/g)].map(([, size]) => [relative(ROOT, file), size!]),
  );
  assert.ok(made.length >= 5);
  for (const [file, size] of made) {
    // The driver of PostgreSQL has a class of the same name; the inbox is given its sizes, which are those of the table.
    if (file!.includes('postgres') || file!.endsWith('inbox.ts')) continue;
    assert.match(size!, /nodeMax\(|Max\b|max\b|concurrency/i, `${file}: new Pool(${size}`);
  }
});
