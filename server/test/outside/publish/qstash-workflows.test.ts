// What the public workflow clients send is refused whole: accepted as plain messages, the steps of a workflow would start
// it again and again. Telemetry of the same clients is ignored.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refusal } from '../../support/harness.ts';
import { startOracle } from '../../support/qstash-client.ts';
import { startReceiver } from '../../support/receiver.ts';
import { waitFor } from '../../support/wait.ts';

const { account } = await startOracle();

const REFUSED = {
  'Upstash-Workflow-Init': 'true',
  'Upstash-Workflow-RunId': 'wfr_1',
  'upstash-workflow-url': 'https://example.com/flow',
  'Upstash-Forward-Upstash-Workflow-Sdk-Version': '1',
  'Upstash-Callback-Workflow-RunId': 'wfr_1',
  'Upstash-Failure-Callback-Forward-Upstash-Workflow-Is-Failure': 'true',
};
const IGNORED = {
  'Upstash-Telemetry-Sdk': 'upstash-workflow-js@1',
  'Upstash-Feature-Set': 'LazyFetch',
  'Upstash-Forward-Workflow-Id': '7',
};

for (const [name, value] of Object.entries(REFUSED)) {
  test(`${name}: a publish, an enqueue, a batch and a schedule with it are refused with 400, and nothing is accepted`, async (t) => {
    const { ask } = await account();
    const receiver = await startReceiver(t);
    const headers = { [name]: value };
    for (const path of ['/v2/publish/', '/v2/enqueue/q/', '/v2/schedules/']) {
      const answer = await ask('POST', path + receiver.url, { headers: { ...headers, 'Upstash-Cron': '* * * * *' } });
      const text = refusal(answer, 400, 'not_supported');
      assert.match(text, /workflows are not supported/);
      assert.ok(text.toLowerCase().startsWith(`${name.toLowerCase()}: `), text);
    }
    const elements = [{ destination: receiver.url }, { destination: receiver.url, headers }];
    const batch = await ask('POST', '/v2/batch', { body: JSON.stringify(elements) });
    assert.match(refusal(batch, 400, 'not_supported'), /workflows are not supported/);
    assert.deepEqual((await ask('GET', '/v2/messages')).json<{ messages: unknown[] }>().messages, []);
    assert.deepEqual((await ask('GET', '/v2/schedules')).json(), []);
  });
}

test('telemetry of clients, and a header of the user that is only called so, are taken', async (t) => {
  const { ask } = await account();
  const receiver = await startReceiver(t);
  for (const [name, value] of Object.entries(IGNORED)) {
    const answer = await ask('POST', `/v2/publish/${receiver.url}`, { headers: { [name]: value } });
    assert.equal(answer.status, 201, name);
  }
  const arrivals = await receiver.received(Object.keys(IGNORED).length);
  assert.ok(arrivals.some((arrival) => arrival.header('workflow-id') === '7'));
});

for (const way of ['as its own', 'as headers to forward', 'in an element of a batch'] as const) {
  test(`a receiver that publishes each delivery again ends when it sends the headers of our deliveries back ${way}`, async (t) => {
    const { ask } = await account();
    const answers: number[] = [];
    const relay = await startReceiver(t, async (arrival) => {
      // As a client does that forwards all headers it was called with.
      const named = arrival.headers.filter(([name]) => /^upstash-(?:hops|descendants-left)$/i.test(name));
      const back = named.map(([name, value]) => [way === 'as its own' ? name : `Upstash-Forward-${name}`, value]);
      const headers = Object.fromEntries(back) as Record<string, string>;
      const again =
        way === 'in an element of a batch'
          ? await ask('POST', '/v2/batch', { body: JSON.stringify([{ destination: relay.url, headers }]) })
          : await ask('POST', `/v2/publish/${relay.url}`, { headers });
      answers.push(again.status);
      return again.status === 201 ? 200 : 489;
    });
    assert.equal((await ask('POST', `/v2/publish/${relay.url}`)).status, 201);
    await waitFor('a publish to be refused, or too many', () => answers.includes(400) || answers.length > 20);
    assert.deepEqual(answers, [201, 201, 201, 201, 201, 400]);
  });
}
