// The disk of a PostgreSQL server is full. A node does not see it, only that writes find no space: from then on the account
// that stores most gets none of the space that comes back, and what it cancels is deleted and not kept.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withClient } from '../../postgres/databases.ts';
import { refusal, startRider, temporaryFolder } from '../../support/harness.ts';
import { lacks } from '../../support/machine.ts';
import { storeOf } from '../../support/store-under-test.ts';
import { waitFor } from '../../support/wait.ts';

/** The disk of SQLite is watched itself. */
const skip = lacks('postgres');
const NOWHERE = 'http://127.0.0.1:9/';
const LATER = { 'Service-Delay': '300d' };
const LARGE = 'x'.repeat(50_000);

/** As PostgreSQL does it: what needs a page more fails, and small rows still find a place. */
const NO_SPACE = `
  CREATE FUNCTION no_space() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full'; END $$;
  CREATE TRIGGER full_disk BEFORE INSERT ON messages FOR EACH ROW WHEN (octet_length(NEW.body) > 10000)
    EXECUTE FUNCTION no_space()`;

test('after a database had no space, the largest account waits, others publish, and a cancel frees space', {
  skip,
}, async (t) => {
  const data = temporaryFolder(t);
  const { flags, release } = await storeOf(data);
  t.after(release);
  const url = flags[1]!;
  const rider = await startRider(t, { data });
  const { token } = await rider.account('stores-most');
  const { token: small } = await rider.account('stores-little');
  const kept = await rider.published(NOWHERE, { token, headers: LATER, body: LARGE });
  await rider.published(NOWHERE, { token: small, headers: LATER, body: 'small' });
  // What all accounts store is looked at now and then.
  await rider.advance(10_000);

  await withClient(url, (client) => client.query(NO_SPACE));
  refusal(await rider.publish(NOWHERE, { token, headers: LATER, body: LARGE }), 503, 'disk_full');
  await withClient(url, (client) => client.query('DROP TRIGGER full_disk ON messages'));

  await waitFor('the look at what all store', async () => {
    const { text } = await rider.publish(NOWHERE, { token, headers: LATER, body: LARGE });
    return /stores more than the average account/.test(text);
  });
  assert.equal((await rider.publish(NOWHERE, { token: small, headers: LATER, body: 'small' })).status, 201);
  await rider.manage('DELETE', `/v2/messages/${kept}`, undefined, token);
  // Retention looks every half minute, once the clock is proven.
  await rider.advance(11 * 60_000);
  await waitFor('the cancelled message to be gone', async () => {
    const { status } = await rider.call('GET', `/v2/messages/${kept}`, { token });
    return status === 404;
  });
  assert.equal((await rider.publish(NOWHERE, { token, headers: LATER, body: LARGE })).status, 201);
});
