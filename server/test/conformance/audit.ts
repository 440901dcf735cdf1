// The audit: rows are written with the change that they are about, or not at all; an account keeps a limited number of
// them; they are listed in pieces and deleted by time.

import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { type AuditFilter, type AuditRow, COUNTED_MS } from '../../src/rules/accounts/audit.ts';
import { idOf, idsFrom } from '../../src/rules/requests/id.ts';
import { AuditNote, runWithNote } from '../../src/store/shared/audit-note.ts';
import { ACCOUNT, NOW, OTHER_ACCOUNT } from './given.ts';
import { type HarnessFactory, type OneNode, storeTests } from './harness.ts';

let made = 0;

export function auditRow(some: Partial<AuditRow> = {}): AuditRow {
  const at = some.at ?? NOW + made;
  made += 1;
  const bytes = new Uint8Array(16);
  new DataView(bytes.buffer).setUint32(0, made);
  return {
    id: idOf(
      'aud',
      at,
      bytes.map((byte) => byte % 32),
    ),
    at,
    lastAt: at,
    count: 1,
    kind: 'change',
    accountId: ACCOUNT,
    via: 'token',
    tokenId: 'tok_1',
    tokenName: 'ci',
    address: '203.0.113.7',
    call: 'POST /v2/queues',
    target: `q${made}`,
    status: 200,
    code: null,
    requestId: 'req-1',
    ...some,
  };
}

const ALL = { order: 'newestFirst', after: null, limit: 100, look: 100 } as const;

async function listed({ store }: OneNode['a'], filter: AuditFilter = {}): Promise<readonly AuditRow[]> {
  return (await store.listAudit(filter, ALL)).rows;
}

