// No statement walks through the messages: every one the verbs use is explained by SQLite itself and must go by an
// index, so that the millionth message costs what the first did.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Alert } from '../../../src/rules/alerts/alert.ts';
import type { Claim } from '../../../src/rules/delivery/message.ts';
import { decideExpiration } from '../../../src/rules/delivery/settle.ts';
import type { Topic } from '../../../src/rules/publish/topic.ts';
import { READY_START } from '../../../src/store/ports/backlog.ts';
import { countMatching, readOverview } from '../../../src/store/ports/count-in-pieces.ts';
import type { Store } from '../../../src/store/ports/store.ts';
import { WALK_START } from '../../../src/store/ports/upkeep-store.ts';
import { AuditNote, runWithNote } from '../../../src/store/shared/audit-note.ts';
import { SHARED_BODY_BYTES_MIN } from '../../../src/store/shared/shared-bodies.ts';
import { openDatabase } from '../../../src/store/sqlite/files/open.ts';
import { createSqliteStore } from '../../../src/store/sqlite/store.ts';
import { createVerbs } from '../../../src/store/sqlite/thread/verbs.ts';
import { alert, NOTHING_LOOKED } from '../../conformance/alerts.ts';
import { auditRow } from '../../conformance/audit.ts';
import { NO_CHANGE } from '../../conformance/change.ts';
import {
  ACCOUNT,
  answered,
  callbackTo,
  DAY,
  ERROR,
  INTERRUPTED,
  KEYS,
  limits,
  message,
  messages,
  NOW,
  newId,
  OK,
  QUEUE,
  queued,
  REFUSED,
  SECOND,
  settlementOf,
} from '../../conformance/given.ts';
import { job } from '../../conformance/jobs.ts';
import { DUE, schedule } from '../../conformance/schedules.ts';
import { claimDue } from '../../support/claim-due.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { FILTERS } from '../filters.ts';
import { RecordingDatabase } from '../recording-database.ts';
import { scratchDirectory } from '../scratch-directory.ts';
import { WatchedExecutor } from '../watched-executor.ts';

/** Says so itself that it reads every row, and is asked by no request. */
const COUNT_ALL = /^SELECT state, .*count\(\*\) AS n FROM messages GROUP BY state, held_at IS NULL$/;

test('every statement goes by an index', async (t) => {
  const path = join(scratchDirectory(t), 'postrider.db');
  openDatabase(path).close();
  const database = new RecordingDatabase(path);
  const executor = new WatchedExecutor(database);
  await useEveryVerb(executor);
  const unused = Object.keys(createVerbs(database)).filter((verb) => !executor.batches.flat().includes(verb));
  assert.deepEqual(unused, [], 'a verb whose statements are not seen here');

  const statements = [...database.statements].filter((sql) => !COUNT_ALL.test(sql));
  assert.ok(statements.length > 40, `only ${statements.length} statements were seen`);
  const problems = statements.flatMap((sql) => database.walks(sql));
  database.close();
  assert.deepEqual(problems, []);
  assert.deepEqual(statements.map(onOneLine).filter(isEndlessCount), [], 'a count of messages that ends at no limit');
});

test('a statement that would walk or sort is found', () => {
  const database = new RecordingDatabase(':memory:');
  database.exec('CREATE TABLE messages (a, b); CREATE INDEX messages_b ON messages (b);');
  const bad = [
    'SELECT * FROM messages WHERE a = 1',
    'SELECT b FROM messages ORDER BY b LIMIT 1',
    'SELECT m.b FROM messages m WHERE m.a = 1',
    'SELECT * FROM messages WHERE b = 1 ORDER BY a LIMIT 9',
  ];
  for (const sql of bad) assert.notDeepEqual(database.walks(sql), [], sql);
  assert.deepEqual(database.walks('SELECT * FROM messages WHERE b = 1'), []);
  database.close();
});

const onOneLine = (sql: string) => sql.replaceAll(/\s+/g, ' ').trim();

