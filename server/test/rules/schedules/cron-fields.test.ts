// One field of a cron expression: which numbers its text stands for, and what is said of a text that stands for none.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CRON_FIELD_KINDS, type CronField, parseCronField } from '../../../src/rules/schedules/cron-fields.ts';

const [MINUTE, HOUR, DAY_OF_MONTH, MONTH, DAY_OF_WEEK] = CRON_FIELD_KINDS;
type Kind = Parameters<typeof parseCronField>[0];

function fieldOf(kind: Kind | undefined, text: string): CronField {
  const field = parseCronField(kind!, text);
  if ('problem' in field) assert.fail(`${text}: ${field.problem}`);
  return field;
}

function problemOf(kind: Kind | undefined, text: string): string {
  const field = parseCronField(kind!, text);
  if (!('problem' in field)) assert.fail(`accepted: ${text}`);
  return field.problem;
}

const numbers = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, index) => first + index);

test('a star stands for every value of its field, and each value once', () => {
  const values = CRON_FIELD_KINDS.map((kind) => fieldOf(kind, '*').values);
  assert.deepEqual(values, [numbers(0, 59), numbers(0, 23), numbers(1, 31), numbers(1, 12), numbers(0, 6)]);
});

test('values, lists, ranges, steps and names', () => {
  for (const [kind, text, values] of [
    [MINUTE, '0', [0]],
    [MINUTE, '59', [59]],
    [MINUTE, '007', [7]],
    [MINUTE, '5,1,3,1-2', [1, 2, 3, 5]],
    [MINUTE, '30,4', [4, 30]],
    [MINUTE, '10-20/5', [10, 15, 20]],
    [MINUTE, '10-19/5', [10, 15]],
    [MINUTE, '5-5', [5]],
    [MINUTE, '50/5', [50, 55]],
    [MINUTE, '50/9', [50, 59]],
    [MINUTE, '*/60', [0]],
    [MINUTE, '*/1', numbers(0, 59)],
    [HOUR, '22-23,*/12', [0, 12, 22, 23]],
    [HOUR, '*/24', [0]],
    [DAY_OF_MONTH, '*/30', [1, 31]],
    [DAY_OF_MONTH, '1,31', [1, 31]],
    [DAY_OF_MONTH, '30/1', [30, 31]],
    [MONTH, 'JAN,feb-Apr,12', [1, 2, 3, 4, 12]],
    [MONTH, 'dec', [12]],
    [MONTH, '*/6', [1, 7]],
    [DAY_OF_WEEK, 'sun', [0]],
    [DAY_OF_WEEK, 'sat', [6]],
    [DAY_OF_WEEK, '7', [0]],
    [DAY_OF_WEEK, '0,7', [0]],
    [DAY_OF_WEEK, '7-7', [0]],
    [DAY_OF_WEEK, '7/2', [0]],
    [DAY_OF_WEEK, '5-7', [0, 5, 6]],
    [DAY_OF_WEEK, '0-7', numbers(0, 6)],
    [DAY_OF_WEEK, '0-0', [0]],
    [DAY_OF_WEEK, '1-0', numbers(0, 6)],
    [DAY_OF_WEEK, 'fri-sun', [0, 5, 6]],
    [DAY_OF_WEEK, 'sun-tue', [0, 1, 2]],
    [DAY_OF_WEEK, '1-7/2', [0, 1, 3, 5]],
    [DAY_OF_WEEK, '*/7', [0]],
    [DAY_OF_WEEK, '3/1', [3, 4, 5, 6]],
  ] as const) {
    assert.deepEqual(fieldOf(kind, text).values, values, text);
  }
});

test('a star anywhere in a field makes it an interval; only a star with a step of one leaves it unrestricted', () => {
  const shown = (text: string) => {
    const { isWildcard, isRestricted } = fieldOf(DAY_OF_MONTH, text);
    return [isWildcard, isRestricted];
  };
  assert.deepEqual(shown('*'), [true, false]);
  assert.deepEqual(shown('*/1'), [true, false]);
  assert.deepEqual(shown('5,*'), [true, false]);
  assert.deepEqual(shown('*/2'), [true, true]);
  assert.deepEqual(shown('5,*/2'), [true, true]);
  assert.deepEqual(shown('1-31'), [false, true]);
  assert.deepEqual(shown('1/1'), [false, true]);
});

test('a problem names the field and the value', () => {
  const form = 'must be "*", a value or a range such as 1-5, with or without a /step';
  const backwards = 'the range runs backwards; write two ranges, separated by a comma';
  for (const [kind, text, problem] of [
    [MINUTE, '60', 'minute "60": must be 0 to 59'],
    [MINUTE, '0,5,x', 'minute "x": must be 0 to 59'],
    [MINUTE, '5-60', 'minute "5-60": must be 0 to 59'],
    [MINUTE, '60-5', 'minute "60-5": must be 0 to 59'],
    [MINUTE, '*/0', 'minute "*/0": the step must be 1 to 60'],
    [MINUTE, '*/61', 'minute "*/61": the step must be 1 to 60'],
    [MINUTE, '*/x', 'minute "*/x": the step must be 1 to 60'],
    [MINUTE, '1/mon', 'minute "1/mon": the step must be 1 to 60'],
    [MINUTE, '5-0', `minute "5-0": ${backwards}`],
    [MINUTE, '', `minute "": ${form}`],
    [MINUTE, '-5', `minute "-5": ${form}`],
    [MINUTE, '*5', `minute "*5": ${form}`],
    [MINUTE, `1${'-1'.repeat(40)}`, `minute "1${'-1'.repeat(19)}-": ${form}`],
    [HOUR, '24', 'hour "24": must be 0 to 23'],
    [HOUR, '*/25', 'hour "*/25": the step must be 1 to 24'],
    [HOUR, '*/1.5', `hour "*/1.5": ${form}`],
    [HOUR, '5-2', `hour "5-2": ${backwards}`],
    [HOUR, 'jan', 'hour "jan": must be 0 to 23'],
    [DAY_OF_MONTH, '0', 'day-of-month "0": must be 1 to 31'],
    [DAY_OF_MONTH, '32', 'day-of-month "32": must be 1 to 31'],
    [MONTH, '0', 'month "0": must be 1 to 12 or jan to dec'],
    [MONTH, '13', 'month "13": must be 1 to 12 or jan to dec'],
    [MONTH, 'mon', 'month "mon": must be 1 to 12 or jan to dec'],
    [MONTH, 'dec-jan', `month "dec-jan": ${backwards}`],
    [DAY_OF_WEEK, '8', 'day-of-week "8": must be 0 to 7 or sun to sat'],
    [DAY_OF_WEEK, 'monday', 'day-of-week "monday": must be 0 to 7 or sun to sat'],
    [DAY_OF_WEEK, '*/8', 'day-of-week "*/8": the step must be 1 to 7'],
    [DAY_OF_WEEK, '6-3', `day-of-week "6-3": ${backwards}`],
  ] as const) {
    assert.equal(problemOf(kind, text), problem, text);
  }
});
