// The disk of a PostgreSQL server is full to the last page, under two nodes. Nothing is published, deliveries end, deletes are
// written out of the reserve, and publishing resumes when the reserve could be made again.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { inScratchFolder } from '../crash/scratch-folder.ts';
import { withClient } from '../postgres/databases.ts';
import { noSmallDatabase, SmallDatabase } from '../postgres/small-database.ts';
import type { Answered } from '../support/client.ts';
import { startReceiver } from '../support/receiver.ts';
import { waitFor } from '../support/wait.ts';
import { type Node, Nodes } from './nodes.ts';

const MIB = 1024 * 1024;
const DISK = 192 * MIB;
const RESERVE = 16 * MIB;
const FLAGS = ['--min-free-disk-bytes', String(RESERVE), '--concurrency', '20'];
const LATER = { 'Service-Delay': '300d' };
const NOWHERE = 'http://127.0.0.1:9/';
const DELIVERED = 150;
const DEAD = 5;
const LATE = 40;
const options = { skip: noSmallDatabase(), timeout: 300_000 };

test(
  'the disk of a database is full to the last page: publishing stops on all nodes, deliveries end, deletes are written',
  options,
  async (t) => {
    await onSmallDisk(t, true, async (database, nodes) => {
      const [first, second] = (await nodes.start(2, ...FLAGS)) as [Node, Node];
      const { open, ids, dead } = await givenWork(t, first);
      await waitFor('the reserve', () => hasReserve(database));
      database.fill();
      // Pages of the tables may have space for a few rows more.
      let refused: Answered;
      do refused = await publish(first, randomBytes(60_000).toString('hex'));
      while (refused.status === 201);
      assertFull(refused);
      await publishesNothing(second);
      assert.equal((await first.call('GET', '/readyz')).status, 503);

      open();
      await allEnded(first, ids, 'DELIVERED');
      const deleted = await second.call('DELETE', '/v2/dlq?all=true');
      assert.deepEqual([deleted.status, deleted.json<{ deleted: number }>().deleted], [200, dead.length]);
      const cancelled = await first.call('DELETE', '/v2/messages?all=true');
      assert.equal(cancelled.status, 200, cancelled.text);
      assert.ok(cancelled.json<{ cancelled: number }>().cancelled >= LATE);
      assertFull(await publish(first, 'small'));
      assert.equal(await hasReserve(database), false);

      database.empty();
      for (const node of [first, second])
        await waitFor('publishing', async () => (await publish(node, 'small')).status === 201);
      assert.ok(await hasReserve(database));
    });
  },
);

test(
  'a database whose log finds no space starts again with the space of the reserve, and deliveries end',
  options,
  async (t) => {
    await onSmallDisk(t, false, async (database, nodes) => {
      const [node] = (await nodes.start(1, ...FLAGS)) as [Node];
      const { open, ids } = await givenWork(t, node);
      await waitFor('the reserve', () => hasReserve(database));
      await withClient(database.url, async (client) => {
        // On the full disk, a new session may not be able to start.
        database.fill();
        const emit = () => client.query("SELECT pg_logical_emit_message(true, 'log', repeat('x', 500000))");
        await assert.rejects(
          async () => {
            for (;;) await emit();
          },
          { severity: 'PANIC' },
        );
      });
      await waitFor('the database to answer', () => database.isAnswering());
      await waitFor('publishing to be refused', async () => {
        const answered = await publish(node, 'small');
        return answered.status === 503 && answered.json<{ code: string }>().code === 'disk_full';
      });
      open();
      await allEnded(node, ids, 'DELIVERED');
      assert.equal((await node.call('DELETE', '/v2/messages?all=true')).status, 200);
      database.empty();
      await waitFor('publishing', async () => (await publish(node, 'small')).status === 201);
      assert.ok(await hasReserve(database));
    });
  },
);

