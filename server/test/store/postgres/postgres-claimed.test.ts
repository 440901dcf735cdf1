// What happens to a message between the commit of its claim and the reading of its body.

import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import pg from 'pg';
import { ACCOUNT, message, NOW } from '../../conformance/given.ts';
import { withNodes } from '../../conformance/harness.ts';
import { ownDatabase } from '../../conformance/postgres-harness.ts';

type Query = (this: pg.Client, ...args: unknown[]) => Promise<unknown>;
const client = pg.Client.prototype as unknown as { query: Query };
const { query } = client;

afterEach(() => {
  client.query = query;
});

test('cancelled between the two, it is not handed out and has ended; the others of the claim are', () =>
  withNodes(ownDatabase, async ({ a, b }) => {
    const [cancelled, other] = [message(), message()] as const;
    await b.store.accept([cancelled, other], NOW);
    client.query = async function (...args) {
      const answer = await query.apply(this, args);
      if (args[0] !== 'COMMIT') return answer;
      client.query = query;
      const { requested } = await b.store.cancel(ACCOUNT, [cancelled.id], NOW, NOW + 1000);
      assert.deepEqual(requested, [cancelled.id]);
      return answer;
    };
    assert.deepEqual(await a.claimedIds(NOW), [other.id]);
    assert.equal(await b.stateOf(cancelled), 'cancelled');
  }));
