// A live stream misses nothing that is written beside it. The database is made to stand still at the place where a reader
// has seen which transactions run and has not read the journal yet: there a writer that begins could be passed over.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import pg from 'pg';
import type { PageRequest } from '../../../src/store/ports/message-store.ts';
import type { Store } from '../../../src/store/ports/store.ts';
import { positionSql, WRITER_NAME } from '../../../src/store/postgres/deliveries/journal.ts';
import { ACCEPTED } from '../../../src/store/rows/rows.ts';
import { ACCOUNT, KEYS, message, NOW } from '../../conformance/given.ts';
import { openPatiently } from '../../postgres/open-patiently.ts';
import { sharedServer } from '../../postgres/server.ts';
import { Chance } from '../../simulation/chance.ts';
import { waitFor } from '../../support/wait.ts';

const PAGE: PageRequest = { limit: 1000, cursor: null, order: 'oldestFirst', withBodies: false };
/** Any number: who looks at the activity waits for this lock when it has seen it. */
const SEEN_LOCK = 77;
const EVENTS_OF_WRITER = 100;

/**
 * Stands in for the view of the same name for whoever has the schema before `pg_catalog`: it shows what the real one
 * showed at first, and answers late: after the lock, and after up to 8 ms.
 */
const LATE_ACTIVITY = `
  CREATE FUNCTION late_activity() RETURNS SETOF pg_catalog.pg_stat_activity LANGUAGE plpgsql AS $$
    DECLARE seen pg_catalog.pg_stat_activity[];
    BEGIN
      seen := ARRAY(SELECT a FROM pg_catalog.pg_stat_activity a);
      PERFORM pg_advisory_lock_shared(${SEEN_LOCK});
      PERFORM pg_advisory_unlock_shared(${SEEN_LOCK});
      PERFORM pg_sleep(random() * 0.008);
      RETURN QUERY SELECT * FROM unnest(seen);
    END $$;
  CREATE VIEW pg_stat_activity AS SELECT * FROM late_activity();`;

/** A transaction that has written to the journal ends up to 8 ms later. */
const LATE_COMMIT = `
  CREATE FUNCTION late_commit() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN PERFORM pg_sleep(random() * 0.008); RETURN NULL; END $$;
  CREATE TRIGGER late_commit AFTER INSERT ON journal FOR EACH STATEMENT EXECUTE FUNCTION late_commit();`;