/** Of messages there may be a million: a count of them ends at a limit, or counts what a limit of the queue bounds. */
function isEndlessCount(sql: string): boolean {
  const counts = sql.match(/count\(\*\)(?:(?!count\(\*\)).)*/g) ?? [];
  return counts.some(
    (each) =>
      /FROM messages\b/.test(each) &&
      !/LIMIT \?/.test(each) &&
      !/holds_place = 1 AND account_id = \? AND queue_name/.test(each),
  );
}

/** Takes the store through everything it does, so that every statement is used at least once. */
async function useEveryVerb(executor: WatchedExecutor): Promise<void> {
  const onBroken = (error: Error) => assert.fail(error);
  const clock = new ManualClock(NOW);
  const store = createSqliteStore({ executor, clock, node: 'nod_a', onBroken });
  const claim = async (now: number) => (await claimDue(store, now, limits())).claims;

  await store.createAccount({ id: ACCOUNT, name: 'one', tier: 'free', createdAt: NOW }, KEYS);
  await Promise.all([store.getAccount(ACCOUNT), store.listAccounts(), store.setTier(ACCOUNT, 'paid')]);
  await Promise.all([store.getSigningKeys(ACCOUNT), store.rotateSigningKeys(ACCOUNT, KEYS.next, 'sig_fresh')]);
  const token = {
    id: 'tok_1',
    accountId: ACCOUNT,
    name: 'ci',
    scopes: ['admin' as const],
    createdAt: NOW,
    revokedAt: null,
    lastUsedAt: null,
    expiresAt: null,
    addresses: [],
  };
  await store.createToken(token, new Uint8Array(32));
  await Promise.all([store.findToken(new Uint8Array(32), NOW), store.listTokens(ACCOUNT)]);
  await store.touchToken('tok_1', NOW);
  await store.createSession({ id: 'hash', tokenId: 'tok_1', createdAt: NOW, expiresAt: NOW + 1 }, 1);
  await store.findSession('hash', NOW);
  await store.areAdmitted([{ tokenId: 'tok_1', sessionId: 'hash' }], NOW);
  const note = new AuditNote(auditRow());
  await runWithNote(note, () => store.endSession('hash'));
  for (const accountIds of [undefined, [ACCOUNT]]) {
    for (const order of ['newestFirst', 'oldestFirst'] as const) {
      const filter = { ...(accountIds && { accountIds }), fromAt: NOW };
      await store.listAudit(filter, { order, after: null, limit: 9, look: 9 });
    }
  }
  await store.saveAudit([{ ...note.row, count: 2 }]);
  await store.deleteAudit(NOW, 9);
  await store.accountsKnownBy([new Uint8Array(32)], [KEYS.current]);
  await store.revokeHashes([new Uint8Array(32)], NOW);
  const second = { account: { id: 'acc_9', name: 'nine', tier: 'free', createdAt: NOW } as const, keys: KEYS };
  await store.createFirstAdmin({ ...second, token: { ...token, id: 'tok_2' }, hash: new Uint8Array(32).fill(2) });
  await store.revokeToken(ACCOUNT, 'tok_1', NOW);

  const endpoints = [{ name: null, url: 'https://a.example/' }];
  const topic: Topic = {
    id: 'tpc_1',
    accountId: ACCOUNT,
    name: 't',
    endpoints,
    defaults: [],
    createdAt: 0,
    updatedAt: 0,
    version: 0,
  };
  const span = { at: NOW, attempts: 1, delivered: 1, durations: { 6: 1 } };
  const health = { spans: [span], lastAttemptAt: NOW, lastAnswerAt: NOW, failingSince: null, lastFailure: null };
  const measured = { accountId: ACCOUNT, host: 'a.example:443', health };
  await store.addHostHealth([measured], 1);
  await store.addHostHealth([measured], 1);
  await Promise.all([store.getHost(ACCOUNT, measured.host), store.listHosts(ACCOUNT)]);
  await store.waitingByHost(ACCOUNT, 0, 9);
  const [at, news] = [measured.host, { accountId: ACCOUNT, host: measured.host, at: NOW, messageId: 'msg_1' }];
  const failures = { answers: 0, answeredAttemptAt: null, failures: 10, failingSince: NOW, hasFailedProbe: false };
  await store.noteHosts([{ ...news, ...failures }], 9, 9);
  await store.noteHosts([{ ...news, ...failures, host: 'b.example:443' }], 9, 9);
  await store.ownParked('node', NOW, NOW + 1);
  await store.endOpening(await store.listParked(9));
  await store.parkHost(ACCOUNT, at, NOW, 9, 9);
  await store.resumeHost(ACCOUNT, at, NOW);
  await store.setOutage(ACCOUNT, 'park');
  await store.deleteIdleHosts(NOW + 30 * DAY, WALK_START, 9);
  await store.saveTopic(topic);
  await store.saveTopic({ ...topic, version: 1 });
  await Promise.all([store.getTopic(ACCOUNT, 't'), store.getTopic(ACCOUNT, 'tpc_1'), store.listTopics(ACCOUNT)]);
  await store.countTopics(ACCOUNT, 9);
  await store.saveTopic({ ...topic, endpoints: [], version: 2 });

  await store.saveQueue(ACCOUNT, QUEUE, { parallelism: 3 }, NOW);
  const called = message({ callback: callbackTo('https://back.example/'), retriesMax: 0 });
  await store.accept([called, ...messages(3), message({ dueAt: NOW + 5 })], NOW);
  await store.accept([queued(), queued(), queued(), queued({ dueAt: NOW + 5 })], NOW);
  await store.heartbeat('nod_a', SECOND);
  const claims = await claim(NOW);
  assert.equal(claims.length, 7);
  await store.settle(
    claims.slice(0, 6).map((each, index) => settlementOf(each, index % 2 === 0 ? ERROR : OK, NOW)),
    NOW,
  );
  await store.release([claims[6]!.lease], NOW);
  const awaited = message({ awaitAckMs: SECOND });
  await store.accept([awaited], NOW);
  const taken = (await claim(NOW)).find((each) => each.message.id === awaited.id)!;
  const key = { accountId: ACCOUNT, messageId: awaited.id };
  const word = { kind: 'progress', extendByMs: 9, progress: 0.5, note: null } as const;
  await store.serviceKey('acks', 'made');
  await store.noteProgress(key, 1, word, NOW, NOW);
  await store.settle([settlementOf(taken, answered(202), NOW)], NOW);
  await store.noteProgress(key, 1, word, NOW, NOW);
  await store.openAttempt(ACCOUNT, awaited.id);
  await store.dueAcks(NOW + DAY, 9);
  await store.dueAcks(NOW + DAY, 0);
  await store.dueAttempt(ACCOUNT, awaited.id);
  await store.readMessage(ACCOUNT, awaited.id);
  await store.cancel(ACCOUNT, [awaited.id], NOW, NOW);
  await store.settle([{ ...settlementOf(taken, OK, NOW), ack: { dueBy: NOW } }], NOW);
  await store.saveQueue(ACCOUNT, QUEUE, { isPaused: true }, NOW);
  await store.saveQueue(ACCOUNT, QUEUE, { isPaused: false, parallelism: 1 }, NOW);
  await Promise.all([store.getQueue(ACCOUNT, QUEUE), store.listQueues(ACCOUNT), store.countQueues(ACCOUNT, 9)]);
  await store.countLine(ACCOUNT, QUEUE, null);
  await store.messageStates(ACCOUNT, ['msg_none']);
  await claim(NOW + 5);
  await claim(NOW + SECOND);
  await store.accept([message()], NOW + SECOND); // leased at once
  clock.advance(2 * SECOND);
  assert.notEqual((await store.orphanedClaims('nod_b')).length, 0);
  await store.strayClaims(10);
  await store.getMessage(ACCOUNT, called.id);
  const ids = claims.map((each) => each.message.id);
  await store.cancel(ACCOUNT, ids, NOW, NOW);
  await store.confirmCancels(ACCOUNT, ids, 0);
  await store.cancelledClaims();
  await useSharedBody(store, claim);
  await useFlowKeys(store, claim);
  await useOrderKeys(store);
  await useChanges(store);
  await useDebouncing(store);
  await useInterruptions(store, claim);
  await useLists(store);
  await useAlerts(store);
  await useSchedulesAndJobs(store);
  await useExpiry(store);
  await useBacklog(store);
  await Promise.all([
    readOverview(store, ACCOUNT, NOW, 10),
    store.activity(ACCOUNT, NOW, NOW + DAY, DAY),
    store.failureGroups(ACCOUNT, 10),
  ]);
  await store.foldActivity({ minutesFrom: NOW + DAY, hoursFrom: NOW + DAY }, 10);
  await store.deleteJournal({ free: NOW, paid: NOW }, { after: '', accounts: 10, rows: 10 });
  await store.deleteDeduplication(NOW, 10);
  await store.deleteIdleFlowKeys(NOW + 30 * 24 * 60 * 60 * SECOND, ['', ''], 10);
  await store.deleteIdleQueues(NOW + 30 * 24 * 60 * 60 * SECOND, ['', ''], 10);
  await store.deleteUsage('2100-01-01', { after: '', accounts: 10, rows: 10 });
  await store.deleteOldJobs(NOW + 30 * 24 * 60 * 60 * SECOND, ['', ''], 10);
  await store.setSuspended(ACCOUNT, NOW, NOW);
  await claim(NOW);
  await store.setSuspended(ACCOUNT, null, NOW);
  await Promise.all([store.storedBytes(ACCOUNT), store.storedAccounts('', 10), store.recountStored(ACCOUNT)]);
  await Promise.all([store.foldStored(10), store.freeBytesInside()]);
  await Promise.all([store.deleteExpired(NOW, 10), store.usage(ACCOUNT, '2026-01-01', '2026-01-02')]);
  await useDeletion(store);
}

