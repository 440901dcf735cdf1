// A read whose connection is lost: it wrote nothing, so it runs again on another connection, once.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { StoreUnavailable } from '../../../src/store/ports/store.ts';
import { withNode } from '../../conformance/harness.ts';
import { ownDatabase } from '../../conformance/postgres-harness.ts';

type Query = (this: pg.Client, ...args: unknown[]) => Promise<unknown>;
const client = pg.Client.prototype as unknown as { query: Query };
const { query } = client;

const HASH = new Uint8Array(32).fill(7);

/** The connections of the first `times` look-ups of the token are ended by the server in the middle. */
function withLost(times: number, work: (find: () => Promise<unknown>, asked: () => number) => Promise<void>) {
  return withNode(ownDatabase, async ({ a }) => {
    let asked = 0;
    client.query = function (...args) {
      const { values } = args[0] as { values?: readonly unknown[] };
      const isLookUp = values?.some((value) => value instanceof Uint8Array && Buffer.compare(value, HASH) === 0);
      if (!isLookUp) return query.apply(this, args);
      asked += 1;
      return asked <= times
        ? query.call(this, 'SELECT pg_terminate_backend(pg_backend_pid())')
        : query.apply(this, args);
    };
    try {
      await work(
        () => a.store.findToken(HASH, 0),
        () => asked,
      );
    } finally {
      client.query = query;
    }
  });
}

test('a read whose connection is lost runs again on another one', () =>
  withLost(1, async (find, asked) => {
    assert.equal(await find(), null);
    assert.equal(asked(), 2);
  }));

test('one that is lost again is refused as unavailable', () =>
  withLost(2, async (find, asked) => {
    await assert.rejects(find, StoreUnavailable);
    assert.equal(asked(), 2);
  }));
