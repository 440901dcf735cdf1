// The line of an attempt is what the logger would write, for every outcome.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import pino from 'pino';
import type { Outcome } from '../../src/rules/delivery/message.ts';
import { decideSettlement } from '../../src/rules/delivery/settle.ts';
import { logEngine } from '../../src/telemetry/log.ts';
import { answered, claimOf, countingIds, NOW, PREFIX } from '../rules/given.ts';

const OUTCOMES: readonly Outcome[] = [
  answered(204),
  answered(503),
  { kind: 'unreachable', reason: 'a "quoted"\nword' },
  { kind: 'unreachable', reason: 'refused by a name', detail: 'refused by an address' },
  { kind: 'interrupted', reason: 'cut off', cause: 'drain' },
];

function startLog(level: string) {
  const lines: string[] = [];
  const log = pino(
    { level, base: null, timestamp: () => `,"time":"${new Date(NOW).toISOString()}"` },
    {
      write: (line: string) => void lines.push(line),
    },
  );
  return { lines, log, observe: logEngine(log, () => NOW) };
}

test('an attempt is logged as the logger itself would write it, whatever the one before it was', async () => {
  const { lines, log, observe } = startLog('info');
  for (const outcome of [...OUTCOMES, ...OUTCOMES.toReversed()]) {
    for (const queueName of [null, 'a-queue', 'a-queue', 'another']) {
      lines.length = 0;
      const claim = claimOf({ queueName });
      const end = { outcome, startedAt: NOW - 12, endedAt: NOW };
      const settlement = decideSettlement(claim, end, {
        headerPrefix: PREFIX,
        retentionMs: 1000,
        newId: countingIds(),
      });
      observe({ kind: 'attempt', claim, outcome, settlement, result: 'settled' });
      const { attempt, next } = settlement;
      const { message } = claim;
      log.info(
        {
          account: message.accountId,
          message: message.id,
          kind: message.kind,
          host: message.host,
          queue: queueName ?? undefined,
          attempt: attempt.number,
          retried: message.retried,
          outcome: outcome.kind,
          status: attempt.status ?? undefined,
          error: ('detail' in outcome ? outcome.detail : attempt.error) ?? undefined,
          ms: 12,
          next: next.state,
          dueAt: next.state === 'pending' ? next.dueAt : undefined,
          settle: 'settled',
        },
        'attempt',
      );
      await null;
      assert.equal(lines.length, 2);
      assert.equal(lines[0], lines[1]);
    }
  }
});

test('above the level of attempts no line is made', async () => {
  const { lines, observe } = startLog('warn');
  const claim = claimOf({});
  const outcome = answered(200);
  const end = { outcome, startedAt: NOW, endedAt: NOW };
  const settlement = decideSettlement(claim, end, { headerPrefix: PREFIX, retentionMs: 1000, newId: countingIds() });
  observe({ kind: 'attempt', claim, outcome, settlement, result: 'settled' });
  await null;
  assert.deepEqual(lines, []);
});

test('attempts that are settled together are written at once, and before anything else happens', async () => {
  const { lines, observe } = startLog('info');
  const outcome = answered(200);
  const end = { outcome, startedAt: NOW, endedAt: NOW };
  for (const queueName of ['one', 'two', 'three']) {
    const claim = claimOf({ queueName });
    const settlement = decideSettlement(claim, end, { headerPrefix: PREFIX, retentionMs: 1000, newId: countingIds() });
    observe({ kind: 'attempt', claim, outcome, settlement, result: 'settled' });
  }
  await null;
  assert.equal(lines.length, 1);
  const written = lines[0]!
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { readonly queue: string });
  assert.deepEqual(
    written.map(({ queue }) => queue),
    ['one', 'two', 'three'],
  );
});
