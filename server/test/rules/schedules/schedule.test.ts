import assert from 'node:assert/strict';
import { test } from 'node:test';
import { settingsByName } from '../../../src/rules/schedules/schedule.ts';

test('the settings of a schedule are shown by their names, however they were written', () => {
  assert.deepEqual(
    settingsByName(
      [
        ['service-delay', '90s'],
        ['SERVICE-CALLBACK', 'https://a.example/'],
        ['Service-Callback-Retries', '2'],
        ['Service-Failure-Callback-Method', 'PUT'],
        ['Service-Callback-Method', 'PUT'],
        ['Service-Label', 'red'],
      ],
      'Service-',
    ),
    {
      Delay: '90s',
      Callback: 'https://a.example/',
      'Callback-Retries': '2',
      'Failure-Callback-Method': 'PUT',
      'Callback-Method': 'PUT',
      Label: 'red',
    },
  );
});

test('what other fields show, what belongs to the schedule, forwarded and unknown headers are left out', () => {
  const headers = [
    ['Service-Method', 'PUT'],
    ['Service-Header-Forward', 'true'],
    ['Service-Cron', '* * * * *'],
    ['Service-Schedule-Id', 'one'],
    ['Service-Queue-Name', 'orders'],
    ['Service-Callback-Cron', '* * * * *'],
    ['Service-Callback-Label', 'red'],
    ['Service-Forward-', 'a'],
    ['Service-Forward-X-A', 'a'],
    ['Service-Unknown', 'a'],
    ['Service-Delay', ''],
    ['Content-Type', 'text/plain'],
    ['Other---Delay', '90s'],
    ['Delay', '90s'],
  ] as const;
  assert.deepEqual(settingsByName(headers, 'Service-'), {});
});
