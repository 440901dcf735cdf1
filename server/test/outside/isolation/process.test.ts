// No input ends the process, and no fault of ours does that a request can meet: the caller gets one answer, the log has
// the trace, and everybody else is served as before.

import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { SOURCE_BIN } from '../../support/process.ts';
import { waitFor } from '../../support/wait.ts';
import { type Child, startChild } from './child.ts';

/** What every object literal has without anybody having written it. */
const INHERITED = ['constructor', 'toString', 'valueOf', 'hasOwnProperty', '__proto__', '__defineGetter__'];

test('an inherited property as the value or the name of a parameter is refused, and the process goes on', async (t) => {
  const child = await startChild(t);
  const other = await child.account('other');
  for (const name of INHERITED) {
    for (const path of ['/v2/messages', '/v2/dlq', '/v2/events', '/v2/logs']) {
      const answer = await child.call('GET', `${path}?order=${name}`);
      assert.equal(answer.status, 400, `${path}?order=${name}: ${answer.text}`);
      assert.equal(answer.json<{ code: string }>().code, 'bad_parameter');
      assert.equal((await child.call('GET', `${path}?${name}=1`)).status, 400, `${path}?${name}=1`);
      assert.equal((await child.call('GET', `${path}?state=${name}`)).status, 400, `${path}?state=${name}`);
    }
    for (const path of [`/v2/messages/${name}`, `/v2/topics/${name}`, `/v2/queues/${name}`, `/v2/bulk/${name}`]) {
      assert.equal((await child.call('GET', path)).status, 404, path);
    }
    const bulk = { action: name, filter: { [name]: 'x' } };
    const answer = await child.call('POST', '/v2/bulk', child.token, { body: JSON.stringify(bulk) });
    assert.equal(answer.status, 400, answer.text);
  }
  await child.delivers(other);
  assert.ok(child.isRunning);
});

const PLANTED = new URL('./planted-faults.ts', import.meta.url).href;

/** Lines of the log that tell of this fault. */
function logged(child: Child, fault: string): { err: { message: string; stack: string }; fault: string }[] {
  const lines = child.process.stderr.split('\n').filter((line) => line.startsWith('{') && line.includes(fault));
  return lines.map((line) => JSON.parse(line));
}

suite('a fault that nothing expects', () => {
  const ends: (() => void | Promise<void>)[] = [];
  let child: Child;
  let other: string;

  before(async () => {
    const env = { NODE_OPTIONS: `--import ${PLANTED}` };
    child = await startChild({ after: (end) => ends.unshift(end) }, [], env, SOURCE_BIN);
    other = await child.account('other');
  });
  after(async () => {
    for (const end of ends) await end();
  });

  const plant = (fault: string) => ({ headers: { 'X-Planted-Fault': fault } });

  for (const fault of [
    'in a timer',
    'in a promise nobody awaits',
    'not an error',
    'in an event nobody listens to',
    'of the answer',
  ]) {
    test(`${fault} is logged with its trace, and the request is answered all the same`, async () => {
      const answer = await child.call('GET', '/v2/messages', child.token, plant(fault));
      assert.equal(answer.status, 200, answer.text);
      const [line] = await waitFor(`the log of the fault ${fault}`, () => {
        const lines = logged(child, `planted: ${fault}`);
        return lines.length > 0 && lines;
      });
      assert.match(line!.err.stack, /planted[\s\S]*\n\s+at /);
      assert.match(line!.fault, /^err_/);
      await child.delivers(other);
      assert.ok(child.isRunning);
    });
  }

  for (const [method, path] of [
    ['GET', '/v2/messages'],
    ['POST', '/v2/publish/http://127.0.0.1:1/'],
    ['GET', '/console/'],
  ] as const) {
    test(`before the headers of ${method} ${path} is answered with one 500 that names the line of the log`, async () => {
      const known = logged(child, 'planted: before the headers').length;
      const answer = await child.call(method, path, child.token, plant('before the headers'));
      assert.equal(answer.status, 500, answer.text);
      const { code, error } = answer.json<{ code: string; error: string }>();
      assert.equal(code, 'internal');
      const lines = await waitFor('the log of the fault', () => {
        const all = logged(child, 'planted: before the headers');
        return all.length > known && all;
      });
      assert.equal(lines.length, known + 1);
      assert.ok(error.includes(lines.at(-1)!.fault), error);
      await child.delivers(other);
    });

    test(`after the headers of ${method} ${path} ends the connection, and is logged`, async () => {
      const known = logged(child, 'planted: after the headers').length;
      const answer = await child.call(method, path, child.token, plant('after the headers')).catch(() => null);
      assert.equal(answer, null);
      await waitFor('the log of the fault', () => logged(child, 'planted: after the headers').length > known);
      await child.delivers(other);
      assert.ok(child.isRunning);
    });
  }
});
