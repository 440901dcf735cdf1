// How long a node waits for its database, near and far.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  databaseTimeouts,
  roundTripForTry,
  roundTripOf,
  withRoundTrip,
} from '../../../src/rules/nodes/database-pace.ts';

test('with a database nearby, a publisher is refused within two seconds in every way it can be', () => {
  const { silenceMs, connectMs, commitMs, acceptMs } = databaseTimeouts([1]);
  const pingMs = 300;
  for (const ms of [pingMs + silenceMs, connectMs, commitMs, 2 * acceptMs]) assert.ok(ms < 2000, String(ms));
});

test('each time has a part that is always there, and one that grows with the round trip up to a bound', () => {
  assert.deepEqual(databaseTimeouts([0]), { silenceMs: 800, connectMs: 1500, commitMs: 1500, acceptMs: 900 });
  assert.deepEqual(databaseTimeouts([500]), { silenceMs: 2000, connectMs: 3000, commitMs: 3000, acceptMs: 6900 });
  assert.deepEqual(databaseTimeouts([1000]), { silenceMs: 4000, connectMs: 5000, commitMs: 4500, acceptMs: 12_900 });
  assert.deepEqual(databaseTimeouts([500], 70), { silenceMs: 2070, connectMs: 3070, commitMs: 3070, acceptMs: 6970 });
});

test('a round trip of 800 ms is no silence, and leaves time for what takes several', () => {
  const { silenceMs, connectMs, commitMs, acceptMs } = databaseTimeouts([800]);
  assert.ok(silenceMs > 2 * 800, 'a ping behind another question');
  assert.ok(connectMs >= 6 * 800, 'TCP, TLS and authentication');
  assert.ok(commitMs > 2 * 800);
  assert.ok(acceptMs > 10 * 800, 'the statements of an accept into a queue');
});

test('no time grows beyond a bound, whatever is measured', () => {
  for (const measured of [Number.POSITIVE_INFINITY, 1e9, -5]) {
    const { silenceMs, connectMs, commitMs, acceptMs } = databaseTimeouts(withRoundTrip([], measured));
    assert.ok(silenceMs <= 4000 && connectMs <= 5000 && commitMs <= 4500 && acceptMs <= 12_900, String(measured));
  }
});

test('the shortest of the last measurements counts: a single long one is no distance, and several are', () => {
  assert.equal(roundTripOf([]), 0);
  let recent = withRoundTrip([], 1);
  recent = withRoundTrip(recent, 900);
  assert.equal(roundTripOf(recent), 1);
  for (let ping = 0; ping < 5; ping += 1) recent = withRoundTrip(recent, 400 + ping);
  assert.equal(roundTripOf(recent), 400);
  assert.equal(recent.length, 5, 'and no more are kept');
  assert.equal(roundTripOf(withRoundTrip(recent, 2)), 2);
});

test('a new connection waits by the longest of them: a database that has just moved away refuses nobody', () => {
  const nearby = [1, 1, 1, 1];
  const { connectMs, ...others } = databaseTimeouts([...nearby, 800]);
  assert.equal(connectMs, 4800);
  assert.deepEqual(others, { silenceMs: 800, commitMs: 1503, acceptMs: 912 });
});

test('a try to connect gives a database that has moved away more time, and every second one stays short', () => {
  const tries = Array.from({ length: 9 }, (_, failed) => roundTripForTry(1, failed));
  assert.deepEqual(tries, [1, 200, 1, 400, 1, 800, 1, 1000, 1]);
  assert.equal(roundTripForTry(800, 1), 1000);
});
