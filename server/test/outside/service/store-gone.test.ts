// The files of the store are removed, replaced or moved away under a running server: what it writes from then on is lost
// when it ends, so that it accepts nothing more, says so, and goes on with what it has.

import assert from 'node:assert/strict';
import { copyFileSync, readFileSync, renameSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { type Rider, refusal, startRider, temporaryFolder } from '../../support/harness.ts';
import { startReceiver } from '../../support/receiver.ts';
import { onlySqlite } from '../../support/store-under-test.ts';
import { waitFor } from '../../support/wait.ts';

const DELAYED = { headers: { 'Service-Delay': '1h' } };

async function readyz(rider: Rider) {
  const answer = await rider.call('GET', '/readyz', { token: null });
  return { status: answer.status, code: answer.json<{ code?: string }>().code };
}

/** Files are looked at outside of the test's time. */
async function notices(rider: Rider, what: string, isGone: boolean): Promise<void> {
  await waitFor(what, async () => {
    await rider.advance(1000);
    return ((await readyz(rider)).status === 503) === isGone;
  });
}

test('a data directory that is moved away: publishing is refused and /readyz says why, deliveries go on; moved back, all is well', {
  skip: onlySqlite,
}, async (t) => {
  const receiver = await startReceiver(t);
  const data = join(temporaryFolder(t), 'data');
  const rider = await startRider(t, { data });
  const messageId = await rider.published(receiver.url, DELAYED);
  assert.equal((await readyz(rider)).status, 200);
  // The thread that reads opens the files at the first read.
  assert.equal((await rider.call('GET', `/v2/messages/${messageId}`)).status, 200);
  renameSync(data, `${data}-elsewhere`);
  await notices(rider, 'the directory to be missed', true);
  assert.match(
    refusal(await rider.publish(receiver.url), 503, 'store_gone'),
    /removed or replaced.*nothing was accepted/,
  );
  refusal(await rider.enqueue('q', receiver.url), 503, 'store_gone');
  refusal(
    await rider.call('POST', '/v2/schedules/news', { headers: { 'Service-Cron': '* * * * *' } }),
    503,
    'store_gone',
  );
  for (const [method, path, json] of [
    ['POST', '/v2/queues', { queueName: 'q' }],
    ['POST', '/v2/topics/news/endpoints', { endpoints: [{ url: receiver.url }] }],
    ['DELETE', `/v2/messages/${messageId}`, undefined],
  ] as const) {
    assert.match(
      refusal(await rider.call(method, path, { body: JSON.stringify(json ?? null) }), 503, 'store_gone'),
      /nothing was changed/,
    );
  }
  assert.equal((await rider.call('GET', `/v2/messages/${messageId}`)).status, 200, 'reading goes on');
  assert.deepEqual(await readyz(rider), { status: 503, code: 'store_gone' });
  assert.match((await rider.call('GET', '/metrics', { token: null })).text, /^postrider_ready 0$/m);
  await rider.advance(3_600_000);
  assert.equal((await receiver.received(1)).length, 1, 'what it has is delivered');
  renameSync(`${data}-elsewhere`, data);
  await notices(rider, 'the directory to be back', false);
  await rider.published(receiver.url);
});

test('each file of the store that is removed or replaced by another is missed', { skip: onlySqlite }, async (t) => {
  const data = join(temporaryFolder(t), 'data');
  const rider = await startRider(t, { data });
  await rider.published('http://127.0.0.1:9/', DELAYED);
  for (const name of ['postrider.db', 'postrider.db-wal', 'postrider.db-shm', 'postrider.lock']) {
    const path = join(data, name);
    renameSync(path, `${path}.old`);
    await notices(rider, `${name} to be missed`, true);
    copyFileSync(`${path}.old`, path);
    await rider.advance(2000);
    refusal(await rider.publish('http://127.0.0.1:9/'), 503, 'store_gone');
    rmSync(path);
    renameSync(`${path}.old`, path);
    await notices(rider, `${name} to be back`, false);
  }
});

test('a database that is written over or emptied in its place is missed, and stays so', {
  skip: onlySqlite,
}, async (t) => {
  for (const isEmptied of [false, true]) {
    const data = join(temporaryFolder(t), 'data');
    const rider = await startRider(t, { data });
    const path = join(data, 'postrider.db');
    const whole = readFileSync(path);
    // As a backup says that it keeps no log.
    if (isEmptied) truncateSync(path, 0);
    else writeFileSync(path, Buffer.from(whole).fill(1, 18, 20));
    await notices(rider, 'the change to be noticed', true);
    refusal(await rider.publish('http://127.0.0.1:9/'), 503, 'store_gone');
    writeFileSync(path, whole);
    await rider.advance(2000);
    assert.deepEqual(await readyz(rider), { status: 503, code: 'store_gone' });
  }
});

const FRAME_BYTES = 8192 + 24;

test('a log that is emptied, cut short or written over in its place is missed, also while messages come in, and stays so', {
  skip: onlySqlite,
}, async (t) => {
  const other = join(temporaryFolder(t), 'data');
  await (await startRider(t, { data: other })).published('http://127.0.0.1:9/', DELAYED);
  const foreign = readFileSync(join(other, 'postrider.db-wal'));
  const ways: readonly (readonly [what: string, change: (log: string) => void])[] = [
    ['emptied', (log) => truncateSync(log, 0)],
    ['cut short', (log) => truncateSync(log, 32 + 3 * FRAME_BYTES)],
    ['written over with zeros', (log) => writeFileSync(log, Buffer.alloc(readFileSync(log).length))],
    ['replaced by that of another store', (log) => writeFileSync(log, foreign)],
  ];
  for (const [what, change] of ways) {
    const data = join(temporaryFolder(t), 'data');
    const rider = await startRider(t, { data });
    for (let number = 0; number < 5; number += 1) await rider.published('http://127.0.0.1:9/', DELAYED);
    await rider.advance(3000);
    assert.equal((await readyz(rider)).status, 200, what);
    const path = join(data, 'postrider.db-wal');
    const whole = readFileSync(path);
    change(path);
    // SQLite writes behind the hole, which makes the log as long as before.
    if (what === 'emptied')
      for (let number = 0; number < 5; number += 1) await rider.publish('http://127.0.0.1:9/', DELAYED);
    await notices(rider, `the log that was ${what} to be missed`, true);
    refusal(await rider.publish('http://127.0.0.1:9/'), 503, 'store_gone');
    writeFileSync(path, whole);
    await rider.advance(2000);
    assert.deepEqual(await readyz(rider), { status: 503, code: 'store_gone' }, what);
  }
});

test('a database that is cut short in its place is missed', { skip: onlySqlite }, async (t) => {
  const data = join(temporaryFolder(t), 'data');
  const rider = await startRider(t, { data });
  await rider.advance(2000);
  assert.equal((await readyz(rider)).status, 200);
  const path = join(data, 'postrider.db');
  truncateSync(path, readFileSync(path).length - 8192);
  await notices(rider, 'the cut to be missed', true);
  refusal(await rider.publish('http://127.0.0.1:9/'), 503, 'store_gone');
});

test('a database that another program makes smaller, as a VACUUM does, is not missed', {
  skip: onlySqlite,
}, async (t) => {
  const data = join(temporaryFolder(t), 'data');
  const rider = await startRider(t, { data });
  const path = join(data, 'postrider.db');
  for (let number = 0; number < 20; number += 1) {
    await rider.published('http://127.0.0.1:9/', { ...DELAYED, body: 'x'.repeat(50_000) });
  }
  const beside = new DatabaseSync(path);
  t.after(() => beside.close());
  beside.exec('PRAGMA busy_timeout = 60000; PRAGMA wal_checkpoint(FULL)');
  await rider.advance(2000);
  const { size } = statSync(path);
  beside.prepare('UPDATE bodies SET bytes = ?').run(Buffer.alloc(0));
  beside.exec('VACUUM; PRAGMA wal_checkpoint(FULL)');
  assert.ok(statSync(path).size < size);
  await rider.advance(5000);
  assert.equal((await readyz(rider)).status, 200);
  await rider.published('http://127.0.0.1:9/', DELAYED);
  // It is looked at as before: a cut is missed all the same.
  truncateSync(path, statSync(path).size - 8192);
  await notices(rider, 'the cut to be missed', true);
});