describe('a live stream beside writers', () => {
  const open = (url: string, node: string) => openPatiently({ knownForMs: 0, url, node });
  let writers: Store[];
  let writer: Store;
  let reader: Store;
  /** A writer that the test holds in its hands, and somebody who writes nothing. */
  let held: pg.Client;
  let beside: pg.Client;
  let cleanUp = async () => {};

  before(async () => {
    const server = await sharedServer();
    const name = await server.createDatabase();
    const url = server.url(name);
    const late = new URL(url);
    late.searchParams.set('options', '-c search_path=public,pg_catalog');
    held = new pg.Client({ connectionString: url, application_name: WRITER_NAME });
    beside = new pg.Client(url);
    await Promise.all([held.connect(), beside.connect()]);
    await beside.query(LATE_ACTIVITY);
    writers = await Promise.all(['nod_1', 'nod_2', 'nod_3'].map((node) => open(url, node)));
    writer = writers[0]!;
    reader = await open(late.href, 'nod_reader');
    await writer.createAccount({ id: ACCOUNT, name: 'one', tier: 'free', createdAt: NOW }, KEYS);
    cleanUp = async () => {
      await Promise.all([...[...writers, reader].map((store) => store.close()), held.end(), beside.end()]);
      await server.dropDatabase(name);
    };
  });
  after(() => cleanUp());

  /** Goes on from where it was: the ids of what was created. */
  function follow(from: number) {
    let cursor = from;
    const next = async () => {
      const page = await reader.listEvents(ACCOUNT, { messages: {} }, { ...PAGE, cursor });
      cursor = page.endedAt;
      return page.events.map((event) => event.message.id);
    };
    return Object.assign(next, { cursor: () => cursor });
  }

  test('a transaction that begins after the reader has seen who writes is waited for', async () => {
    const [early, late] = [message(), message()];
    await writer.accept([early], NOW);
    const next = follow(await writer.journalEnd(ACCOUNT));
    // Its step is written once more, by the one that is held.
    await beside.query('DELETE FROM journal');
    await beside.query('SELECT pg_advisory_lock($1)', [SEEN_LOCK]);
    const first = next();
    await waitFor('the reader to have seen who writes', async () => {
      const { rowCount } = await beside.query("SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted");
      return rowCount === 1;
    });
    await held.query('BEGIN');
    await held.query(
      `INSERT INTO journal (account_id, seq, at, message_seq, step)
         SELECT account_id, ${positionSql('account_id', 'seq')}, $1, seq, ${ACCEPTED} FROM messages`,
      [NOW],
    );
    await held.query('SELECT pg_sleep(0.002)');
    await writer.accept([late], NOW);
    await held.query('SELECT pg_sleep(0.002)');
    await beside.query('SELECT pg_advisory_unlock($1)', [SEEN_LOCK]);
    const seen = await first;
    await held.query('COMMIT');
    await waitFor('the newest event', async () => {
      seen.push(...(await next()));
      return seen.includes(late.id);
    });
    assert.deepEqual(seen, [early.id, late.id]);
  });

  test('a writer takes its position when it can be seen, not at the moment at which its transaction was asked for', async () => {
    const ask = async (sql: string) => Number((await held.query<{ it: string }>(`SELECT ${sql} AS it`)).rows[0]!.it);
    await held.query('BEGIN');
    await held.query('SELECT pg_sleep(0.002)');
    const seenAt = await ask('floor(extract(epoch FROM clock_timestamp()) * 1000)');
    const position = await ask(positionSql('1', '1'));
    await held.query('COMMIT');
    assert.ok(position >= seenAt * 1024, `${position} is before ${seenAt * 1024}`);
  });

  test('a database in which nobody can see who writes is refused', async (t) => {
    const server = await sharedServer();
    const name = await server.createDatabase();
    t.after(() => server.dropDatabase(name));
    await server.query(`ALTER DATABASE ${name} SET track_activities = off`);
    await assert.rejects(open(server.url(name), 'nod_blind'), /track_activities=off/);
  });

  test('many writers beside a reader: each event is shown once', async () => {
    await beside.query(LATE_COMMIT);
    const next = follow(await writer.journalEnd(ACCOUNT));
    const all: string[] = [];
    const chance = new Chance(1);
    let isOver = false;
    const writing = writers.map(async (store) => {
      for (let count = 0; count < EVENTS_OF_WRITER; count += 1) {
        const one = message();
        await store.accept([one], NOW);
        all.push(one.id);
        // So that there are moments at which nobody writes: those are the ones in which somebody can begin unseen.
        await wait(chance.between(0, 20));
      }
    });
    const over = Promise.all(writing).finally(() => {
      isOver = true;
    });
    const seen: string[] = [];
    while (!isOver) seen.push(...(await next()));
    await over;
    // What is still held back is shown in a moment; what was passed over is shown never.
    const end = await waitFor('every transaction to be final', async () => {
      const { rows } = await beside.query<{ last: string }>('SELECT max(seq) AS last FROM journal');
      const last = Number(rows[0]!.last);
      return (await writer.journalEnd(ACCOUNT)) === last ? last : null;
    });
    await waitFor('the end of the stream', async () => {
      seen.push(...(await next()));
      return next.cursor() >= end;
    });
    assert.equal(new Set(seen).size, seen.length, 'an event was shown twice');
    assert.deepEqual(
      all.filter((id) => !seen.includes(id)),
      [],
      'passed over',
    );
  });
});
