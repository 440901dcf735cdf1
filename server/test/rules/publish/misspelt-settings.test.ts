// Which headers look like misspelt settings, and what is said of them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { foreignSetting } from '../../../src/rules/publish/foreign-settings.ts';
import {
  misspeltProblem,
  misspeltSettings,
  misspeltWarning,
  unknownFieldProblem,
  unknownFields,
  unknownFieldWarning,
} from '../../../src/rules/publish/misspelt-settings.ts';
import { SETTING_NAMES } from '../../../src/rules/publish/setting-table.ts';

const meantBy = (name: string) => misspeltSettings([name], 'Service-')[0]?.meant;

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

test('a family without the rest of the name is taken for no setting', () => {
  for (const name of ['Forward', 'Foward', 'Callback-Foward']) assert.equal(meantBy(name), undefined, name);
  assert.equal(meantBy('Foward-X'), 'Forward-x');
});

test('nothing is refused without a name that looks like a setting, and a misspelt one is told with the right one', () => {
  assert.equal(misspeltProblem([], 'Service-'), null);
  assert.equal(misspeltProblem(['Trace'], 'Service-'), null);
  assert.deepEqual(misspeltProblem(['Retires'], 'Service-')!.problem, {
    code: 'bad_header',
    message: 'Service-Retires: is not known; did you mean Service-Retries?',
  });
});

test('other names, and headers of a delivery, are not taken for misspelt settings', () => {
  for (const name of ['X', 'Telemetry-Sdk', 'Trace', 'Retried', 'Message-Id', 'Caller-Ip', 'Signature', 'Topic-Name']) {
    assert.equal(meantBy(name), undefined, name);
  }
});

test('a name that is thousands of letters long is not looked at, and of many only a few are', () => {
  assert.equal(meantBy('Retires'.repeat(1000)), undefined);
  assert.equal(meantBy(`foward-${'x'.repeat(57)}`), `Forward-${'x'.repeat(57)}`);
  assert.equal(meantBy(`foward-${'x'.repeat(58)}`), undefined);
  assert.ok(
    misspeltSettings(
      Array.from({ length: 1000 }, () => 'Retires'),
      'Service-',
    ).length < 10,
  );
});

test('a setting behind the prefix of another service is found, in any case; other names behind it are not', () => {
  const foreign = (name: string, prefix: string) => misspeltSettings([name], prefix).map((each) => each.meant);
  assert.deepEqual(foreign('upstash-DELAY', 'Service-'), ['Delay']);
  assert.deepEqual(foreign('Service-Callback-Retries', 'Upstash-'), ['Callback-Retries']);
  assert.deepEqual(foreign('Service-Forward-X-Tenant', 'Acme-'), ['Forward-X-Tenant']);
  for (const name of ['Upstash-Message-Id', 'Upstash-Retried', 'Upstash-Schedule-Id', 'Upstash-Signature', 'X-Delay']) {
    assert.deepEqual(foreign(name, 'Service-'), [], name);
  }
  for (const prefix of ['service-', 'Service-', 'SERVICE-']) {
    assert.equal(foreignSetting('Service-Delay', prefix), null, 'it is our own');
  }
  assert.equal(foreignSetting('Upstash-Delayed', 'Service-'), null);
  assert.equal(foreignSetting('Upstash-Forward-', 'Service-'), null);
  assert.equal(foreignSetting('Upstash-Forward-X', 'Service-'), 'Forward-X');
  const [found] = misspeltSettings(['Upstash-Delay'], 'Service-');
  assert.equal(
    misspeltWarning(found!, 'Service-'),
    'Upstash-Delay was ignored, because settings of this service start with Service-; did you mean Service-Delay?',
  );
  assert.equal(
    misspeltProblem(['Upstash-Delay'], 'Service-')!.problem.message,
    'Upstash-Delay: settings of this service start with Service-; did you mean Service-Delay?',
  );
});

test('no setting is taken for another one', () => {
  const isOfCallback = (name: string) => /^(?:Failure-)?Callback-/.test(name);
  for (const name of SETTING_NAMES.filter((each) => !each.endsWith('-') && !isOfCallback(each))) {
    assert.equal(meantBy(name), name);
  }
});

test('a setting of a callback without its callback is told with the callback that is missing', () => {
  for (const [name, callback] of [
    ['Callback-Retries', 'Callback'],
    ['failure-callback-delay', 'Failure-Callback'],
    ['Failure-Callback-Forward-X-Tenant', 'Failure-Callback'],
  ] as const) {
    const [found] = misspeltSettings([name], 'Service-');
    assert.equal(
      misspeltWarning(found!, 'Service-'),
      `Service-${name} was ignored: it has no effect without Service-${callback}`,
    );
    const { problem } = misspeltProblem([name], 'Service-')!;
    assert.deepEqual(problem, {
      code: 'bad_header',
      message: `Service-${name}: has no effect without Service-${callback}`,
    });
  }
});

test('the warning fits into a header for every name', () => {
  const said = misspeltWarning({ name: 'Retri\r\nés', meant: 'Retries' }, 'Service-');
  assert.equal(said, 'Service-Retri???s is not known and was ignored; did you mean Service-Retries?');
  assert.match(misspeltProblem(['Retri\r\ns'], 'Service-')!.problem.message, /^[\x20-\x7e]+$/);
});

test('a field that no element of a batch has is found; of many, only a few', () => {
  assert.deepEqual(unknownFields({ destination: '', queue: '', headers: {}, body: '', bodyBase64: '' }), []);
  assert.deepEqual(unknownFields({ destination: '', Body: '', delay: '' }), ['Body', 'delay']);
  assert.deepEqual(unknownFields(JSON.parse('{"__proto__": 1, "constructor": 2}')), ['__proto__', 'constructor']);
  const many = Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`${i}${'x'.repeat(1000)}`, i]));
  assert.ok(unknownFields(many).length < 10);
  for (const name of unknownFields(many)) assert.ok(name.length < 100);
});

test('what was meant by a field: another field, or a setting, which is a header', () => {
  const saidOf = (name: string) => unknownFieldWarning(name, 'Service-');
  const ignored = (name: string) => `the field "${name}" of an element is not known and was ignored`;
  assert.equal(saidOf('Body'), `${ignored('Body')}; did you mean "body"?`);
  assert.equal(saidOf('header'), `${ignored('header')}; did you mean "headers"?`);
  assert.equal(saidOf('bodybase64'), `${ignored('bodybase64')}; did you mean "bodyBase64"?`);
  assert.equal(saidOf('delay'), `${ignored('delay')}; did you mean the header Service-Delay?`);
  assert.equal(saidOf('retryDelay'), `${ignored('retryDelay')}; did you mean the header Service-Retry-Delay?`);
  assert.equal(saidOf('not_before'), `${ignored('not_before')}; did you mean the header Service-Not-Before?`);
  assert.equal(saidOf('BODY'), `${ignored('BODY')}; did you mean "body"?`);
  assert.equal(saidOf('bodyBse4'), `${ignored('bodyBse4')}; did you mean "bodyBase64"?`);
  assert.equal(saidOf('DELAY'), `${ignored('DELAY')}; did you mean the header Service-Delay?`);
  assert.equal(saidOf('payload'), ignored('payload'));
  assert.match(saidOf('é\r\n"'), /^[\x20-\x7e]+$/);
  const { code, message } = unknownFieldProblem('Body', 'Service-').problem;
  assert.deepEqual([code, message], ['bad_body', 'the field "Body" of an element is not known; did you mean "body"?']);
});
