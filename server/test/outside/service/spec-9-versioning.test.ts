// Section 9 of the spec: the version is part of the path.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refusal, startRider } from '../../support/harness.ts';

const DESTINATION = 'http://127.0.0.1:1/';

test('9 versioning: both endpoints live under /v2', async (t) => {
  const rider = await startRider(t);
  assert.equal((await rider.call('POST', `/v2/enqueue/q/${DESTINATION}`)).status, 201);
  const body = JSON.stringify([{ destination: DESTINATION }]);
  assert.equal((await rider.call('POST', '/v2/batch', { body })).status, 201);
});

test('9 versioning: without the prefix, or with another version, there is nothing', async (t) => {
  const rider = await startRider(t);
  for (const prefix of ['', '/v1', '/v3', '/v20', '/v2.0', '/V2', '/api/v2', '/v2/v2']) {
    refusal(await rider.call('POST', `${prefix}/enqueue/q/${DESTINATION}`), 404, 'not_found');
    refusal(await rider.call('POST', `${prefix}/batch`, { body: '[]' }), 404, 'not_found');
  }
  assert.deepEqual((await rider.manage<{ usage: unknown[] }>('GET', '/v2/usage')).usage, []);
});