/** The account goes with all that the verbs before have left in it. */
async function useDeletion(store: Store): Promise<void> {
  const token = {
    id: 'tok_3',
    name: 'ci',
    scopes: ['admin' as const],
    createdAt: NOW,
    revokedAt: null,
    lastUsedAt: null,
    expiresAt: null,
    addresses: [],
  };
  await store.createAccount({ id: 'acc_3', name: 'three', tier: 'free', createdAt: NOW }, KEYS);
  await store.createToken({ ...token, accountId: 'acc_3' }, new Uint8Array(32).fill(3));
  await store.createToken({ ...token, id: 'tok_4', accountId: ACCOUNT }, new Uint8Array(32).fill(4));
  await store.createSession({ id: 'last', tokenId: 'tok_4', createdAt: NOW, expiresAt: NOW + DAY }, 1);
  await store.saveTopic(deletedTopic);
  await store.saveTopic({ ...deletedTopic, id: 'tpc_8', name: 'gone too' });
  assert.equal(await store.beginDeletion(ACCOUNT, NOW), 'begun');
  for (let pieces = 0; (await store.deleteAccountPiece('', NOW + DAY, 1))?.outcome !== 'gone'; pieces += 1) {
    assert.ok(pieces < 500);
  }
}

const deletedTopic: Topic = {
  id: 'tpc_9',
  accountId: ACCOUNT,
  name: 'gone',
  endpoints: [{ name: null, url: 'https://a.example/' }],
  defaults: [],
  createdAt: 0,
  updatedAt: 0,
  version: 0,
};

