// The health of a host: what nodes have measured adds up to what one node would have measured, and a host fails from its
// first failure that no response has followed.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Attempt } from '../../../src/rules/delivery/message.ts';
import {
  HEALTH_ERROR_MAX,
  HEALTH_SPAN_MS,
  HEALTH_WINDOW_MS,
  type HostHealth,
  HostTally,
  mergeHealth,
  summaryOf,
} from '../../../src/rules/hosts/host-health.ts';

const NOW = 1_800_000_000_000;

type End = Pick<Attempt, 'outcome' | 'status'>;
const OK: End = { outcome: 'answered', status: 200 };
const GONE: End = { outcome: 'answered', status: 404 };
const DOWN: End = { outcome: 'answered', status: 503 };
const SILENT: End = { outcome: 'timedOut', status: null };
const NO_HOST: End = { outcome: 'unreachable', status: null };
const CUT: End = { outcome: 'interrupted', status: null };
const REFUSED: End = { outcome: 'refusedByPolicy', status: null };

function attempt(end: End, endedAt: number, tookMs = 10): Attempt {
  return {
    ...end,
    number: 1,
    startedAt: endedAt - tookMs,
    endedAt,
    error: end.status === null ? `${end.outcome} at ${endedAt}` : null,
    nextAt: null,
    responseHeaders: [],
    responseBody: new Uint8Array(0),
    isResponseBodyCut: false,
  };
}

function measured(attempts: readonly Attempt[]): HostHealth | null {
  const tally = new HostTally();
  for (const each of attempts) tally.add(each);
  return tally.health;
}

const merged = (parts: readonly (HostHealth | null)[]) =>
  parts
    .filter((part) => part !== null)
    .reduce<HostHealth | null>((sum, part) => (sum ? mergeHealth(sum, part) : part), null);

const ends = fc.constantFrom(OK, GONE, DOWN, SILENT, NO_HOST, CUT, REFUSED);
/** Attempts that end one after the other. */
const attempts = fc
  .array(fc.record({ end: ends, afterMs: fc.integer({ min: 0, max: HEALTH_SPAN_MS }), tookMs: fc.nat(200_000) }), {
    maxLength: 40,
  })
  .map((steps) => {
    let at = NOW;
    return steps.map(({ end, afterMs, tookMs }) => {
      at += afterMs;
      return attempt(end, at, tookMs);
    });
  });

test('what is written in pieces is what would have been written at once', () => {
  fc.assert(
    fc.property(attempts, fc.array(fc.nat(40)), (all, cuts) => {
      const at = [...new Set([0, ...cuts.filter((cut) => cut < all.length), all.length])].sort((a, b) => a - b);
      const pieces = at.slice(1).map((end, index) => all.slice(at[index], end));
      const whole = measured(all);
      const sum = merged(pieces.map(measured));
      assert.equal(sum === null, whole === null);
      if (!sum || !whole) return;
      const newest = whole.spans.at(-1)!.at;
      const inWindow = whole.spans.filter((span) => span.at >= newest - HEALTH_WINDOW_MS);
      assert.deepEqual(
        { ...sum, spans: sum.spans.filter((span) => span.at >= newest - HEALTH_WINDOW_MS) },
        { ...whole, spans: inWindow },
      );
    }),
  );
});

test('two nodes add up to all attempts, and the host fails if its last attempt failed', () => {
  fc.assert(
    fc.property(attempts, fc.array(fc.boolean(), { minLength: 40, maxLength: 40 }), (all, isOfFirst) => {
      // Apart in time, so that there is a last one.
      const apart = all.map((each, index) => ({ ...each, endedAt: each.endedAt + index }));
      const one = measured(apart.filter((_each, index) => isOfFirst[index]));
      const other = measured(apart.filter((_each, index) => !isOfFirst[index]));
      const sum = merged([one, other]);
      const whole = measured(apart);
      assert.equal(sum?.lastAttemptAt, whole?.lastAttemptAt);
      assert.equal(sum?.lastAnswerAt, whole?.lastAnswerAt);
      assert.deepEqual(sum?.lastFailure, whole?.lastFailure);
      assert.equal(sum?.failingSince == null, whole?.failingSince == null);
      if (sum?.failingSince != null) assert.ok(sum.failingSince >= whole!.failingSince!);
      assert.deepEqual(sum && summaryOf(sum, sum.lastAttemptAt), whole && summaryOf(whole, whole.lastAttemptAt));
    }),
  );
});

test('a 4xx is a response of the host; attempts that say nothing about it are left out', () => {
  assert.equal(measured([attempt(CUT, NOW), attempt(REFUSED, NOW)]), null);
  const health = measured([attempt(DOWN, NOW), attempt(SILENT, NOW + 1), attempt(CUT, NOW + 2)])!;
  assert.equal(health.failingSince, NOW);
  assert.deepEqual(health.lastFailure, { at: NOW + 1, status: null, error: `timedOut at ${NOW + 1}` });
  const answered = mergeHealth(health, measured([attempt(GONE, NOW + 3)])!);
  assert.deepEqual([answered.failingSince, answered.lastAnswerAt], [null, NOW + 3]);
  assert.deepEqual(
    { ...summaryOf(answered, NOW + 3), p50Ms: 0, p95Ms: 0 },
    { attempts: 3, delivered: 0, p50Ms: 0, p95Ms: 0 },
  );
});

test('the last hour counts, and what is kept stays bounded', () => {
  let health = measured([attempt(OK, NOW)])!;
  for (let at = NOW; at < NOW + 10 * HEALTH_WINDOW_MS; at += HEALTH_SPAN_MS / 2) {
    health = mergeHealth(health, measured([attempt(OK, at, 100)])!);
    assert.ok(health.spans.length <= HEALTH_WINDOW_MS / HEALTH_SPAN_MS + 1);
  }
  const { attempts: count, p50Ms, p95Ms } = summaryOf(health, health.lastAttemptAt);
  assert.ok(count >= 24 && count <= 26, String(count));
  assert.ok(p50Ms! >= 100 && p50Ms! <= 142 && p50Ms === p95Ms);
  assert.deepEqual(summaryOf(health, health.lastAttemptAt + 2 * HEALTH_WINDOW_MS), {
    attempts: 0,
    delivered: 0,
    p50Ms: null,
    p95Ms: null,
  });
  const long = measured([{ ...attempt(NO_HOST, NOW), error: 'x'.repeat(5000) }])!;
  assert.equal(long.lastFailure!.error!.length, HEALTH_ERROR_MAX);
});
