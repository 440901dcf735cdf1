import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isTimeZone, offsetChangeAt, offsetMsAt } from '../../../src/rules/time/time-zone.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

test('zones are known by name, in any case', () => {
  for (const name of ['UTC', 'utc', 'Europe/Berlin', 'europe/berlin', 'US/Eastern', 'Etc/GMT+5', 'Asia/Kathmandu']) {
    assert.equal(isTimeZone(name), true, name);
  }
  for (const name of [
    '',
    ' ',
    'Mars/Olympus',
    'Europe/',
    '+02:00',
    '-5',
    'Local',
    'Europe/Berlin ',
    'ä',
    '__proto__',
  ]) {
    assert.equal(isTimeZone(name), false, JSON.stringify(name));
  }
});

test('the offset is the one in force at the instant', () => {
  const table: [string, string, number][] = [
    ['UTC', '2026-07-01T00:00Z', 0],
    ['Europe/Berlin', '2026-01-01T00:00Z', 60],
    ['Europe/Berlin', '2026-07-01T00:00Z', 120],
    ['America/New_York', '2026-01-01T00:00Z', -300],
    ['America/St_Johns', '2026-01-01T00:00Z', -210],
    ['Asia/Kathmandu', '2026-01-01T00:00Z', 345],
    ['Australia/Lord_Howe', '2026-01-01T00:00Z', 660],
    ['Australia/Lord_Howe', '2026-07-01T00:00Z', 630],
    ['Pacific/Kiritimati', '2026-01-01T00:00Z', 840],
    ['Europe/Amsterdam', '1890-01-01T00:00Z', 1_050 / 60],
  ];
  for (const [zone, at, minutes] of table) {
    assert.equal(offsetMsAt(zone, Date.parse(at)), minutes * MINUTE_MS, `${zone} ${at}`);
  }
});

test('in every zone the offset turns an instant into what its clocks show', () => {
  const zones = Intl.supportedValuesOf('timeZone');
  const secondsSince1970 = fc.integer({ min: -2_000_000_000, max: 4_000_000_000 });
  fc.assert(
    fc.property(fc.constantFrom(...zones), secondsSince1970, (timeZone, seconds) => {
      const shown = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' });
      const local = new Date(seconds * 1_000 + offsetMsAt(timeZone, seconds * 1_000));
      assert.equal(local.toISOString().slice(0, 19).replace('T', ' '), shown.format(seconds * 1_000));
    }),
    { numRuns: 500 },
  );
});

test('a change of the offset is found to the millisecond', () => {
  const changeAt = Date.parse('2026-03-29T01:00Z');
  assert.equal(offsetChangeAt('Europe/Berlin', changeAt - DAY_MS, changeAt + 7), changeAt);
  assert.equal(offsetChangeAt('Europe/Berlin', changeAt - 1, changeAt), changeAt);
  assert.equal(offsetChangeAt('Europe/Berlin', changeAt - DAY_MS, changeAt - 1), null);
  assert.equal(offsetChangeAt('Europe/Berlin', changeAt, changeAt + DAY_MS), null);
  assert.equal(offsetChangeAt('UTC', changeAt - DAY_MS, changeAt + DAY_MS), null);
});