async function useBacklog(store: Store): Promise<void> {
  await claimDue(store, NOW, limits({ slots: 0 }));
  await store.accept([...messages(3), queued(), queued(), message({ queueName: 'other' })], NOW);
  for (const kind of ['open', 'claimed', 'acks', 'deadLetters', 'queues', 'flowKeys'] as const) {
    const { after } = await store.countBacklog(kind, null, 1);
    if (after) await store.countBacklog(kind, after, 1);
  }
  const { after, count } = await store.countReady(READY_START, 2);
  assert.equal(count, 2);
  await store.countReady(after!, 100);
}

async function useExpiry(store: Store): Promise<void> {
  const failureCallback = callbackTo('https://back.example/');
  const end = NOW + DAY;
  await store.accept(messages(3, { dueAt: end, mustStartBefore: end, failureCallback }), NOW);
  const { expired } = await store.dueExpiries(end, { messages: 1, after: '' });
  const what = { now: end, retentionMs: DAY, newId };
  await store.expireMessages(
    expired.map((each) => decideExpiration(each, what)),
    end,
  );
  assert.equal(expired.length, 1);
}

async function useSharedBody(store: Store, claim: (now: number) => Promise<readonly Claim[]>): Promise<void> {
  const many = messages(3, { body: new Uint8Array(SHARED_BODY_BYTES_MIN) });
  await store.accept(many, NOW);
  assert.ok((await claim(NOW)).length >= 3);
  const page = { limit: 10, cursor: null, order: 'newestFirst', withBodies: true } as const;
  await store.searchMessages(ACCOUNT, {}, page);
  const ids = many.map(({ id }) => id);
  await store.cancel(ACCOUNT, ids, NOW, NOW);
  await store.deleteExpired(NOW, 10);
}

