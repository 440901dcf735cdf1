// Each store that an earlier version has left is opened by this one: what it had is there, what was due is done, and new
// messages are accepted and delivered.

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { sharedServer } from '../postgres/server.ts';
import { type Rider, startRider, temporaryFolder } from '../support/harness.ts';
import { startReceiver } from '../support/receiver.ts';
import { waitFor } from '../support/wait.ts';
import { KEPT, KEPT_AT, restoreFiles, restoreRows, type Shown, show } from './kept-store.ts';

interface Facts {
  readonly token: string;
  readonly shown: Shown;
}

const HOUR_MS = 3_600_000;

/** A newer version may show more, but not less and nothing else. */
function assertStillShown(now: unknown, then: unknown, where: string): void {
  if (typeof then !== 'object' || then === null) assert.equal(now, then, where);
  else if (Array.isArray(then)) {
    assert.equal((now as unknown[]).length, then.length, where);
    for (const [index, each] of then.entries()) assertStillShown((now as unknown[])[index], each, `${where}[${index}]`);
  } else {
    for (const [key, value] of Object.entries(then)) {
      assertStillShown((now as Record<string, unknown> | undefined)?.[key], value, `${where}.${key}`);
    }
  }
}

async function check(rider: Rider, { token, shown }: Facts, receiver: { readonly url: string }): Promise<void> {
  assertStillShown(await show(rider, token), shown, 'store');
  const delayed = Object.values(shown).find((each) => (each as { body?: string }).body === 'later') as {
    messageId: string;
  };
  await rider.advance(HOUR_MS);
  assert.equal((await rider.attempted(delayed.messageId, 1, token)).attempts[0]!.number, 1);
  const id = await rider.published(receiver.url, { token, body: 'new' });
  assert.equal((await rider.ended(id, token)).state, 'DELIVERED');
}

const names = readdirSync(KEPT);

test('there is a store to open', () => assert.ok(names.length > 0));

for (const name of names) {
  const folder = join(KEPT, name);
  const facts = (store: string) =>
    JSON.parse(gunzipSync(readFileSync(join(folder, `${store}-shown.json.gz`))).toString('utf8')) as Facts;

  test(`the data directory of ${name}`, async (t) => {
    const data = temporaryFolder(t);
    restoreFiles(join(folder, 'sqlite'), data);
    const receiver = await startReceiver(t);
    await check(await startRider(t, { data, now: KEPT_AT }), facts('sqlite'), receiver);
  });

  test(`the database of ${name}`, async (t) => {
    const server = await sharedServer();
    const database = await server.createEmptyDatabase();
    t.after(() => server.dropDatabase(database));
    await restoreRows(server.url(database), join(folder, 'postgres-rows.json.gz'));
    const receiver = await startReceiver(t);
    const rider = await startRider(t, { now: KEPT_AT, flags: ['--store', server.url(database)] });
    // The node of then is no longer there.
    await waitFor('the node of now', async () => rider.postrider.isAsleep());
    await check(rider, facts('postgres'), receiver);
  });
}
