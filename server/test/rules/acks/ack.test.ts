// What an ack may say, and what follows from it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { AckSecrets } from '../../../src/acks/ack-secret.ts';
import { extendedDeadline, hasEndedSo, hasProgressEvent, parseAckWord } from '../../../src/rules/acks/ack.ts';
import { eachMax } from '../../../src/rules/limits/budgets.ts';

const isRefused = (body: unknown) => 'problem' in parseAckWord(body);

test('a word is read whole, or refused', () => {
  assert.deepEqual(parseAckWord({ ok: true }), { kind: 'ok' });
  assert.deepEqual(parseAckWord({ ok: false }), { kind: 'failed', error: null, retry: true });
  assert.deepEqual(parseAckWord({ ok: false, error: 'x', retry: false }), { kind: 'failed', error: 'x', retry: false });
  const progress = { kind: 'progress', extendByMs: 600_000, progress: 0.4, note: 'n' };
  assert.deepEqual(parseAckWord({ extendBy: '10m', progress: 0.4, note: 'n' }), progress);
  const most = 'x'.repeat(eachMax('ackText'));
  assert.ok(!isRefused({ note: most }) && !isRefused({ ok: false, error: most }));
  for (const body of [
    null,
    'ok',
    [],
    {},
    { ok: 'true' },
    { ok: true, retry: false },
    { ok: true, note: 'x' },
    { ok: false, progress: 1 },
    { ok: false, error: 1 },
    { ok: false, error: `${most}x` },
    { ok: false, retry: 'no' },
    { note: `${most}x` },
    { note: '\0' },
    { note: '\ud800' },
    { progress: -0.1 },
    { progress: 1.1 },
    { progress: Number.NaN },
    JSON.parse(JSON.stringify({ progress: Number.NaN })),
    { extendBy: 10 },
    { extendBy: '10ms' },
    { extendBy: 'soon' },
    { error: 'x' },
    { done: true },
  ]) {
    assert.ok(isRefused(body), JSON.stringify(body));
  }
});

test('an extension never makes the deadline earlier, nor later than the attempt may last', () => {
  const times = fc.record({ deadlineAt: fc.nat(), left: fc.nat(), by: fc.nat(), now: fc.nat() });
  fc.assert(
    fc.property(times, ({ deadlineAt, left, by, now }) => {
      const latestAt = deadlineAt + left;
      const after = extendedDeadline({ deadlineAt, latestAt }, by, now);
      assert.ok(after >= deadlineAt && after <= latestAt);
      assert.ok(after === deadlineAt || after === latestAt || after === now + by);
      assert.equal(extendedDeadline({ deadlineAt, latestAt }, null, now), deadlineAt);
    }),
  );
});

test('a word may be repeated if the attempt has ended by it', () => {
  const [open, none, cancelled] = [
    { state: 'pending', retried: 0, retriesMax: 3 } as const,
    { state: 'failed', retried: 3, retriesMax: 3 } as const,
    { state: 'cancelled', retried: 0, retriesMax: 3 } as const,
  ];
  const ok = { kind: 'ok' } as const;
  const [retry, noRetry] = [
    { kind: 'failed', error: null, retry: true } as const,
    { kind: 'failed', error: null, retry: false } as const,
  ];
  const delivered = { outcome: 'answered', status: 202, nextAt: null } as const;
  const retried = { outcome: 'rejected', status: 202, nextAt: 5 } as const;
  const failed = { outcome: 'rejected', status: 202, nextAt: null } as const;
  assert.ok(hasEndedSo(ok, delivered, open));
  for (const other of [retried, failed, { ...failed, outcome: 'noAck' as const }, { ...delivered, status: 500 }]) {
    assert.ok(!hasEndedSo(ok, other, open));
  }
  assert.ok(hasEndedSo(retry, retried, open) && !hasEndedSo(noRetry, retried, open));
  assert.ok(hasEndedSo(noRetry, failed, open) && !hasEndedSo(retry, failed, open));
  assert.ok(hasEndedSo(retry, failed, none) && !hasEndedSo(retry, delivered, open));
  // The cancel was first: the word was refused then, and is refused again. A retry was still to come before a later cancel.
  assert.ok(!hasEndedSo(ok, delivered, cancelled) && !hasEndedSo(noRetry, failed, cancelled));
  assert.ok(!hasEndedSo(retry, failed, { ...cancelled, retried: 3 }) && hasEndedSo(retry, retried, cancelled));
});

test('events of progress have room between them, and an end', () => {
  assert.ok(hasProgressEvent(null, 0, 0) && hasProgressEvent(0, 1, 10_000));
  assert.ok(!hasProgressEvent(0, 1, 9_999) && !hasProgressEvent(null, eachMax('progressEvents'), 0));
});

test('a secret is for one attempt, and nobody else can make one', () => {
  const [own, other] = [new AckSecrets('b3du'), new AckSecrets('b3RoZXI')];
  const target = { accountId: 'acc_1', messageId: 'msg_1', attempt: 3 };
  const secret = own.make(target);
  assert.match(secret, /^[\w.-]+$/);
  assert.deepEqual(own.read(secret), target);
  assert.equal(other.read(secret), null);
  const [head, mac] = secret.split('.');
  const forged = Buffer.from('acc_1 msg_1 4').toString('base64url');
  for (const bad of ['', '.', head!, `${forged}.${mac}`, `${secret}.`, `${secret}=`, `${head}.${mac!.slice(0, -1)}`]) {
    assert.equal(own.read(bad), null, bad);
  }
});
