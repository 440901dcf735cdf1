// What becomes of the row of a call when the store cannot take it, and what the log says.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Audit } from '../../src/audit/audit.ts';
import { type AuditFacts, type AuditRow, CHANGES_OF_TOKEN_MAX, COUNTED_MS } from '../../src/rules/accounts/audit.ts';
import { idMaker } from '../../src/rules/requests/id.ts';
import { StoreUnavailable } from '../../src/store/ports/store.ts';
import { keepNote, notingChanges, withNote } from '../../src/store/shared/audit-note.ts';

const NOW = Date.UTC(2026, 0, 1, 12);
const FACTS: AuditFacts = {
  accountId: 'acc_1',
  via: 'token',
  tokenId: 'tok_1',
  tokenName: 'ci',
  address: '203.0.113.7',
  call: 'POST /v2/queues',
  target: 'orders',
  status: 200,
  code: null,
  requestId: 'req-1',
};
const REFUSED: AuditFacts = { ...FACTS, status: 403, code: 'forbidden' };

class Given {
  now = NOW;
  /** What `saveAudit` was given, call by call. */
  readonly saved: (readonly AuditRow[])[] = [];
  readonly lines: string[] = [];
  lost = 0;
  save: () => Promise<void> = async () => {};
  readonly audit: Audit;

  constructor(isKept = true) {
    const line = (level: string) => (fields: object, text: string) => {
      this.lines.push(`${level} ${text} ${JSON.stringify(fields)}`);
    };
    this.audit = new Audit({
      store: {
        saveAudit: (rows) => {
          this.saved.push(rows);
          return this.save();
        },
      },
      now: () => this.now,
      newId: idMaker(
        () => this.now,
        (length) => new Uint8Array(length),
      ),
      isKept,
      log: { info: line('info'), debug: line('debug'), isLevelEnabled: () => false },
      onLost: (rows) => {
        this.lost += rows;
      },
    });
  }

  carryOut(change: () => Promise<unknown>, status = 200): Promise<unknown> {
    return this.audit.carryOut(FACTS, () => status, change);
  }
}

/** A verb of a store that writes the row with its change; `full`: only if it has no row to write. */
const verb = (written: (AuditRow | null)[], changes = true, isFull = false) =>
  withNote(
    () => changes,
    async (row) => {
      if (isFull && row !== null) throw new StoreUnavailable('full', 'the disk is full');
      written.push(row);
      return changes;
    },
  );

test('the verb of a change writes the row; without such a verb, it is written right after', async () => {
  const given = new Given();
  const written: (AuditRow | null)[] = [];
  await given.carryOut(async () => {
    await verb(written, false);
    await verb(written);
    await verb(written);
  });
  assert.deepEqual(
    written.map((row) => row?.target ?? null),
    ['orders', 'orders', null],
  );
  assert.equal(given.saved.length, 0);
  await given.carryOut(async () => {});
  assert.deepEqual(
    given.saved.map((rows) => rows.map(({ call, count }) => [call, count])),
    [[['POST /v2/queues', 1]]],
  );
  assert.deepEqual(
    given.lines.map((line) => line.split(' ', 3).join(' ')),
    ['info audit: done', 'info audit: done'],
  );
  assert.match(
    given.lines[0]!,
    /"account":"acc_1","via":"token","token":"tok_1","tokenName":"ci","address":"203.0.113.7"/,
  );
  assert.match(given.lines[0]!, /"target":"orders","status":200,"request":"req-1"\}$/);
});

test('a row with another status than expected is corrected', async () => {
  const given = new Given();
  const written: (AuditRow | null)[] = [];
  await given.carryOut(() => verb(written), 202);
  assert.deepEqual(given.saved, [[{ ...written[0]!, status: 202, count: 0 }]]);
});

test('a change that a full disk takes is made without its row', async () => {
  const given = new Given();
  given.save = async () => {
    throw new StoreUnavailable('full', 'the disk is full');
  };
  const written: (AuditRow | null)[] = [];
  await given.carryOut(() => verb(written, true, true));
  assert.deepEqual(written, [null]);
  assert.equal(given.lost, 1);
  assert.match(given.lines.join(), /"stored":false/);
});

test('a call whose row cannot be written afterwards is carried out, and the log has its line', async () => {
  const given = new Given();
  given.save = async () => {
    throw new StoreUnavailable('unavailable', 'the store is away');
  };
  assert.equal(await given.carryOut(async () => 'done'), 'done');
  assert.deepEqual([given.lost, given.lines.length], [1, 1]);
});

test('a call that fails has no row of its own, but a change that it has made keeps its row and its line', async () => {
  const given = new Given();
  const fails = async () => {
    throw new Error('refused');
  };
  await assert.rejects(given.carryOut(fails), /refused/);
  assert.deepEqual([given.saved, given.lines], [[], []]);
  await assert.rejects(
    given.carryOut(() => verb([]).then(fails)),
    /refused/,
  );
  assert.deepEqual([given.saved.length, given.lines.length], [0, 1]);
});

