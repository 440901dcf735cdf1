// No input ends the process, and no fault of ours does that a request can meet: the caller gets one answer, the log has
// the trace, and everybody else is served as before.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startChild } from './child.ts';

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
