import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readTokenLimits, type WantedTokenLimits } from '../../../src/rules/accounts/token-limits.ts';

const NOW = 1_000_000;
const DAY_MS = 86_400_000;

const read = (wanted: WantedTokenLimits) =>
  readTokenLimits(wanted, NOW, (range) => (range.includes('/') ? null : `"${range}" is wrong`));

function problem(wanted: WantedTokenLimits): string {
  const limits = read(wanted);
  assert.ok('problem' in limits, JSON.stringify(limits));
  return limits.problem;
}

test('without limits a token works for ever and from everywhere', () => {
  assert.deepEqual(read({}), { expiresAt: null, addresses: [] });
  assert.deepEqual(read({ addresses: [] }), { expiresAt: null, addresses: [] });
});

test('an expiry is a duration from now or a time', () => {
  assert.deepEqual(read({ expiresIn: '90d' }), { expiresAt: NOW + 90 * DAY_MS, addresses: [] });
  assert.deepEqual(read({ expiresIn: '1ms' }), { expiresAt: NOW + 1, addresses: [] });
  assert.deepEqual(read({ expiresAt: NOW + 1 }), { expiresAt: NOW + 1, addresses: [] });
  assert.deepEqual(read({ expiresIn: '36500d' }), { expiresAt: NOW + 36_500 * DAY_MS, addresses: [] });
});

test('an expiry that is no time to come, two of them, or one beyond a hundred years is refused', () => {
  assert.match(problem({ expiresIn: 'soon' }), /^expiresIn: must be a duration/);
  assert.match(problem({ expiresIn: '' }), /^expiresIn: must be a duration/);
  assert.match(problem({ expiresIn: '-1d' }), /^expiresIn: must be a duration/);
  assert.match(problem({ expiresIn: '0s' }), /^expiresIn: .* expired already/);
  for (const expiresAt of [NOW, NOW - 1, 0, -1, Number.MIN_SAFE_INTEGER]) {
    assert.match(problem({ expiresAt }), /^expiresAt: .* expired already/);
  }
  assert.match(problem({ expiresIn: '1d', expiresAt: NOW + 1 }), /not both/);
  assert.match(problem({ expiresIn: '36500d1ms' }), /^expiresIn: more than 100 years/);
  assert.match(problem({ expiresIn: '9'.repeat(100) }), /^expiresIn: more than 100 years/);
  assert.match(problem({ expiresAt: Number.MAX_SAFE_INTEGER }), /^expiresAt: more than 100 years/);
});

test('ranges are kept in their order, each once; a wrong one and too many are refused', () => {
  assert.deepEqual(read({ addresses: ['b/8', 'a/8', 'b/8'] }), { expiresAt: null, addresses: ['b/8', 'a/8'] });
  assert.equal(problem({ addresses: ['a/8', 'b'] }), 'addresses: "b" is wrong');
  const ranges = (count: number) => Array.from({ length: count }, (_, n) => `${n}/8`);
  assert.equal('problem' in read({ addresses: ranges(20) }), false);
  assert.equal(problem({ addresses: ranges(21) }), 'addresses: at most 20 ranges');
});
