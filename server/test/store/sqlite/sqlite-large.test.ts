// A large store: no list, count or event list walks or sorts a large table, and a rare filter is found
// to the last message, page by page.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { MessageFilter } from '../../../src/rules/reads/message-filter.ts';
import { countMatching } from '../../../src/store/ports/count-in-pieces.ts';
import type { PageRequest } from '../../../src/store/ports/message-store.ts';
import type { Store } from '../../../src/store/ports/store.ts';
import { openDatabase } from '../../../src/store/sqlite/files/open.ts';
import { createSqliteStore } from '../../../src/store/sqlite/store.ts';
import { ACCOUNT, NOW, OTHER_ACCOUNT } from '../../conformance/given.ts';
import { lengthOf } from '../../support/campaign.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { processorMs } from '../../support/processor-time.ts';
import { FILTERS } from '../filters.ts';
import { RecordingDatabase } from '../recording-database.ts';
import { scratchDirectory } from '../scratch-directory.ts';
import { WatchedExecutor } from '../watched-executor.ts';

const COUNT = lengthOf({ short: 50_000, rest: 50_000, whole: 150_000 });
/** Every one of these is rare in all ways there are: by label, host, caller, body … */
const RARE_EVERY = 749;
const ORDERS = ['newestFirst', 'oldestFirst'] as const;

test(`in a store of ${COUNT} messages`, { timeout: 600_000 }, async (t) => {
  const path = join(scratchDirectory(t), 'postrider.db');
  const filledMs = await processorMs(() => fill(path));
  t.diagnostic(`filled in ${filledMs.toFixed(0)} ms`);
  const database = new RecordingDatabase(path);
  const store = createSqliteStore({
    executor: new WatchedExecutor(database),
    clock: new ManualClock(NOW),
    node: 'nod_a',
    onBroken: (error) => assert.fail(error),
  });
  await t.test('no list walks or sorts a large table', () => noWalks(database, store));
  await t.test('a rare filter finds exactly what it means, page by page', (t2) => rareFilters(t2, store));
  await t.test('the events of one message are found at once, and all events can be paged', (t2) => events(t2, store));
  await t.test('the first page of every list comes soon', (t2) => firstPages(t2, store));
  await store.close();
});

async function noWalks(database: RecordingDatabase, store: Store): Promise<void> {
  database.statements.clear();
  for (const order of ORDERS) {
    const page = { limit: 20, cursor: null, order, withBodies: true };
    for (const filter of FILTERS) await store.searchMessages(ACCOUNT, filter, page);
    for (const filter of [{ messages: {} }, { messages: { messageIds: [idOf(1), idOf(2)] } }]) {
      await store.listEvents(ACCOUNT, filter, page);
      await store.listEvents(ACCOUNT, { ...filter, states: ['FAILED'], fromAt: NOW - 5000 }, page);
    }
  }
  for (const filter of FILTERS) await countMatching(store, ACCOUNT, filter, 20);
  await Promise.all([store.listQueues(ACCOUNT), store.listFlowKeys(ACCOUNT), store.listSchedules(ACCOUNT)]);
  await Promise.all([store.listJobs(ACCOUNT), store.runningJobs(), store.countSchedules(ACCOUNT, 9)]);
  await Promise.all([store.journalEnd(ACCOUNT), store.getQueue(ACCOUNT, 'q3'), store.getFlowKey(ACCOUNT, 'f1')]);
  assert.ok(database.statements.size > 30, `only ${database.statements.size} statements were seen`);
  assert.deepEqual(
    [...database.statements].flatMap((sql) => database.walks(sql)),
    [],
  );
}

