// Which headers look like misspelt settings, and what is said of them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { misspeltProblem, misspeltSettings, misspeltWarning } from '../../src/domain/misspelt-settings.ts';
import { SETTING_NAMES } from '../../src/domain/setting-table.ts';

const meantBy = (name: string) => misspeltSettings([name])[0]?.meant;

test('a name one or two letters away from a setting is taken for it, in any case', () => {
  assert.equal(meantBy('Retires'), 'Retries');
  assert.equal(meantBy('dealy'), 'Delay');
  assert.equal(meantBy('TIMEOUTS'), 'Timeout');
  assert.equal(meantBy('Faliure-Callback'), 'Failure-Callback');
  assert.equal(meantBy('Callback-Retires'), 'Callback-Retries');
  assert.equal(meantBy('Deduplication_Id'), 'Deduplication-Id');
});

test('a misspelt family keeps the rest of the name', () => {
  assert.equal(meantBy('Foward-X-Tenant'), 'Forward-x-tenant');
  assert.equal(meantBy('Callback-Foward-X-Tenant'), 'Callback-Forward-x-tenant');
});

test('other names, and headers of a delivery, are not taken for misspelt settings', () => {
  for (const name of ['X', 'Telemetry-Sdk', 'Trace', 'Retried', 'Message-Id', 'Caller-Ip', 'Signature', 'Topic-Name']) {
    assert.equal(meantBy(name), undefined, name);
  }
});

test('a name that is thousands of letters long is not looked at, and of many only a few are', () => {
  assert.equal(meantBy('Retires'.repeat(1000)), undefined);
  assert.ok(misspeltSettings(Array.from({ length: 1000 }, () => 'Retires')).length < 10);
});

test('no setting is taken for another one', () => {
  for (const name of SETTING_NAMES.filter((each) => !each.endsWith('-'))) assert.equal(meantBy(name), name);
});

test('the warning fits into a header for every name', () => {
  const said = misspeltWarning({ name: 'Retri\r\nés', meant: 'Retries' }, 'Service-');
  assert.equal(said, 'Service-Retri???s is not known and was ignored; did you mean Service-Retries?');
  assert.match(misspeltProblem(['Retri\r\ns'], 'Service-')!.problem.message, /^[\x20-\x7e]+$/);
});