test('a call of several transactions that fails after one of them has a row without a status', async () => {
  const given = new Given();
  const cancelled = { cancelled: ['msg_1'], requested: [], awaited: [] };
  const nothing = { cancelled: [], requested: [], awaited: [] };
  const failsAfter = (reply: typeof cancelled | typeof nothing) => async () => {
    const store = notingChanges({ cancel: async () => reply } as unknown as Parameters<typeof notingChanges>[0]);
    await store.cancel('acc_1', ['msg_1'], NOW, NOW);
    throw new Error('away');
  };
  await assert.rejects(given.carryOut(failsAfter(nothing)), /away/);
  assert.deepEqual(given.saved, []);
  await assert.rejects(given.carryOut(failsAfter(cancelled)), /away/);
  assert.deepEqual(
    given.saved.flat().map(({ status, code, target }) => [status, code, target]),
    [[null, null, 'orders']],
  );
  assert.equal(given.lines.length, 1);
});

test('what a token changes very often is kept apart from other changes, minute by minute', async () => {
  const given = new Given();
  const kinds = async (calls: number, facts = FACTS) => {
    const from = given.saved.length;
    for (let call = 0; call < calls; call += 1)
      await given.audit.carryOut(
        facts,
        () => 200,
        async () => {},
      );
    return given.saved.slice(from).flatMap((rows) => rows.map(({ kind }) => kind));
  };
  const first = await kinds(CHANGES_OF_TOKEN_MAX + 2);
  assert.equal(first.indexOf('frequent'), CHANGES_OF_TOKEN_MAX);
  assert.deepEqual(first.slice(CHANGES_OF_TOKEN_MAX), ['frequent', 'frequent']);
  assert.deepEqual(await kinds(1, { ...FACTS, tokenId: 'tok_2' }), ['change']);
  given.now += COUNTED_MS;
  assert.deepEqual(await kinds(1), ['change']);
});

test('work that has no row of its own gets none of the call that ended before it', async () => {
  const written: (AuditRow | null)[] = [];
  const given = new Given();
  const later = keepNote(() => verb(written));
  await given.carryOut(later);
  assert.deepEqual(written, [null]);
});

test('without an audit nothing is written, and the log has the same lines', async () => {
  const given = new Given(false);
  const written: (AuditRow | null)[] = [];
  await given.carryOut(() => verb(written));
  await given.carryOut(async () => {});
  given.audit.refused(() => REFUSED, 'change', 'forbidden');
  await given.audit.flush();
  assert.deepEqual([written, given.saved], [[null], []]);
  assert.equal(given.lines.length, 3);
  const command = { call: 'postrider serve', accountId: null, target: null };
  await given.audit.command(command, async () => {});
  assert.equal(given.lines.length, 3, 'a start that changes nothing has no line');
});

test('a command has a row only if it changes something', async () => {
  const given = new Given();
  const written: (AuditRow | null)[] = [];
  const facts = { call: 'postrider token create', accountId: 'acc_1', target: 'ci' };
  await given.audit.command(facts, () => verb(written, false));
  assert.deepEqual([given.saved, given.lines], [[], []]);
  await given.audit.command(facts, () => verb(written));
  const { via, status, call, target } = written[1]!;
  assert.deepEqual([via, status, call, target], ['command', null, 'postrider token create', 'ci']);
});

test('refused calls are written by one call of the store at a time, however many come meanwhile', async () => {
  const given = new Given();
  const { promise, resolve } = Promise.withResolvers<void>();
  given.save = () => promise;
  const refuse = (target: string) => given.audit.refused(() => ({ ...REFUSED, target }), 'change', 'forbidden');
  refuse('a');
  for (const target of ['b', 'c', 'a', 'a']) refuse(target);
  const flushed = given.audit.flush();
  assert.deepEqual(
    given.saved.map((rows) => rows.map(({ target }) => target)),
    [['a']],
  );
  resolve();
  await flushed;
  assert.deepEqual(
    given.saved.map((rows) => rows.map(({ target, count }) => `${target} ${count}`)),
    [['a 1'], ['b 1', 'c 1'], ['a 2']],
  );
  assert.equal(given.lines.length, 3, 'a line for each kind, not for each call');
  given.now += 60_000;
  await given.audit.task.run();
  assert.deepEqual(
    given.lines.slice(3).map((line) => /"target":"a".*"count":3/.test(line)),
    [true],
  );
});

test('only what the audit keeps is asked for its facts', () => {
  const given = new Given();
  let asked = 0;
  const facts = (some: Partial<AuditFacts>) => () => {
    asked += 1;
    return { ...REFUSED, ...some };
  };
  given.audit.refused(facts({ code: 'bad_header' }), 'none', 'bad_header');
  assert.equal(asked, 0, 'a publish that is refused for its headers costs nothing');
  given.audit.refused(facts({ accountId: null, code: 'forbidden' }), 'none', 'forbidden');
  assert.equal(given.lines.length, 0, 'a page of another site is no caller');
  given.audit.refused(facts({}), 'none', 'forbidden');
  given.audit.refused(facts({ code: 'bad_body' }), 'change', 'bad_body');
  given.audit.refused(facts({ accountId: null, code: 'unauthorized' }), 'none', 'unauthorized');
  assert.equal(given.lines.length, 3);
});