async function rareFilters(t: TestContext, store: Store): Promise<void> {
  const rare = Array.from({ length: Math.floor(COUNT / RARE_EVERY) }, (_, index) => (index + 1) * RARE_EVERY);
  const mine = rare.filter((i) => accountOf(i) === ACCOUNT);
  const expected = mine.map(idOf);
  // Of each order, more than a page.
  assert.ok(expected.length > 40);
  const failed = mine.filter((i) => i % 10 === 0).map(idOf);
  const filters: [MessageFilter, string[]][] = [
    [{ labels: ['rare'] }, expected],
    [{ labels: ['rare', 'rarest', 'l1'], callerIps: ['198.51.100.1'] }, expected],
    [{ hosts: ['rare.example'] }, expected],
    [{ hosts: ['rare.example:8443'] }, expected],
    [{ urls: ['https://rare.example:8443/x'] }, expected],
    [{ paths: ['/x'] }, expected],
    [{ topicNames: ['rare'] }, expected],
    [{ scheduleIds: ['scd_rare'] }, expected],
    [{ callerIps: ['198.51.100.1'] }, expected],
    [{ text: 'a needle in' }, expected],
    [{ states: ['FAILED'], hosts: ['rare.example'] }, failed],
    [{ messageIds: rare.map(idOf) }, expected],
  ];
  for (const [filter, ids] of filters) {
    // Those without an index look at every message of the account: once is enough.
    const isLong = filter.paths !== undefined || filter.text !== undefined;
    for (const order of isLong ? ORDERS.slice(0, 1) : ORDERS) {
      let pages = 0;
      const seen: string[] = [];
      const tookMs = await processorMs(async () => {
        for (let cursor: number | null = null; ; ) {
          const page = await store.searchMessages(ACCOUNT, filter, { limit: 30, cursor, order, withBodies: false });
          pages += 1;
          seen.push(...page.messages.map(({ id }) => id));
          cursor = page.cursor;
          if (cursor === null) break;
        }
      });
      assert.deepEqual(seen, order === 'oldestFirst' ? ids : ids.toReversed(), JSON.stringify(filter));
      if (order === 'newestFirst') {
        const name = Object.keys(filter).join(' and ');
        t.diagnostic(`by ${name}: ${seen.length} messages, ${pages} pages, ${tookMs.toFixed(0)} ms`);
      }
    }
    // A count without an index ends after so many messages.
    const isCountCut = isLong || (filter.callerIps !== undefined && filter.labels === undefined);
    if (!isCountCut) assert.equal((await countMatching(store, ACCOUNT, filter, COUNT)).count, ids.length);
  }
  assert.deepEqual(
    (await store.searchMessages(OTHER_ACCOUNT, { messageIds: expected }, PAGE)).messages,
    [],
    'another account finds none of them',
  );
}

const PAGE: PageRequest = { limit: 100, cursor: null, order: 'newestFirst', withBodies: false };

async function events(t: TestContext, store: Store): Promise<void> {
  const filter = { messages: { messageIds: [idOf(10)] } };
  for (const order of ORDERS) {
    const { events: found, cursor } = await store.listEvents(ACCOUNT, filter, { ...PAGE, order });
    const states = found.map(({ state }) => state);
    assert.deepEqual(order === 'oldestFirst' ? states : states.toReversed(), ['CREATED', 'ACTIVE', 'ERROR', 'FAILED']);
    assert.equal(cursor, null);
  }
  let count = 0;
  const tookMs = await processorMs(async () => {
    for (let cursor: number | null = null; ; ) {
      const page = await store.listEvents(ACCOUNT, { messages: {} }, { ...PAGE, limit: 1000, cursor });
      count += page.events.length;
      cursor = page.cursor;
      if (cursor === null || count > 50_000) break;
    }
  });
  t.diagnostic(`${count} events in pages of 1000: ${tookMs.toFixed(0)} ms`);
}

async function firstPages(t: TestContext, store: Store): Promise<void> {
  const worst = { tookMs: 0, filter: {} };
  for (const filter of FILTERS) {
    const tookMs = await processorMs(() => store.searchMessages(ACCOUNT, filter, PAGE));
    if (tookMs > worst.tookMs) Object.assign(worst, { tookMs, filter });
  }
  t.diagnostic(`slowest first page: ${worst.tookMs.toFixed(0)} ms, by ${JSON.stringify(worst.filter)}`);
  // Twenty thousand candidates are looked at, at most, whatever is asked.
  assert.ok(worst.tookMs < 5000, `${worst.tookMs} ms`);
  const listMs = await processorMs(() => Promise.all([store.listQueues(ACCOUNT), store.listFlowKeys(ACCOUNT)]));
  t.diagnostic(`queues with their lag and flow keys with their counts: ${listMs.toFixed(0)} ms`);
}

function idOf(i: number): string {
  return `msg_${String(i).padStart(26, '0')}`;
}

function accountOf(i: number): string {
  return i % 4 === 0 ? OTHER_ACCOUNT : ACCOUNT;
}

const NUMBERS = 'WITH RECURSIVE numbers (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM numbers WHERE i < ?)';
const ACCOUNT_OF = `iif(i % 4 = 0, '${OTHER_ACCOUNT}', '${ACCOUNT}')`;
const IS_RARE = `i % ${RARE_EVERY} = 0`;
const HAS_ENDED = 'i % 10 NOT IN (2, 3, 4, 5)';