export function auditConformance(factory: HarnessFactory): void {
  const test = storeTests(factory);

  const row = auditRow;

  describe('audit', () => {
    test('a row is read as it was written, and rows are listed by time, in pieces', async ({ a }) => {
      const { store } = a;
      const rows = [
        row(),
        row({ accountId: OTHER_ACCOUNT, via: 'session', target: null, requestId: null }),
        row({
          accountId: null,
          via: 'none',
          tokenId: null,
          tokenName: null,
          status: 401,
          code: 'unauthorized',
          count: 7,
        }),
        row({ via: 'command', call: 'postrider token create', address: null, status: null }),
      ];
      await store.saveAudit(rows.toReversed());
      assert.deepEqual(await listed(a), rows.toReversed());
      const oldest = { ...ALL, order: 'oldestFirst' } as const;
      assert.deepEqual((await store.listAudit({}, oldest)).rows, rows);

      const first = await store.listAudit({}, { ...oldest, limit: 2 });
      assert.deepEqual([first.rows, first.after, first.looked], [rows.slice(0, 2), rows[1]!.id, 2]);
      const next = await store.listAudit({}, { ...oldest, after: first.after });
      assert.deepEqual([next.rows, next.after], [rows.slice(2), null]);
    });

    test('a piece examines a limited number of rows, and the next one continues', async ({ a }) => {
      const rows = Array.from({ length: 5 }, (_, index) => row({ call: index === 4 ? 'PUT /v2/alerts' : 'rare' }));
      await a.store.saveAudit(rows);
      const wanted = { calls: ['rare'] };
      const first = await a.store.listAudit(wanted, { ...ALL, look: 1 });
      assert.deepEqual([first.rows, first.after, first.looked], [[], rows[4]!.id, 1]);
      const next = await a.store.listAudit(wanted, { ...ALL, after: first.after, look: 2 });
      assert.deepEqual([next.rows, next.after, next.looked], [[rows[3], rows[2]], rows[2]!.id, 2]);
    });

    test('a filter selects by account, token, call, target, result, address and time', async ({ a }) => {
      const [own, other, refused] = [
        row({ at: NOW }),
        row({ at: NOW + COUNTED_MS, accountId: OTHER_ACCOUNT, tokenId: 'tok_2', tokenName: 'app', target: 'q' }),
        row({
          at: NOW + 2 * COUNTED_MS,
          status: 403,
          code: 'forbidden',
          address: '198.51.100.1',
          call: 'GET /v2/keys',
        }),
      ];
      await a.store.saveAudit([own, other, refused]);
      const cases: [AuditFilter, AuditRow[]][] = [
        [{ accountIds: [ACCOUNT] }, [refused, own]],
        [{ accountIds: [ACCOUNT, OTHER_ACCOUNT] }, [refused, other, own]],
        [{ accountIds: ['acc_none'] }, []],
        [{ tokens: ['tok_2'] }, [other]],
        [{ tokens: ['ci'] }, [refused, own]],
        [{ calls: ['GET /v2/keys'] }, [refused]],
        [{ targets: ['q'] }, [other]],
        [{ results: ['done'] }, [other, own]],
        [{ results: ['refused'] }, [refused]],
        [{ results: ['403'] }, [refused]],
        [{ results: ['forbidden'] }, [refused]],
        [{ addresses: ['198.51.100.1'] }, [refused]],
        [{ fromAt: NOW + 1 }, [refused, other]],
        [{ fromAt: NOW + COUNTED_MS, toAt: NOW + COUNTED_MS }, [other]],
        [{ toAt: NOW + COUNTED_MS - 1, accountIds: [ACCOUNT] }, [own]],
        [{ targets: ['\0'] }, []],
      ];
      for (const [filter, rows] of cases) assert.deepEqual(await listed(a, filter), rows, JSON.stringify(filter));
    });

    test('a row with a known id adds its count, also from another node', async ({ a }) => {
      const one = row({ count: 3 });
      await a.store.saveAudit([one]);
      await a.store.saveAudit([{ ...one, count: 4, lastAt: one.at + 500 }]);
      await a.store.saveAudit([{ ...one, count: 0, lastAt: one.at + 500, status: 202 }]);
      assert.deepEqual(await listed(a), [{ ...one, count: 7, lastAt: one.at + 500, status: 202 }]);
    });

    test('an account keeps its newest rows of each kind, and none takes the place of another', async ({ a }) => {
      const kept = { change: 3, frequent: 4, refused: 2 };
      const other = row({ accountId: OTHER_ACCOUNT });
      const changes = Array.from({ length: 5 }, () => row());
      const refusals = Array.from({ length: 6 }, () => row({ kind: 'refused', status: 403, code: 'forbidden' }));
      const frequent = Array.from({ length: 7 }, () => row({ kind: 'frequent' }));
      await a.store.saveAudit([other], kept);
      for (const each of [...changes, ...refusals]) await a.store.saveAudit([each], kept);
      // Many at once.
      await a.store.saveAudit(frequent, kept);
      const left = [
        ...frequent.slice(3).reverse(),
        ...refusals.slice(4).reverse(),
        ...changes.slice(2).reverse(),
        other,
      ];
      assert.deepEqual(await listed(a), left);
      await a.store.saveAudit([row()], kept);
      assert.equal((await listed(a, { results: ['done'], accountIds: [ACCOUNT] })).length, 3 + 4);
    });

    test('rows are deleted by time, some at once', async ({ a }) => {
      const rows = Array.from({ length: 5 }, (_, index) => row({ at: NOW + index * 1000 }));
      await a.store.saveAudit(rows);
      const before = NOW + 3000;
      assert.deepEqual(
        [
          await a.store.deleteAudit(before, 2),
          await a.store.deleteAudit(before, 2),
          await a.store.deleteAudit(before, 2),
        ],
        [2, 1, 0],
      );
      assert.deepEqual(await listed(a), [rows[4], rows[3]]);
      assert.ok(rows[3]!.id > idsFrom('aud', before), 'the bound is the lowest id of its time');
    });

    test('a change writes its row, and one that changes nothing leaves it to the call', async ({ a }) => {
      const { store } = a;
      const note = new AuditNote(row());
      await runWithNote(note, async () => {
        assert.equal(await store.deleteSchedule(ACCOUNT, 'none'), false);
        assert.deepEqual([note.isTaken, await listed(a)], [false, []]);
        note.about('orders');
        await store.saveQueue(ACCOUNT, 'orders', { parallelism: 2 }, NOW);
        // The call has one row, whatever else it changes.
        await store.saveQueue(ACCOUNT, 'more', {}, NOW);
        await store.setOutage(ACCOUNT, 'park');
      });
      assert.ok(note.isTaken);
      assert.deepEqual(await listed(a), [{ ...note.row, target: 'orders' }]);
      await store.saveQueue(ACCOUNT, 'orders', { parallelism: 3 }, NOW);
      assert.equal((await listed(a)).length, 1, 'without a note, no row is written');
    });

    test('a row that cannot be written takes its change back', async ({ a }) => {
      const { store } = a;
      const broken = new AuditNote(row({ via: null as never }));
      await assert.rejects(runWithNote(broken, () => store.saveQueue(ACCOUNT, 'orders', {}, NOW)));
      assert.deepEqual([broken.isTaken, await store.getQueue(ACCOUNT, 'orders'), await listed(a)], [false, null, []]);
    });

    test('calls at once each write their own row', async ({ a }) => {
      const names = Array.from({ length: 12 }, (_, index) => `q${index}`);
      await Promise.all(
        names.map((name, index) => {
          const accountId = index % 2 === 0 ? ACCOUNT : OTHER_ACCOUNT;
          const note = new AuditNote(row({ accountId, target: name }));
          return runWithNote(note, () => a.store.saveQueue(accountId, name, {}, NOW));
        }),
      );
      const found = (await listed(a)).map(({ accountId, target }) => `${accountId} ${target}`);
      const wanted = names.map((name, index) => `${index % 2 === 0 ? ACCOUNT : OTHER_ACCOUNT} ${name}`);
      assert.deepEqual(found.toSorted(), wanted.toSorted());
    });
  });
}
