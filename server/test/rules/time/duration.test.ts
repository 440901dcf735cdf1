import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { formatDurationMs, parseAnyDurationMs, parseDurationMs } from '../../../src/rules/time/duration.ts';
import { processorMs } from '../../support/processor-time.ts';

test('a duration is one or more numbers with units', () => {
  const table: [string, number][] = [
    ['250ms', 250],
    ['90s', 90_000],
    ['5m', 300_000],
    ['2h', 7_200_000],
    ['7d', 604_800_000],
    ['1d10h30m', 124_200_000],
    ['1m1ms', 60_001],
    ['0s', 0],
    ['007s', 7_000],
  ];
  for (const [text, ms] of table) assert.equal(parseDurationMs(text), ms, text);
});

test('a bare number means seconds', () => {
  assert.equal(parseDurationMs('0'), 0);
  assert.equal(parseDurationMs('30'), 30_000);
  assert.equal(parseDurationMs('1.5'), 1_500);
});

test('decimals are taken and the sum is rounded to whole milliseconds', () => {
  assert.equal(parseDurationMs('1.5s'), 1_500);
  assert.equal(parseDurationMs('0.5h0.5m'), 1_830_000);
  assert.equal(parseDurationMs('1.005s'), 1_005);
  assert.equal(parseDurationMs('0.4ms'), 0);
  assert.equal(parseDurationMs('0.4ms0.4ms'), 1);
});

test('units may repeat and come in any order', () => {
  assert.equal(parseDurationMs('1s1s'), 2_000);
  assert.equal(parseDurationMs('1s1h'), 3_601_000);
});

test('whitespace around a duration is ignored', () => {
  assert.equal(parseDurationMs(' \t90s\n'), 90_000);
});

test('anything else is no duration', () => {
  const texts = ['', ' ', 's', '-1s', '+1s', '1 s', '1s 1m', '1e3', '1e3s', '.5s', '5.s', '1.2.3s', '1m30', '30 1m'];
  texts.push('1S', '1M', '1w', '1y', '1us', '1sec', '1,5s', '0x10', 'NaN', 'Infinity', '١s', '1s\0', 'P1D');
  for (const text of texts) assert.equal(parseDurationMs(text), null, JSON.stringify(text));
});

test('a duration whose milliseconds are not exact is refused', () => {
  assert.equal(parseDurationMs('9007199254740991ms'), Number.MAX_SAFE_INTEGER);
  assert.equal(parseDurationMs('9007199254740992ms'), null);
  assert.equal(parseDurationMs('9'.repeat(100)), null);
  assert.equal(parseDurationMs('1s'.repeat(64)), 64_000);
  assert.equal(parseDurationMs('1s'.repeat(65)), null);
});

test('a huge text is refused at once', async () => {
  const tookMs = await processorMs(() => {
    for (const text of ['1'.repeat(1e6), '1s'.repeat(5e5), `${'1.'.repeat(5e5)}s`, `${' '.repeat(1e6)}x`]) {
      assert.equal(parseDurationMs(text), null);
    }
  });
  assert.ok(tookMs < 1_000, `${tookMs} ms of the processor`);
});

test('durations are written shortest first unit first', () => {
  assert.equal(formatDurationMs(0), '0s');
  assert.equal(formatDurationMs(250), '250ms');
  assert.equal(formatDurationMs(124_200_000), '1d10h30m');
  assert.equal(formatDurationMs(61_001), '1m1s1ms');
  assert.equal(formatDurationMs(86_400_000), '1d');
});

test('a written duration is read back as the same value', () => {
  fc.assert(
    fc.property(fc.oneof(fc.maxSafeNat(), fc.nat(200_000_000)), (ms) => {
      assert.equal(parseDurationMs(formatDurationMs(ms)), ms);
    }),
    { numRuns: 1_000 },
  );
});

test('whatever the text, the answer is null or a whole number that is not negative', () => {
  const noise = fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom(...'0123456789.smhd- e') }));
  fc.assert(
    fc.property(noise, (text) => {
      const ms = parseDurationMs(text);
      assert.ok(ms === null || (Number.isSafeInteger(ms) && ms >= 0));
    }),
    { numRuns: 1_000 },
  );
});

test('a duration that is too long to be exact is the longest there is, where its limit is checked elsewhere', () => {
  assert.equal(parseAnyDurationMs('90s'), 90_000);
  assert.equal(parseAnyDurationMs('0'), 0);
  assert.equal(parseAnyDurationMs('999999999999999d'), Number.MAX_SAFE_INTEGER);
  assert.equal(parseDurationMs('999999999999999d'), null);
  assert.equal(parseAnyDurationMs('soon'), null);
});