/** Straight into the file, which is not what is tested. */
function fill(path: string): void {
  const database = openDatabase(path);
  database.exec('PRAGMA synchronous = OFF; PRAGMA wal_autocheckpoint = 0; PRAGMA cache_size = -400000;');
  const insert = (count: number, into: string, select: string, where = '1') =>
    database.run(`INSERT INTO ${into} ${NUMBERS} SELECT ${select} FROM numbers WHERE ${where}`, count);
  database.transaction(() => {
    const account = 'accounts (id, name, tier, current_key, next_key, created_at)';
    insert(2, account, "'acc_' || i, 'n' || i, 'free', 'sig_1', 'sig_2', 0");
    insert(
      50,
      'queues (account_id, name, parallelism, is_paused, created_at, updated_at)',
      `'${ACCOUNT}', 'q' || i, 1, 0, 0, 0`,
    );
    insert(
      2000,
      'flow_keys (account_id, key, parallelism, rate, period_ms, window_start_at, window_count)',
      `'${ACCOUNT}', 'f' || i, 5, NULL, 1000, 0, 0`,
    );
    insert(
      2000,
      `schedules (id, account_id, cron, destination, headers, is_paused, next_at, last_message_ids, created_at, body)`,
      `'scd_' || i, '${ACCOUNT}', '* * * * *', 'https://a.example/', '[]', 0, i, '[]', 0, x''`,
    );
    insert(
      2000,
      'jobs (id, account_id, action, filter, per_second, state, matched, done, created_at, updated_at)',
      `'job_' || i, '${ACCOUNT}', 'cancel', '{}', 1, iif(i % 100 = 0, 'running', 'done'), 0, 0, 0, 0`,
    );
    insert(COUNT, MESSAGE_COLUMNS, MESSAGE_VALUES);
    insert(COUNT, 'message_labels (account_id, label, message_seq)', `${ACCOUNT_OF}, 'l' || (i % 200), i`);
    insert(COUNT, 'message_labels (account_id, label, message_seq)', `${ACCOUNT_OF}, 'rare', i`, IS_RARE);
    insert(
      COUNT,
      `attempts (message_seq, number, started_at, ended_at, outcome, status, response_headers, is_response_body_cut,
         response_body)`,
      "i, 1, i, i, 'answered', iif(i % 10 = 0, 500, 200), '[]', 0, x'6f6b'",
      `${HAS_ENDED} AND i % 10 <> 1`,
    );
    const journal = 'journal (account_id, seq, at, message_seq, step)';
    insert(COUNT, journal, `${ACCOUNT_OF}, 2 * i, i, i, iif(i % 10 = 1, 0, -3)`);
    insert(COUNT, journal, `${ACCOUNT_OF}, 2 * i + 1, i, i, iif(i % 10 = 1, -1, 1)`, HAS_ENDED);
  });
  database.close();
}

const MESSAGE_COLUMNS = `messages (seq, id, account_id, kind, state, due_at, first_due_at, lease, node, claimed_at, url,
  host, method, headers, retries_max, timeout_ms, attempts, queue_name, flow_key, flow_limits, topic_name, schedule_id,
  labels, caller_ip, hops, created_at, ended_at, expires_at, failure, last_status, body)`;

/** A tenth each failed, cancelled, delayed, queued, ready and claimed; the rest delivered. */
const MESSAGE_VALUES = `i, printf('msg_%026d', i), ${ACCOUNT_OF}, 'publish',
  CASE i % 10 WHEN 0 THEN 'failed' WHEN 1 THEN 'cancelled' WHEN 2 THEN 'delayed' WHEN 3 THEN 'queued'
    WHEN 4 THEN 'ready' WHEN 5 THEN 'claimed' ELSE 'delivered' END,
  i, i, iif(i % 10 = 5, 'nod_x.' || i, NULL), iif(i % 10 = 5, 'nod_x', NULL), iif(i % 10 = 5, i, NULL),
  iif(${IS_RARE}, 'https://rare.example:8443/x', 'https://h' || (i % 500) || '.example/' || (i % 97)),
  iif(${IS_RARE}, 'rare.example:8443', 'h' || (i % 500) || '.example:443'),
  'POST', '[]', 0, 30000, iif(${HAS_ENDED} AND i % 10 <> 1, 1, 0),
  iif(i % 10 = 3 OR i % 7 = 0, 'q' || (i % 50), NULL),
  iif(i % 10 <> 3 AND i % 7 <> 0 AND i % 11 = 0, 'f' || (i % 100), NULL),
  iif(i % 10 <> 3 AND i % 7 <> 0 AND i % 11 = 0, '{"parallelism":5,"rate":null,"periodMs":1000}', NULL),
  iif(${IS_RARE}, 'rare', iif(i % 13 = 0, 't' || (i % 20), NULL)),
  iif(${IS_RARE}, 'scd_rare', iif(i % 17 = 0, 'scd_' || (i % 30), NULL)),
  iif(${IS_RARE}, json_array('l' || (i % 200), 'rare'), json_array('l' || (i % 200))),
  iif(${IS_RARE}, '198.51.100.1', '192.0.2.' || (i % 200)),
  0, i, iif(${HAS_ENDED}, i, NULL), iif(${HAS_ENDED}, i + 1000000, NULL), iif(i % 10 = 0, 'it failed', NULL),
  iif(${HAS_ENDED} AND i % 10 <> 1, iif(i % 10 = 0, 500, 200), NULL),
  iif(${IS_RARE}, CAST('a needle in a haystack' AS BLOB), x'7b7d')`;