async function useFlowKeys(store: Store, claim: (now: number) => Promise<readonly Claim[]>): Promise<void> {
  const limits = { parallelism: 2, rate: 3, periodMs: SECOND };
  const flowing = () => message({ flow: { key: 'f', limits } });
  await store.accept([flowing(), flowing(), flowing(), { ...flowing(), dueAt: NOW + 2 * SECOND }], NOW + SECOND);
  const behind = message({ flow: { key: 'f', limits: { ...limits, rate: 2 } } });
  await store.accept([behind], NOW + SECOND);
  await store.waitFacts(ACCOUNT, behind.id);
  const [one, two] = (await claim(NOW + SECOND)).filter(({ message: { flow } }) => flow !== null);
  await store.release([one!.lease], NOW + SECOND);
  await store.settle([settlementOf(two!, ERROR, NOW + SECOND)], NOW + SECOND);
  await claim(NOW + 5 * SECOND);
  await store.pauseFlowKey(ACCOUNT, 'f', true, NOW + SECOND);
  await store.pinFlowKey(ACCOUNT, 'f', { parallelism: 1, rate: { rate: 1, periodMs: SECOND } }, NOW);
  await store.pauseFlowKey(ACCOUNT, 'f', false, NOW + SECOND);
  await store.resetFlowRate(ACCOUNT, 'f', NOW);
  await Promise.all([store.getFlowKey(ACCOUNT, 'f'), store.listFlowKeys(ACCOUNT)]);
}

async function useInterruptions(store: Store, claim: (now: number) => Promise<readonly Claim[]>): Promise<void> {
  const flow = { key: 'i', limits: { parallelism: 1, rate: null, periodMs: SECOND } };
  const suspects = [message({ flow }), message()];
  await store.accept(suspects, NOW);
  for (const outcome of [INTERRUPTED, INTERRUPTED, INTERRUPTED]) {
    const own = (await claim(NOW)).filter((each) => suspects.some(({ id }) => id === each.message.id));
    await store.settle(
      own.map((each) => settlementOf(each, outcome, NOW)),
      NOW,
    );
  }
  const { claim: alone } = await store.claimAlone(NOW + SECOND);
  await store.release([alone!.lease], NOW + SECOND);
  for (const { id } of suspects) await store.deliverNow(ACCOUNT, id, NOW);
  await store.recovery();
  await store.releaseHeld(ACCOUNT, [suspects[0]!.id], NOW);
  await store.cancel(
    ACCOUNT,
    suspects.map(({ id }) => id),
    NOW,
    NOW + DAY,
  );
}

