// An example of every call, as code of the SDK that the compiler checks. The page /docs shows each as this code and as
// the curl command that sends the same request; `npm run docs` writes both to server/src/inbound/docs/docs-examples.ts.

import { acknowledge, calls, type Postrider } from 'postrider-sdk';

export type Example = (postrider: Postrider) => unknown;

/** By method and path. Null when the SDK has nothing for it: the curl command is the path alone. */
export const SDK_EXAMPLES: Readonly<Record<string, Example | null>> = {
  'POST /v2/publish/{destination}': (postrider) =>
    postrider.publish({
      url: 'https://example.com/webhook',
      json: { order: 7 },
      delay: '10s',
      retries: 5,
    }),
  'POST /v2/enqueue/{queue}/{destination}': (postrider) =>
    postrider.queue('orders').enqueue({ url: 'https://example.com/webhook', json: { order: 7 } }),
  'POST /v2/batch': (postrider) =>
    postrider.batch([
      { url: 'https://example.com/a', body: 'one', deduplicationId: 'one' },
      { topic: 'news', queue: 'orders', body: 'two', deduplicationId: 'two', delay: '10s' },
    ]),
  'POST /v2/schedules/{destination}': (postrider) =>
    postrider.schedules.create({
      url: 'https://example.com/report',
      cron: 'CRON_TZ=Europe/Berlin 0 9 * * 1-5',
      scheduleId: 'daily-report',
    }),

  'GET /v2/messages': async (postrider) => {
    for await (const message of postrider.messages.list({ state: 'FAILED', queueName: 'orders' })) {
      console.log(message.messageId, message.url);
    }
  },
  'GET /v2/messages/counts': (postrider) => postrider.messages.counts({ label: 'invoice' }),
  'GET /v2/messages/{messageId}': (postrider) => postrider.messages.get('msg_01M7EZ927YM48C125CV0AFAWDP'),
  'GET /v2/messages/{messageId}/why': (postrider) => postrider.why('msg_01M7EZ927YM48C125CV0AFAWDP'),
  'PATCH /v2/messages/{messageId}': (postrider) =>
    postrider.messages.update('msg_01M7EZ927YM48C125CV0AFAWDP', {
      delay: '10m',
      body: '{"order":8}',
      headers: { 'Service-Retries': '5' },
      ifMatch: '0-0',
    }),
  'POST /v2/messages/{messageId}/retry': (postrider) => postrider.messages.deliverNow('msg_01M7EZ927YM48C125CV0AFAWDP'),
  'POST /v2/messages/{messageId}/release': (postrider) => postrider.messages.release('msg_01M7EZ927YM48C125CV0AFAWDP'),
  'DELETE /v2/messages/{messageId}': (postrider) => postrider.messages.cancel('msg_01M7EZ927YM48C125CV0AFAWDP'),
  'DELETE /v2/messages': (postrider) => postrider.messages.cancelMany({ queueName: 'orders' }),
  'GET /v2/overview': (postrider) => postrider.account.overview(),
  'GET /v2/activity': (postrider) => postrider.account.activity(),

  'GET /v2/queues': async (postrider) => {
    for await (const queue of postrider.queues.list()) console.log(queue.name, queue.lag);
  },
  'GET /v2/queues/{queueName}': (postrider) => postrider.queue('orders').get(),
  'POST /v2/queues': (postrider) => postrider.queue('orders').set({ parallelism: 5 }),
  'POST /v2/queues/{queueName}/pause': (postrider) => postrider.queue('orders').pause(),
  'POST /v2/queues/{queueName}/resume': (postrider) => postrider.queue('orders').resume(),
  'DELETE /v2/queues/{queueName}': (postrider) => postrider.queue('orders').delete({ force: true }),

  'GET /v2/topics': async (postrider) => {
    for await (const topic of postrider.topics.list()) console.log(topic.name, topic.endpoints.length);
  },
  'GET /v2/topics/{name}': (postrider) => postrider.topics.get('news'),
  'POST /v2/topics/{name}/endpoints': (postrider) =>
    postrider.topics.addEndpoints('news', [{ url: 'https://a.example.com/hook', name: 'a' }]),
  'DELETE /v2/topics/{name}/endpoints': (postrider) => postrider.topics.removeEndpoints('news', [{ name: 'a' }]),
  'PATCH /v2/topics/{name}': (postrider) => postrider.topics.change('news', { headers: { 'Service-Retries': '5' } }),
  'DELETE /v2/topics/{name}': (postrider) => postrider.topics.delete('news'),

  'GET /v2/schedules': async (postrider) => {
    for await (const schedule of postrider.schedules.list()) console.log(schedule.scheduleId, schedule.cron);
  },
  'GET /v2/schedules/{scheduleId}': (postrider) => postrider.schedules.get('daily-report'),
  'PATCH /v2/schedules/{scheduleId}': (postrider) =>
    postrider.schedules.change('daily-report', { cron: 'CRON_TZ=Europe/Berlin 0 8 * * 1-5' }),
  'POST /v2/schedules/{scheduleId}/pause': (postrider) => postrider.schedules.pause('daily-report'),
  'PATCH /v2/schedules/{scheduleId}/pause': (postrider) =>
    postrider.send({ method: 'PATCH', path: '/v2/schedules/daily-report/pause' }),
  'POST /v2/schedules/{scheduleId}/resume': (postrider) => postrider.schedules.resume('daily-report'),
  'PATCH /v2/schedules/{scheduleId}/resume': (postrider) =>
    postrider.send({ method: 'PATCH', path: '/v2/schedules/daily-report/resume' }),
  'POST /v2/schedules/{scheduleId}/run': (postrider) => postrider.schedules.run('daily-report'),
  'DELETE /v2/schedules/{scheduleId}': (postrider) => postrider.schedules.delete('daily-report'),
  'GET /v2/cron': (postrider) => postrider.schedules.times('CRON_TZ=Europe/Berlin 0 9 * * 1-5'),

  'GET /v2/alerts': async (postrider) => {
    for await (const alert of postrider.alerts.list()) console.log(alert.alertId, alert.state);
  },
  'GET /v2/alerts/{alertId}': (postrider) => postrider.alerts.get('bills'),
  'POST /v2/alerts': (postrider) =>
    postrider.alerts.create({
      rule: { type: 'failureRate', share: 0.05, window: '10m', host: 'api.example.com' },
      target: { url: 'https://hooks.slack.com/services/T0/B0/X', format: 'slack' },
    }),
  'PUT /v2/alerts/{alertId}': (postrider) =>
    postrider.alerts.save('bills', {
      rule: { type: 'messageFailed', label: 'bill' },
      target: { url: 'https://example.com/alert' },
      remindEvery: '1h',
    }),
  'POST /v2/alerts/{alertId}/test': (postrider) => postrider.alerts.test('bills'),
  'DELETE /v2/alerts/{alertId}': (postrider) => postrider.alerts.delete('bills'),

  'GET /v2/dlq': async (postrider) => {
    for await (const dead of postrider.deadLetters.list({ host: 'example.com' })) console.log(dead.dlqId, dead.error);
  },
  'GET /v2/dlq/groups': (postrider) => postrider.deadLetters.groups(),
  'GET /v2/dlq/{dlqId}': (postrider) => postrider.deadLetters.get('dlq_01M7EZ927YM48C125CV0AFAWDP'),
  'POST /v2/dlq/retry/{dlqId}': (postrider) =>
    postrider.deadLetters.retry('dlq_01M7EZ927YM48C125CV0AFAWDP', { url: 'https://example.com/new' }),
  'POST /v2/dlq/retry': (postrider) => postrider.deadLetters.retryMany({ host: 'example.com' }),
  'DELETE /v2/dlq/{dlqId}': (postrider) => postrider.deadLetters.delete('dlq_01M7EZ927YM48C125CV0AFAWDP'),
  'DELETE /v2/dlq': (postrider) => postrider.deadLetters.deleteMany({ host: 'example.com' }),

  'GET /v2/events': async (postrider) => {
    for await (const event of postrider.events.list({ messageIds: ['msg_01M7EZ927YM48C125CV0AFAWDP'] })) {
      console.log(event.time, event.state);
    }
  },
  'GET /v2/logs': (postrider) => postrider.send({ method: 'GET', path: '/v2/logs?state=FAILED' }),
  'GET /v2/events/stream': async (postrider) => {
    for await (const event of postrider.tail({ state: 'FAILED' })) console.log(event);
  },

  'GET /v2/flowControl': async (postrider) => {
    for await (const key of postrider.flow.list()) console.log(key.flowControlKey, key.waitListSize);
  },
  'GET /v2/flowControl/{key}': (postrider) => postrider.flow.get('shop'),
  'POST /v2/flowControl/{key}/pause': (postrider) => postrider.flow.pause('shop'),
  'POST /v2/flowControl/{key}/resume': (postrider) => postrider.flow.resume('shop'),
  'POST /v2/flowControl/{key}/pin': (postrider) => postrider.flow.pin('shop', { rate: '10', period: '1s' }),
  'POST /v2/flowControl/{key}/unpin': (postrider) => postrider.flow.unpin('shop'),
  'POST /v2/flowControl/{key}/resetRate': (postrider) => postrider.flow.resetRate('shop'),
  'GET /v2/globalParallelism': (postrider) => postrider.flow.parallelism(),

  'GET /v2/hosts': async (postrider) => {
    for await (const host of postrider.hosts.list()) console.log(host.host, host.state, host.waiting);
  },
  'GET /v2/hosts/{host}': (postrider) => postrider.hosts.get('api.example.com'),
  'POST /v2/hosts/{host}/park': (postrider) => postrider.hosts.park('api.example.com'),
  'POST /v2/hosts/{host}/resume': (postrider) => postrider.hosts.resume('api.example.com'),

  'POST /v2/acks/{secret}': () => acknowledge('http://127.0.0.1:8411/v2/acks/SECRET', { ok: true }),

  'POST /v2/bulk': (postrider) => postrider.bulk.start('retry', { host: ['example.com'] }, 100),
  'GET /v2/bulk': async (postrider) => {
    for await (const job of postrider.bulk.list()) console.log(job.jobId, job.done);
  },
  'GET /v2/bulk/{jobId}': (postrider) => postrider.bulk.get('job_01M7EZ927YM48C125CV0AFAWDP'),
  'POST /v2/bulk/{jobId}/stop': (postrider) => postrider.bulk.stop('job_01M7EZ927YM48C125CV0AFAWDP'),

  'GET /v2/account': (postrider) => postrider.account.get(),
  'PATCH /v2/account': (postrider) => postrider.account.setOutage('park'),
  'GET /v2/keys': (postrider) => postrider.account.keys(),
  'POST /v2/keys/rotate': (postrider) => postrider.account.rotateKeys(),
  'GET /v2/usage': (postrider) => postrider.account.usage({ fromDay: '2026-01-01', toDay: '2026-01-31' }),

  'GET /v2/audit': async (postrider) => {
    for await (const entry of postrider.audit.list({ result: 'refused' })) console.log(entry.call, entry.code);
  },

  'GET /v2/admin/audit': async (postrider) => {
    for await (const entry of postrider.audit.listAll({ target: 'orders' })) console.log(entry.time, entry.tokenName);
  },
  'GET /v2/admin/accounts': (postrider) => postrider.send(calls.listAccounts()),
  'POST /v2/admin/accounts': (postrider) => postrider.send(calls.createAccount({ name: 'acme', tier: 'paid' })),
  'PATCH /v2/admin/accounts/{accountId}': (postrider) =>
    postrider.send(calls.setTier('acc_01M7EZ927YM48C125CV0AFAWDP', 'free')),
  'DELETE /v2/admin/accounts/{accountId}': (postrider) =>
    postrider.send(calls.deleteAccount('acc_01M7EZ927YM48C125CV0AFAWDP', 'acme')),
  'GET /v2/admin/tokens': (postrider) => postrider.send(calls.listTokens('acc_01M7EZ927YM48C125CV0AFAWDP')),
  'POST /v2/admin/tokens': (postrider) =>
    postrider.send(
      calls.createToken({ accountId: 'acc_01M7EZ927YM48C125CV0AFAWDP', name: 'web', scopes: ['publish', 'read'] }),
    ),
  'DELETE /v2/admin/accounts/{accountId}/tokens/{tokenId}': (postrider) =>
    postrider.send(calls.revokeToken('acc_01M7EZ927YM48C125CV0AFAWDP', 'tok_01M7EZ927YM48C125CV0AFAWDP')),
  'GET /v2/nodes': (postrider) => postrider.send(calls.listNodes()),

  'GET /v2/dev/clock': (postrider) => postrider.send(calls.clock()),
  'POST /v2/dev/clock': (postrider) => postrider.send(calls.setClock({ advance: '1h' })),
  'GET /v2/dev/requests': (postrider) => postrider.send(calls.sinkRequests()),
  'DELETE /v2/dev/requests': (postrider) => postrider.send(calls.forgetSinkRequests()),

  'GET /': null,
  'GET /healthz': null,
  'GET /readyz': null,
  'GET /metrics': null,
  'GET /openapi.json': null,
  'GET /docs': null,
  'GET /docs/style.css': null,
  'GET /docs/script.js': null,
};
