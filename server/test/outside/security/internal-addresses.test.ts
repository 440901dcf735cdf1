// What an account can read about its messages never contains an address that one of its names resolves to: such an
// answer would turn the service into a way to read the names of the operator's network.

import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';
import { sharedRider } from '../../support/harness.ts';
import { startReceiver } from '../../support/receiver.ts';

const NAMES: ReadonlyMap<string, readonly string[]> = new Map([
  ['private.test', ['10.11.12.13']],
  ['mixed.test', ['127.0.0.7', '10.11.12.13']],
  ['six.test', ['fd00::abcd']],
  ['closed.test', ['127.0.0.7']],
  ['closed-twice.test', ['127.0.0.7', '127.0.0.8']],
]);
const INTERNAL = /10\.11\.12|127\.0\.0\.[78]|abcd|private address|unique local|loopback/i;

const shared = sharedRider({
  command: 'serve',
  flags: ['--allow-cidr', '127.0.0.0/8'],
  network: {
    connect,
    lookup: async (name) => NAMES.get(name) ?? Promise.reject(Object.assign(new Error('none'), { code: 'ENOTFOUND' })),
  },
});

for (const name of NAMES.keys()) {
  test(`the addresses of ${name} are in no text that its account can read`, async (t) => {
    const rider = shared();
    const reports = await startReceiver(t);
    const { token } = await rider.account(`reads-${name.split('.')[0]}`);
    const id = await rider.published(`http://${name}:9/`, {
      token,
      headers: {
        'Service-Retries': '0',
        'Service-Callback': `${reports.url}/callback`,
        'Service-Failure-Callback': `${reports.url}/failure`,
      },
    });
    const { failure } = await rider.ended(id, token);
    assert.ok(failure?.includes(name), `${failure}`);
    const texts = (await reports.received(2)).map(({ body }) => body.toString());
    const queries = ['/v2/dlq', '/v2/dlq/groups', '/v2/events', '/v2/overview', '/v2/messages?state=FAILED'];
    for (const path of [`/v2/messages/${id}`, `/v2/messages/${id}/why`, ...queries]) {
      const { status, text } = await rider.call('GET', path, { token });
      assert.equal(status, 200, text);
      texts.push(text);
    }
    assert.ok(texts.filter((text) => text.includes(name)).length >= 6);
    for (const text of texts) assert.doesNotMatch(text, INTERNAL);
  });
}