async function useOrderKeys(store: Store): Promise<void> {
  const line = Array.from({ length: 3 }, () => queued({ orderKey: 'x' }));
  await store.accept(line, NOW);
  for (const { id } of line) await store.waitFacts(ACCOUNT, id);
  const behind = queued();
  await store.accept([behind], NOW);
  await store.waitFacts(ACCOUNT, behind.id);
  await store.cancel(ACCOUNT, [line[0]!.id], NOW, NOW + DAY);
  await store.deleteQueue(ACCOUNT, QUEUE);
  await store.saveQueue(ACCOUNT, 'empty', {}, NOW);
  await store.deleteQueue(ACCOUNT, 'empty');
}

async function useDebouncing(store: Store): Promise<void> {
  const debounce = { key: 'cart', latestAt: NOW + DAY, count: 1 };
  const flow = { key: 'debounced', limits: { parallelism: 1, rate: 1, periodMs: SECOND } };
  for (const [key, some] of Object.entries({ plain: {}, flow: { flow }, queued: { queueName: 'q', orderKey: 'z' } })) {
    const one = () => message({ ...some, debounce: { ...debounce, key }, dueAt: NOW + SECOND, labels: [key] });
    const { debounced } = await store.accept([one(), one()], NOW);
    assert.equal(debounced![1]!.count, 2);
  }
  const given = { ...debounce, key: 'given back' };
  const [older, newer] = [message({ debounce: given }), message({ debounce: given, dueAt: NOW + DAY })];
  await store.accept([older], NOW);
  const { claims } = await claimDue(store, NOW, limits());
  await store.accept([newer], NOW);
  const own = claims.filter(({ message: { id } }) => id === older.id);
  assert.deepEqual(await store.release([own[0]!.lease], NOW), [older.id]);
}

async function useChanges(store: Store): Promise<void> {
  const flow = { key: 'changed', limits: { parallelism: 1, rate: 1, periodMs: SECOND } };
  const deduplication = { key: 'content:x', expiresAt: NOW + DAY };
  const large = new Uint8Array(SHARED_BODY_BYTES_MIN * 20);
  const all = [
    queued({ orderKey: 'y' }),
    message({ flow }),
    message({ labels: ['old'], deduplication, body: large, dueAt: NOW + DAY }),
  ];
  for (const each of all) await store.accept([each], NOW);
  const released = message({ dueAt: NOW });
  await store.accept([released], NOW);
  const { claims } = await claimDue(store, NOW, limits());
  const leases = claims.map(({ lease }) => lease);
  await store.release(leases, NOW);
  const change = { ...NO_CHANGE, dueAt: NOW + SECOND, labels: ['new'], method: 'PUT' as const };
  for (const { id } of [...all, released]) {
    for (const body of [large, new Uint8Array(1)]) {
      const { outcome } = await store.changeMessage(ACCOUNT, id, { ...change, body }, NOW);
      assert.ok(outcome === 'changed' || body === large, outcome);
    }
  }
}

async function useLists(store: Store): Promise<void> {
  const deduplication = { key: 'k', expiresAt: NOW + DAY };
  const [dead, kept] = [message({ labels: ['x'], deduplication }), message()] as const;
  await store.accept([dead, kept], NOW, 1000);
  const { claims } = await claimDue(store, NOW, limits());
  const failing = claims.filter(({ message: { id } }) => id === dead.id || id === kept.id);
  await store.settle(
    failing.map((each) => settlementOf(each, REFUSED, NOW)),
    NOW,
  );
  for (const order of ['newestFirst', 'oldestFirst'] as const) {
    const page = { limit: 10, cursor: null, order, withBodies: true };
    for (const filter of FILTERS) {
      await store.searchMessages(ACCOUNT, filter, page);
      await countMatching(store, ACCOUNT, filter, 10);
    }
    await store.listEvents(ACCOUNT, { messages: {} }, page);
    await store.listEvents(ACCOUNT, { messages: { messageIds: [dead.id] } }, page);
  }
  await store.journalEnd(ACCOUNT);
  const delayed = message({ dueAt: NOW + DAY });
  await store.accept([delayed], NOW);
  await store.deliverNow(ACCOUNT, delayed.id, NOW);
  await store.retryDeadLetters([{ messageId: kept.id, message: message() }], NOW);
  assert.equal(await store.deleteDeadLetters(ACCOUNT, [dead.id]), 1);
}