test(
  'a full disk on which no new session can start: the reserve is released by a session that exists',
  options,
  async (t) => {
    await onSmallDisk(t, true, async (database, nodes) => {
      const [node] = (await nodes.start(1, ...FLAGS)) as [Node];
      const { open, ids } = await givenWork(t, node);
      await waitFor('the reserve', () => hasReserve(database));
      node.process.signal('SIGSTOP');
      await withClient(database.url, async (client) => {
        await waitFor('no new session to start', async () => {
          database.removeSessionFiles();
          database.fill();
          // The database's own upkeep may have started one between the two.
          const started = withClient(database.url, async () => 'started');
          return (await started.catch((error: Error) => error.message)) === 'could not write init file';
        });
        // As those that nobody uses are closed after a while.
        const { rowCount } = await client.query(
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name IN ('postrider reader', 'postrider writer')",
        );
        assert.ok(rowCount! > 0);
      });
      node.process.signal('SIGCONT');
      // The read of the token may release it before the publish itself finds no session. A session that has ended is noticed
      // when it is used; then nobody can say whether the publish was kept.
      await publishesNothing(node, 'outcome_unknown');
      assert.equal(await hasReserve(database), false);
      assert.equal((await node.call('GET', '/v2/messages')).status, 200);
      open();
      await allEnded(node, ids, 'DELIVERED');
      database.empty();
      await waitFor('publishing', async () => (await publish(node, 'small')).status === 201);
    });
  },
);

async function onSmallDisk(
  t: TestContext,
  isLogApart: boolean,
  work: (database: SmallDatabase, nodes: Nodes) => Promise<void>,
): Promise<void> {
  await inScratchFolder('small-database', async (folder) => {
    const database = await SmallDatabase.start(folder, DISK, isLogApart);
    try {
      await work(database, new Nodes(t, database.url));
      assert.equal(database.hasEnded, false, database.stderr);
    } finally {
      await database.stop();
    }
  });
}

/** Messages of which a few are under way, dead letters, and messages for much later. */
async function givenWork(t: TestContext, node: Node) {
  const gate = Promise.withResolvers<void>();
  const receiver = await startReceiver(t, async () => {
    await gate.promise;
    // Kept with the attempt, as far as there is space for it.
    return { status: 200, body: randomBytes(1000).toString('hex') };
  });
  const dead: string[] = [];
  for (let n = 0; n < DEAD; n += 1) {
    dead.push(await node.published(NOWHERE, { headers: { 'Service-Retries': '0' }, body: 'dead' }));
  }
  await allEnded(node, dead, 'FAILED');
  for (let n = 0; n < LATE; n += 1) await node.published(NOWHERE, { headers: LATER, body: 'late' });
  const ids: string[] = [];
  for (let n = 0; n < DELIVERED; n += 1) ids.push(await node.published(receiver.url, { body: 'now' }));
  await waitFor('the first attempts', () => receiver.arrivals.length >= 5);
  return { open: gate.resolve, ids, dead };
}

async function allEnded(node: Node, ids: readonly string[], state: string): Promise<void> {
  const left = new Set(ids);
  await waitFor(`all to be ${state}`, async () => {
    for (const id of left) {
      const answered = await node.call('GET', `/v2/messages/${id}`);
      if (answered.status !== 200 || answered.json<{ state: string }>().state !== state) return false;
      left.delete(id);
    }
    return true;
  });
}

function publish(node: Node, body: string): Promise<Answered> {
  return node.call('POST', `/v2/publish/${NOWHERE}`, { headers: LATER, body });
}

/** Each publish until then is accepted, or refused with `passing`. */
function publishesNothing(node: Node, passing?: string): Promise<true> {
  return waitFor('publishing to be refused', async () => {
    const answered = await publish(node, 'small');
    if (answered.status === 201) return false;
    if (passing !== undefined && answered.json<{ code: string }>().code === passing) return false;
    assertFull(answered);
    return true;
  });
}

function assertFull(answered: Answered): void {
  assert.deepEqual([answered.status, answered.json<{ code: string }>().code], [503, 'disk_full'], answered.text);
}

function hasReserve({ url }: SmallDatabase): Promise<boolean> {
  return withClient(url, async (client) => {
    const { rows } = await client.query("SELECT pg_relation_size(to_regclass('reserve')) AS bytes");
    return Number(rows[0].bytes ?? 0) >= RESERVE;
  });
}
