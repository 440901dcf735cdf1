// A large body has a row of its own. SQLite writes a changed row anew, and a body inside it would go to the log at every step
// of its message.

import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { bytesOfAll } from '../../../src/rules/limits/stored-bytes.ts';
import { openDatabase } from '../../../src/store/sqlite/files/open.ts';
import { createVerbs } from '../../../src/store/sqlite/thread/verbs.ts';
import { ACCOUNT, ERROR, KEYS, limits, message, NOW, settlementOf } from '../../conformance/given.ts';
import { temporaryFolder } from '../../support/harness.ts';
import { STORED_BODIES, type StoredBodies } from '../stored-bodies.ts';

for (const [bytes, count] of [
  [1_000_000, 1],
  [16 * 1024, 1],
  [16 * 1024 - 1, 0],
] as const) {
  test(`a body of ${bytes} bytes has ${count === 1 ? 'a row of its own, and is written once' : 'none'}`, (t) => {
    const path = join(temporaryFolder(t), 'one.db');
    const database = openDatabase(path);
    t.after(() => database.close());
    const verbs = createVerbs(database);
    const logBytes = () => statSync(`${path}-wal`).size;
    verbs.createAccount({ id: ACCOUNT, name: 'one', tier: 'free', createdAt: NOW }, KEYS);
    const body = Buffer.alloc(bytes, 'large ');
    database.transaction(() =>
      verbs.accept({ messages: [message({ body })], leases: [], node: 'nod_a', now: NOW, dayMax: null }),
    );
    assert.equal(database.get<StoredBodies>(STORED_BODIES)!.count, count);
    const before = logBytes();
    const { claims } = database.transaction(() =>
      verbs.claim({ node: 'nod_a', now: NOW, limits: limits({ slots: 1 }), parked: null, leasePrefix: 'lease' }),
    );
    assert.ok(Buffer.from(claims[0]!.message.body).equals(body));
    database.transaction(() => verbs.settle([settlementOf(claims[0]!, ERROR, NOW)], NOW));
    const more = logBytes() - before;
    if (bytes > 100_000) assert.ok(more < bytes / 4, `the log grew by ${more} bytes`);
  });
}

test('a message that is cancelled and not kept gives the space of its body back at once', (t) => {
  const database = openDatabase(':memory:');
  t.after(() => database.close());
  const verbs = createVerbs(database);
  verbs.createAccount({ id: ACCOUNT, name: 'one', tier: 'free', createdAt: NOW }, KEYS);
  const shared = Buffer.alloc(20_000, 'shared ');
  const messages = [
    message({ body: Buffer.alloc(20_000) }),
    message({ body: shared }),
    message({ body: shared }),
  ] as const;
  verbs.accept({ messages, leases: [], node: 'nod_a', now: NOW, dayMax: null });
  const stored = () => database.get<StoredBodies>(STORED_BODIES)!.count;
  const cancelled = messages.map(({ id }) => {
    verbs.cancel(ACCOUNT, [id], NOW, NOW);
    return stored();
  });
  assert.deepEqual(cancelled, [1, 1, 0]);
  assert.equal(verbs.storedBytes(ACCOUNT), bytesOfAll(messages.map((each) => ({ ...each, body: new Uint8Array() }))));
});