async function useAlerts(store: Store): Promise<void> {
  const one = (await store.saveAlert(alert(), 2))!;
  await store.saveAlert(alert({ updatedAt: NOW + 1 }), 2);
  await Promise.all([store.getAlert(ACCOUNT, one.id), store.listAlerts(ACCOUNT)]);
  const [due] = (await store.dueAlerts(NOW, 10)).due as [Alert];
  for (const queues of ['all', [QUEUE]] as const) {
    const look = {
      ...NOTHING_LOOKED,
      failedFromAt: 0,
      attemptsFromAt: 0,
      countedFromAt: NOW,
      queues,
      isUsageAsked: true,
    };
    await store.alertFacts(ACCOUNT, { ...look, schedules: ['scd_1'], areFailedSchedulesAsked: true }, NOW, 10);
  }
  const notified = { state: 'firing', sinceAt: NOW, notifiedAt: NOW, messageId: 'msg_1', text: 'x' } as const;
  const notification = { message: message({ kind: 'alert' }), notified };
  const judged = { alert: due, nextAt: NOW, problem: null, notification, dayMax: 1 };
  assert.deepEqual(await store.notifyAlerts([judged], NOW), ['overQuota']);
  const again = (await store.getAlert(ACCOUNT, one.id))!;
  assert.deepEqual(await store.notifyAlerts([{ ...judged, alert: again, dayMax: null }], NOW), ['notified']);
  await store.deleteAlert(ACCOUNT, one.id);
}

async function useSchedulesAndJobs(store: Store): Promise<void> {
  const due = schedule({ nextAt: NOW });
  await store.saveSchedule(due);
  assert.equal((await store.dueSchedules(NOW, DUE)).due.length, 1);
  await store.fireSchedules([{ schedule: due, messages: [message()], nextAt: NOW + DAY }], NOW);
  await store.pauseSchedule(ACCOUNT, due.id, true, NOW);
  await store.pauseSchedule(ACCOUNT, due.id, false, NOW);
  await Promise.all([
    store.getSchedule(ACCOUNT, due.id),
    store.listSchedules(ACCOUNT),
    store.countSchedules(ACCOUNT, 9),
  ]);
  await store.storedTime();
  await store.scheduleTimes({ accountId: '', id: '' }, 10);
  const { accountId, id, cron, createdAt } = due;
  await store.setScheduleTimes([{ schedule: { accountId, id, cron, createdAt, nextAt: NOW }, nextAt: NOW + DAY }]);
  const skipping = schedule({ id: 'skipping', overlap: 'skip', nextAt: NOW });
  await store.saveSchedule(skipping);
  const tick = { schedule: skipping, messages: [message()], nextAt: NOW + DAY };
  assert.deepEqual(await store.fireSchedules([tick], NOW), [1]);
  const next = { ...tick, schedule: { ...skipping, nextAt: NOW + DAY }, nextAt: NOW + 2 * DAY };
  assert.deepEqual(await store.fireSchedules([next], NOW + DAY), ['skipped']);
  assert.equal(await store.saveSchedule({ ...skipping, cron: '@every 10s' }, skipping), true);
  await store.deleteSchedule(ACCOUNT, due.id);
  await store.createJob(job());
  await Promise.all([store.getJob(ACCOUNT, 'job_1'), store.listJobs(ACCOUNT), store.runningJobs()]);
  await store.runJobStep(ACCOUNT, 'job_1', { action: 'delete', messageIds: [] }, { atSeq: 9, now: NOW });
  await store.stopJob(ACCOUNT, 'job_1', NOW);
}
