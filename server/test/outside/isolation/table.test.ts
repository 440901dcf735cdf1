// The table of budgets is complete: every row is shown by a test, every pool that accounts share is in /metrics, and no
// limit of what is held stands elsewhere.

import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { test } from 'node:test';
import { BUDGETS } from '../../../src/rules/limits/budgets.ts';
import { startRider } from '../../support/harness.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');

/** The file of each row with the test that goes over it. The types demand one for every row. */
const SHOWN_BY: Readonly<Record<keyof typeof BUDGETS, string>> = {
  slots: 'outside/isolation/slots.test.ts',
  hostSlots: 'outside/isolation/slots.test.ts',
  claimHosts: 'conformance/claim.ts',
  dueMessages: 'conformance/fairness.ts',
  flowKeyReady: 'outside/isolation/flow-keys.test.ts',
  flowKeysChecked: 'store/flow-key-rows.test.ts',
  dueFlowKeys: 'store/flow-key-rows.test.ts',
  dueQueues: 'conformance/fairness.ts',
  linesAtOnce: 'conformance/fairness.ts',
  inFlightBytes: 'outside/isolation/bytes-in-flight.test.ts',
  uploads: 'outside/isolation/uploads.test.ts',
  bodyPieces: 'outside/isolation/uploads.test.ts',
  batchElements: 'inbound/publish/work-under-way.test.ts',
  managementBytes: 'outside/isolation/long-management-bodies.test.ts',
  plannedMessages: 'outside/isolation/request-size.test.ts',
  plannedBytes: 'outside/isolation/request-size.test.ts',
  inboxMessages: 'outside/isolation/inbox.test.ts',
  inboxBytes: 'outside/isolation/inbox.test.ts',
  doubtedLeases: 'store/postgres/postgres-doubts.test.ts',
  headerBytes: 'outside/isolation/header-bytes.test.ts',
  settingLength: 'outside/isolation/header-bytes.test.ts',
  topicHeaders: 'outside/isolation/topics.test.ts',
  topicHeaderBytes: 'outside/isolation/topics.test.ts',
  scheduleHeaders: 'outside/isolation/schedules.test.ts',
  scheduleHeaderBytes: 'outside/isolation/schedules.test.ts',
  errorLength: 'outside/isolation/errors.test.ts',
  redactionNames: 'outside/isolation/redaction-names.test.ts',
  descendants: 'outside/isolation/descendants.test.ts',
  messageChanges: 'outside/messages/change.test.ts',
  filterValues: 'outside/isolation/filters.test.ts',
  filterIds: 'outside/isolation/filters.test.ts',
  filterCharacters: 'outside/isolation/filters.test.ts',
  searchCharacters: 'outside/isolation/filters.test.ts',
  pageBytes: 'outside/isolation/pages.test.ts',
  listedBodyBytes: 'outside/isolation/lists.test.ts',
  lagCount: 'outside/isolation/counts.test.ts',
  lineCount: 'outside/isolation/counts.test.ts',
  matchedCount: 'outside/isolation/counts.test.ts',
  pieceRows: 'outside/isolation/pieces.test.ts',
  pieceBytes: 'outside/isolation/pieces.test.ts',
  reads: 'outside/isolation/reads.test.ts',
  answerBytes: 'outside/isolation/reads.test.ts',
  databaseLists: 'store/turns/turns-of-accounts.test.ts',
  databaseLookUps: 'store/postgres/postgres-turns.test.ts',
  databaseChanges: 'store/postgres/postgres-turns.test.ts',
  logBytes: 'outside/isolation/counts.test.ts',
  streams: 'outside/isolation/streams.test.ts',
  streamReads: 'outside/isolation/streams.test.ts',
  streamBytes: 'outside/isolation/streams.test.ts',
  dueSchedules: 'outside/isolation/engine-loop.test.ts',
  dueScheduleBytes: 'conformance/schedules.ts',
  upkeepRows: 'outside/isolation/engine-loop.test.ts',
  upkeepBytes: 'conformance/retention.ts',
  changedBytes: 'outside/isolation/large-changes.test.ts',
  hosts: 'upkeep/host-health.test.ts',
  parkedHosts: 'conformance/hosts.ts',
  ackText: 'rules/acks/ack.test.ts',
  progressEvents: 'conformance/acks.ts',
  alerts: 'outside/alerts/alerts.test.ts',
  dueAlerts: 'upkeep/alerts.test.ts',
  alertRows: 'conformance/alerts.ts',
  sessions: 'outside/isolation/sessions.test.ts',
  runningJobs: 'outside/isolation/engine-loop.test.ts',
  smallJobBytes: 'outside/isolation/stored-bytes.test.ts',
  jobsKept: 'conformance/stored.ts',
  auditRows: 'conformance/audit.ts',
  auditFrequent: 'conformance/audit.ts',
  auditRefusals: 'conformance/audit.ts',
  auditKinds: 'audit/counted-calls.test.ts',
  auditNetworks: 'audit/counted-calls.test.ts',
  lookups: 'outside/isolation/dns.test.ts',
  lookupNames: 'delivery/egress/lookups.test.ts',
  lookupAddresses: 'delivery/egress/lookups.test.ts',
  interimAnswers: 'outside/isolation/interim-answers.test.ts',
  answerHeadBytes: 'outside/isolation/interim-answers.test.ts',
  answerHeaders: 'outside/isolation/answer-headers.test.ts',
  keptHeaders: 'outside/isolation/answer-headers.test.ts',
  answerHeaderBytes: 'outside/isolation/answer-headers.test.ts',
  answerFramingBytes: 'outside/isolation/answer-headers.test.ts',
  answerChunks: 'outside/isolation/answer-headers.test.ts',
  answerBodyBytes: 'delivery/http/misbehaving.test.ts',
  answers: 'outside/isolation/answer-headers.test.ts',
  acceptedAtOnce: 'outside/isolation/accepting.test.ts',
  connections: 'outside/isolation/connections.test.ts',
  metricsConnections: 'outside/service/metrics-access.test.ts',
  requests: 'outside/isolation/connections.test.ts',
  pipelined: 'outside/isolation/connections.test.ts',
  headBytes: 'outside/security/hostile-requests.test.ts',
  partBytes: 'inbound/server/publisher-connection.test.ts',
  rememberedHead: 'inbound/server/whole-request.test.ts',
  rememberedLines: 'inbound/server/whole-request.test.ts',
  headSeconds: 'outside/isolation/connections.test.ts',
  requestSeconds: 'outside/isolation/connections.test.ts',
  bodySeconds: 'outside/isolation/uploads.test.ts',
  bodyBytesMin: 'outside/isolation/uploads.test.ts',
  unknownCallers: 'outside/isolation/strangers.test.ts',
  idleSeconds: 'outside/isolation/connections.test.ts',
  refusedBytes: 'outside/isolation/connections.test.ts',
  refusedSeconds: 'outside/isolation/connections.test.ts',
  endedSeconds: 'outside/isolation/connections.test.ts',
  halfClosedSeconds: 'outside/isolation/connections.test.ts',
  unreadSeconds: 'outside/isolation/connections.test.ts',
  unreadAnswers: 'outside/isolation/connections.test.ts',
  sinkRequests: 'outside/service/sink.test.ts',
  sinkBodyBytes: 'outside/service/sink.test.ts',
  sinkCounts: 'outside/service/sink.test.ts',
  idleConnections: 'delivery/http/network-sender.test.ts',
  oneShotOrigins: 'delivery/http/reuse.test.ts',
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
  [/(^|_)(MS|TIMES|TRIES|SECONDS)_MAX$/, 'a time, a multiple of one or a number of tries: nothing is held'],
  [
    /^(BATCH|SMALL|PIECE|SETTLE|PROMOTE|EXPIRED|EXPIRY|PIECES|LOOKS)_(\w+_)?MAX$|^(PROMOTE|PIECE|PIECES|RUN_PIECES|LOOKS|CLAIMS_BEYOND_SLOTS)_MAX$/,
    'a piece of work: the rest follows in the next',
  ],
  [
    /^(LOOKED_AT|WAYS|SEARCHED_BYTES|BODIES_BYTES|RESPONSES_BYTES|BACKLOGS|CHANGED_BYTES|STATES_COUNTED)_MAX$/,
    'the work of one call: the answer ends there',
  ],
  [
    /^(COUNT|LIST|COUNTED|GROUPED|MATCHED|STEPS|HELD_COUNTED|STATES_COUNTED|RUN_ROWS|PER_SECOND|PER_ACCOUNT|REASONS|NAMED|NAMES|NODES|PARAMETERS_SHOWN)_MAX$/,
    'entries of one answer',
  ],
  [/^(NAMED_ACCOUNTS|NAMED_HOSTS)_MAX$/, 'entries of one claim'],
  [
    /^(BODY_BYTES|PARAMETER_LENGTH|OTHER_BYTES|BYTES_A_BODY_BYTE|BESIDE_BODY_BYTES|SIGN_IN_BYTES|DEPTH|COUNTED_LENGTH|SIZE_DIGITS|PROXIES|ASKED_HEADERS)_MAX$/,
    'the size of one request or of a part of it',
  ],
  [/^(WRITERS|ADDERS|READERS)_MAX$/, 'connections to the database, which no caller makes'],
  [
    /^(REMEMBERED|KNOWN|ACCOUNTS|ADDRESSES|KEYS|POSITIONS|SCRATCH_LENGTH)_MAX$/,
    'a cache: it is emptied when it is full',
  ],
  [
    /^(COPIED_BYTES|COPIED_BODY_BYTES|GROUPED_BODY_BYTES|SHARED_BYTES|FIRST_RESPONSE_BYTES)_MAX$/,
    'up to this size the shorter way is taken; beyond it the other way does the same',
  ],
  [/^KEPT_MAX$/, 'what was logged of schedules: beyond it, all others share one count'],
  [/^(BYTES|TABLE_BYTES|PROBLEMS)_MAX$/, 'the check at the start, which no caller makes'],
  [/^REST_(?:MS_)?MAX$/, 'how long an account rests; nothing is held for it'],
  [/^ATTEMPTS_MAX$/, 'the last number of attempts that a step of the journal can tell'],
  [/^POSITION_OF_TIME_MAX$/, 'the last date that a position in the journal can tell'],
];

test('a limit of what is held stands in the table, and not elsewhere', () => {
  const parts = ['inbound', 'publish', 'delivery', 'store', 'accounts', 'upkeep', 'telemetry'];
  const files = globSync(parts.map((part) => join(ROOT, 'src', part, '**', '*.ts')));
  assert.ok(files.length > 100);
  const found = files.flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/^(?:export )?const ([A-Z][A-Z0-9_]*_MAX)\b[^=\n]*= *[0-9(]/gm)].map(
      ([, name]) => [relative(ROOT, file), name!] as const,
    ),
  );
  assert.ok(found.length > 30);
  const unknown = found.filter(([, name]) => !ELSEWHERE.some(([names]) => names.test(name)));
  assert.deepEqual(unknown, [], 'put it into rules/limits/budgets.ts, or say here why it needs no row');
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
