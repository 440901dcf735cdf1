// Made from server/scripts/sdk-examples.ts by "npm run docs". Change that file, not this one.

/** By method and path. Null: the SDK has no method for it. */
export const DOCS_EXAMPLES: ReadonlyMap<string, { readonly curl: string; readonly sdk: string | null }> = new Map([
  [
    'POST /v2/publish/{destination}',
    {
      curl: "curl -X POST http://127.0.0.1:8411/v2/publish/https://example.com/webhook \\\n  -H \"Authorization: Bearer $TOKEN\" \\\n  -H 'Content-Type: application/json' \\\n  -H 'Service-Delay: 10s' \\\n  -H 'Service-Retries: 5' \\\n  --data-raw '{\"order\":7}'",
      sdk: "await postrider.publish({\n  url: 'https://example.com/webhook',\n  json: { order: 7 },\n  delay: '10s',\n  retries: 5,\n});",
    },
  ],
  [
    'POST /v2/enqueue/{queue}/{destination}',
    {
      curl: 'curl -X POST http://127.0.0.1:8411/v2/enqueue/orders/https://example.com/webhook \\\n  -H "Authorization: Bearer $TOKEN" \\\n  -H \'Content-Type: application/json\' \\\n  --data-raw \'{"order":7}\'',
      sdk: "await postrider.queue('orders').enqueue({ url: 'https://example.com/webhook', json: { order: 7 } });",
    },
  ],
  [
    'POST /v2/batch',
    {
      curl: 'curl -X POST http://127.0.0.1:8411/v2/batch \\\n  -H "Authorization: Bearer $TOKEN" \\\n  -H \'Content-Type: application/json\' \\\n  --data-raw \'[{"destination":"https://example.com/a","headers":{"Service-Deduplication-Id":"one"},"body":"one"},{"destination":"news","queue":"orders","headers":{"Service-Deduplication-Id":"two","Service-Delay":"10s"},"body":"two"}]\'',
      sdk: "await postrider.batch([\n  { url: 'https://example.com/a', body: 'one', deduplicationId: 'one' },\n  { topic: 'news', queue: 'orders', body: 'two', deduplicationId: 'two', delay: '10s' },\n]);",
    },
  ],
  [
    'POST /v2/schedules/{destination}',
    {
      curl: "curl -X POST http://127.0.0.1:8411/v2/schedules/https://example.com/report \\\n  -H \"Authorization: Bearer $TOKEN\" \\\n  -H 'Service-Cron: CRON_TZ=Europe/Berlin 0 9 * * 1-5' \\\n  -H 'Service-Schedule-Id: daily-report'",
      sdk: "await postrider.schedules.create({\n  url: 'https://example.com/report',\n  cron: 'CRON_TZ=Europe/Berlin 0 9 * * 1-5',\n  scheduleId: 'daily-report',\n});",
    },
  ],
  [
    'GET /v2/messages',
    {
      curl: 'curl \'http://127.0.0.1:8411/v2/messages?state=FAILED&queueName=orders\' \\\n  -H "Authorization: Bearer $TOKEN"',
      sdk: "for await (const message of postrider.messages.list({ state: 'FAILED', queueName: 'orders' })) {\n  console.log(message.messageId, message.url);\n}",
    },
  ],
  [
    'GET /v2/messages/counts',
    {
      curl: 'curl \'http://127.0.0.1:8411/v2/messages/counts?label=invoice\' \\\n  -H "Authorization: Bearer $TOKEN"',
      sdk: "await postrider.messages.counts({ label: 'invoice' });",
    },
  ],
  [
    'GET /v2/messages/{messageId}',
    {
      curl: 'curl http://127.0.0.1:8411/v2/messages/msg_01M7EZ927YM48C125CV0AFAWDP \\\n  -H "Authorization: Bearer $TOKEN"',
      sdk: "await postrider.messages.get('msg_01M7EZ927YM48C125CV0AFAWDP');",
    },
  ],
  [
    'GET /v2/messages/{messageId}/why',
    {
      curl: 'curl http://127.0.0.1:8411/v2/messages/msg_01M7EZ927YM48C125CV0AFAWDP/why \\\n  -H "Authorization: Bearer $TOKEN"',
      sdk: "await postrider.why('msg_01M7EZ927YM48C125CV0AFAWDP');",
    },
  ],
  [
    'PATCH /v2/messages/{messageId}',
    {
      curl: 'curl -X PATCH http://127.0.0.1:8411/v2/messages/msg_01M7EZ927YM48C125CV0AFAWDP \\\n  -H "Authorization: Bearer $TOKEN" \\\n  -H \'Content-Type: application/json\' \\\n  -H \'If-Match: "0-0"\' \\\n  --data-raw \'{"delay":"10m","body":"{\\"order\\":8}","headers":{"Service-Retries":"5"}}\'',
      sdk: "await postrider.messages.update('msg_01M7EZ927YM48C125CV0AFAWDP', {\n  delay: '10m',\n  body: '{\"order\":8}',\n  headers: { 'Service-Retries': '5' },\n  ifMatch: '0-0',\n});",
    },
  ],
  [
    'POST /v2/messages/{messageId}/retry',
    {
      curl: 'curl -X POST http://127.0.0.1:8411/v2/messages/msg_01M7EZ927YM48C125CV0AFAWDP/retry \\\n  -H "Authorization: Bearer $TOKEN"',
      sdk: "await postrider.messages.deliverNow('msg_01M7EZ927YM48C125CV0AFAWDP');",
    },
  ],
  [
    'POST /v2/messages/{messageId}/release',
    {
      curl: 'curl -X POST http://127.0.0.1:8411/v2/messages/msg_01M7EZ927YM48C125CV0AFAWDP/release \\\n  -H "Authorization: Bearer $TOKEN"',
      sdk: "await postrider.messages.release('msg_01M7EZ927YM48C125CV0AFAWDP');",
    },
  ],
  [
    'DELETE /v2/messages/{messageId}',
    {
      curl: 'curl -X DELETE http://127.0.0.1:8411/v2/messages/msg_01M7EZ927YM48C125CV0AFAWDP \\\n  -H "Authorization: Bearer $TOKEN"',
      sdk: "await postrider.messages.cancel('msg_01M7EZ927YM48C125CV0AFAWDP');",
    },
  ],
  [
    'DELETE /v2/messages',
    {
      curl: 'curl -X DELETE http://127.0.0.1:8411/v2/messages \\\n  -H "Authorization: Bearer $TOKEN" \\\n  -H \'Content-Type: application/json\' \\\n  --data-raw \'{"queueName":"orders"}\'',
      sdk: "await postrider.messages.cancelMany({ queueName: 'orders' });",
    },
  ],
  [
    'GET /v2/overview',
    {
      curl: 'curl http://127.0.0.1:8411/v2/overview \\\n  -H "Authorization: Bearer $TOKEN"',
      sdk: 'await postrider.account.overview();',
    },
  ],
  [
    'GET /v2/activity',
    {
      curl: 'curl http://127.0.0.1:8411/v2/activity \\\n  -H "Authorization: Bearer $TOKEN"',
      sdk: 'await postrider.account.activity();',
    },
  ],
  [
    'GET /v2/queues',
    {
      curl: 'curl http://127.0.0.1:8411/v2/queues \\\n  -H "Authorization: Bearer $TOKEN"',
      sdk: 'for await (const queue of postrider.queues.list()) console.log(queue.name, queue.lag);',
    },
  ],
  [
    'GET /v2/queues/{queueName}',
    {
      curl: 'curl http://127.0.0.1:8411/v2/queues/orders \\\n  -H "Authorization: Bearer $TOKEN"',
      sdk: "await postrider.queue('orders').get();",
    },
  ],
  [
    'POST /v2/queues',
    {
      curl: 'curl -X POST http://127.0.0.1:8411/v2/queues \\\n  -H "Authorization: Bearer $TOKEN" \\\n  -H \'Content-Type: application/json\' \\\n  --data-raw \'{"queueName":"orders","parallelism":5}\'',
      sdk: "await postrider.queue('orders').set({ parallelism: 5 });",
    },
  ],
  [
    'POST /v2/queues/{queueName}/pause',
    {
      curl: 'curl -X POST http://127.0.0.1:8411/v2/queues/orders/pause \\\n  -H "Authorization: Bearer $TOKEN"',
      sdk: "await postrider.queue('orders').pause();",
    },
  ],
  [
    'POST /v2/queues/{queueName}/resume',
    {
      curl: 'curl -X POST http://127.0.0.1:8411/v2/queues/orders/resume \\\n  -H "Authorization: Bearer $TOKEN"',
      sdk: "await postrider.queue('orders').resume();",
    },
  ],
  [
    'DELETE /v2/queues/{queueName}',
    {
      curl: 'curl -X DELETE \'http://127.0.0.1:8411/v2/queues/orders?force=true\' \\\n  -H "Authorization: Bearer $TOKEN"',
      sdk: "await postrider.queue('orders').delete({ force: true });",
    },
  ],
  [
    'GET /v2/topics',
    {
      curl: 'curl http://127.0.0.1:8411/v2/topics \\\n  -H "Authorization: Bearer $TOKEN"',
      sdk: 'for await (const topic of postrider.topics.list()) console.log(topic.name, topic.endpoints.length);',
    },
  ],
  [
    'GET /v2/topics/{name}',
    {
      curl: 'curl http://127.0.0.1:8411/v2/topics/news \\\n  -H "Authorization: Bearer $TOKEN"',
      sdk: "await postrider.topics.get('news');",
    },
  ],
  [
    'POST /v2/topics/{name}/endpoints',
    {
      curl: 'curl -X POST http://127.0.0.1:8411/v2/topics/news/endpoints \\\n  -H "Authorization: Bearer $TOKEN" \\\n  -H \'Content-Type: application/json\' \\\n  --data-raw \'{"endpoints":[{"url":"https://a.example.com/hook","name":"a"}]}\'',
      sdk: "await postrider.topics.addEndpoints('news', [{ url: 'https://a.example.com/hook', name: 'a' }]);",
    },
  ],
  [
    'DELETE /v2/topics/{name}/endpoints',
    {
      curl: 'curl -X DELETE http://127.0.0.1:8411/v2/topics/news/endpoints \\\n  -H "Authorization: Bearer $TOKEN" \\\n  -H \'Content-Type: application/json\' \\\n  --data-raw \'{"endpoints":[{"name":"a"}]}\'',
      sdk: "await postrider.topics.removeEndpoints('news', [{ name: 'a' }]);",
    },
  ],
  [
    'PATCH /v2/topics/{name}',
    {
      curl: 'curl -X PATCH http://127.0.0.1:8411/v2/topics/news \\\n  -H "Authorization: Bearer $TOKEN" \\\n  -H \'Content-Type: application/json\' \\\n  --data-raw \'{"headers":{"Service-Retries":"5"}}\'',
      sdk: "await postrider.topics.change('news', { headers: { 'Service-Retries': '5' } });",
    },
  ],
  [
    'DELETE /v2/topics/{name}',
    {
      curl: 'curl -X DELETE http://127.0.0.1:8411/v2/topics/news \\\n  -H "Authorization: Bearer $TOKEN"',
      sdk: "await postrider.topics.delete('news');",
    },
  ],
  [
    'GET /v2/schedules',
    {
      curl: 'curl http://127.0.0.1:8411/v2/schedules \\\n  -H "Authorization: Bearer $TOKEN"',
      sdk: 'for await (const schedule of postrider.schedules.list()) console.log(schedule.scheduleId, schedule.cron);',
    },
  ],
  [
    'GET /v2/schedules/{scheduleId}',
    {
      curl: 'curl http://127.0.0.1:8411/v2/schedules/daily-report \\\n  -H "Authorization: Bearer $TOKEN"',
      sdk: "await postrider.schedules.get('daily-report');",
    },
  ],
  [
    'PATCH /v2/schedules/{scheduleId}',
    {
      curl: 'curl -X PATCH http://127.0.0.1:8411/v2/schedules/daily-report \\\n  -H "Authorization: Bearer $TOKEN" \\\n  -H \'Content-Type: application/json\' \\\n  --data-raw \'{"cron":"CRON_TZ=Europe/Berlin 0 8 * * 1-5"}\'',
      sdk: "await postrider.schedules.change('daily-report', { cron: 'CRON_TZ=Europe/Berlin 0 8 * * 1-5' });",
    },
  ],
  [
    'POST /v2/schedules/{scheduleId}/pause',
    {
      curl: 'curl -X POST http://127.0.0.1:8411/v2/schedules/daily-report/pause \\\n  -H "Authorization: Bearer $TOKEN"',
      sdk: "await postrider.schedules.pause('daily-report');",
    },
  ],
  [
    'PATCH /v2/schedules/{scheduleId}/pause',
    {
      curl: 'curl -X PATCH http://127.0.0.1:8411/v2/schedules/daily-report/pause \\\n  -H "Authorization: Bearer $TOKEN"',
      sdk: "await postrider.send({ method: 'PATCH', path: '/v2/schedules/daily-report/pause' });",
    },
  ],
  [
    'POST /v2/schedules/{scheduleId}/resume',
    {
      curl: 'curl -X POST http://127.0.0.1:8411/v2/schedules/daily-report/resume \\\n  -H "Authorization: Bearer $TOKEN"',
      sdk: "await postrider.schedules.resume('daily-report');",
    },
  ],
  [
    'PATCH /v2/schedules/{scheduleId}/resume',
    {
      curl: 'curl -X PATCH http://127.0.0.1:8411/v2/schedules/daily-report/resume \\\n  -H "Authorization: Bearer $TOKEN"',
      sdk: "await postrider.send({ method: 'PATCH', path: '/v2/schedules/daily-report/resume' });",
    },
  ],
  [
    'POST /v2/schedules/{scheduleId}/run',
    {
      curl: 'curl -X POST http://127.0.0.1:8411/v2/schedules/daily-report/run \\\n  -H "Authorization: Bearer $TOKEN"',
      sdk: "await postrider.schedules.run('daily-report');",
    },
  ],
  [
    'DELETE /v2/schedules/{scheduleId}',
    {
      curl: 'curl -X DELETE http://127.0.0.1:8411/v2/schedules/daily-report \\\n  -H "Authorization: Bearer $TOKEN"',
      sdk: "await postrider.schedules.delete('daily-report');",
    },
  ],
  [
    'GET /v2/cron',
    {
      curl: 'curl \'http://127.0.0.1:8411/v2/cron?cron=CRON_TZ%3DEurope%2FBerlin+0+9+*+*+1-5\' \\\n  -H "Authorization: Bearer $TOKEN"',
      sdk: "await postrider.schedules.times('CRON_TZ=Europe/Berlin 0 9 * * 1-5');",
    },
  ],
  [
    'GET /v2/alerts',
    {
      curl: 'curl http://127.0.0.1:8411/v2/alerts \\\n  -H "Authorization: Bearer $TOKEN"',
      sdk: 'for await (const alert of postrider.alerts.list()) console.log(alert.alertId, alert.state);',
    },
  ],
  [
    'GET /v2/alerts/{alertId}',
    {
      curl: 'curl http://127.0.0.1:8411/v2/alerts/bills \\\n  -H "Authorization: Bearer $TOKEN"',
      sdk: "await postrider.alerts.get('bills');",
    },
  ],
  [
    'POST /v2/alerts',
    {
      curl: 'curl -X POST http://127.0.0.1:8411/v2/alerts \\\n  -H "Authorization: Bearer $TOKEN" \\\n  -H \'Content-Type: application/json\' \\\n  --data-raw \'{"rule":{"type":"failureRate","share":0.05,"window":"10m","host":"api.example.com"},"target":{"url":"https://hooks.slack.com/services/T0/B0/X","format":"slack"}}\'',
      sdk: "await postrider.alerts.create({\n  rule: { type: 'failureRate', share: 0.05, window: '10m', host: 'api.example.com' },\n  target: { url: 'https://hooks.slack.com/services/T0/B0/X', format: 'slack' },\n});",
    },
  ],
  [
    'PUT /v2/alerts/{alertId}',
    {
      curl: 'curl -X PUT http://127.0.0.1:8411/v2/alerts/bills \\\n  -H "Authorization: Bearer $TOKEN" \\\n  -H \'Content-Type: application/json\' \\\n  --data-raw \'{"rule":{"type":"messageFailed","label":"bill"},"target":{"url":"https://example.com/alert"},"remindEvery":"1h"}\'',
      sdk: "await postrider.alerts.save('bills', {\n  rule: { type: 'messageFailed', label: 'bill' },\n  target: { url: 'https://example.com/alert' },\n  remindEvery: '1h',\n});",
    },
  ],
  [
    'POST /v2/alerts/{alertId}/test',
    {
      curl: 'curl -X POST http://127.0.0.1:8411/v2/alerts/bills/test \\\n  -H "Authorization: Bearer $TOKEN"',
      sdk: "await postrider.alerts.test('bills');",
    },
  ],
  [
    'DELETE /v2/alerts/{alertId}',
    {
      curl: 'curl -X DELETE http://127.0.0.1:8411/v2/alerts/bills \\\n  -H "Authorization: Bearer $TOKEN"',
      sdk: "await postrider.alerts.delete('bills');",
    },
  ],
  [
    'GET /v2/dlq',
    {
      curl: 'curl \'http://127.0.0.1:8411/v2/dlq?host=example.com\' \\\n  -H "Authorization: Bearer $TOKEN"',
      sdk: "for await (const dead of postrider.deadLetters.list({ host: 'example.com' })) console.log(dead.dlqId, dead.error);",
    },
  ],
  [
    'GET /v2/dlq/groups',
    {
      curl: 'curl http://127.0.0.1:8411/v2/dlq/groups \\\n  -H "Authorization: Bearer $TOKEN"',
      sdk: 'await postrider.deadLetters.groups();',
    },
  ],
  [
    'GET /v2/dlq/{dlqId}',
    {
      curl: 'curl http://127.0.0.1:8411/v2/dlq/dlq_01M7EZ927YM48C125CV0AFAWDP \\\n  -H "Authorization: Bearer $TOKEN"',
      sdk: "await postrider.deadLetters.get('dlq_01M7EZ927YM48C125CV0AFAWDP');",
    },
  ],
  [
    'POST /v2/dlq/retry/{dlqId}',
    {
      curl: 'curl -X POST http://127.0.0.1:8411/v2/dlq/retry/dlq_01M7EZ927YM48C125CV0AFAWDP \\\n  -H "Authorization: Bearer $TOKEN" \\\n  -H \'Content-Type: application/json\' \\\n  --data-raw \'{"url":"https://example.com/new"}\'',
      sdk: "await postrider.deadLetters.retry('dlq_01M7EZ927YM48C125CV0AFAWDP', { url: 'https://example.com/new' });",
    },
  ],
  [
    'POST /v2/dlq/retry',
    {
      curl: 'curl -X POST http://127.0.0.1:8411/v2/dlq/retry \\\n  -H "Authorization: Bearer $TOKEN" \\\n  -H \'Content-Type: application/json\' \\\n  --data-raw \'{"host":"example.com"}\'',
      sdk: "await postrider.deadLetters.retryMany({ host: 'example.com' });",
    },
  ],
  [
    'DELETE /v2/dlq/{dlqId}',
    {
      curl: 'curl -X DELETE http://127.0.0.1:8411/v2/dlq/dlq_01M7EZ927YM48C125CV0AFAWDP \\\n  -H "Authorization: Bearer $TOKEN"',
      sdk: "await postrider.deadLetters.delete('dlq_01M7EZ927YM48C125CV0AFAWDP');",
    },
  ],
  [
    'DELETE /v2/dlq',
    {
      curl: 'curl -X DELETE http://127.0.0.1:8411/v2/dlq \\\n  -H "Authorization: Bearer $TOKEN" \\\n  -H \'Content-Type: application/json\' \\\n  --data-raw \'{"host":"example.com"}\'',
      sdk: "await postrider.deadLetters.deleteMany({ host: 'example.com' });",
    },
  ],
  [
    'GET /v2/events',
    {
      curl: 'curl \'http://127.0.0.1:8411/v2/events?messageIds=msg_01M7EZ927YM48C125CV0AFAWDP\' \\\n  -H "Authorization: Bearer $TOKEN"',
      sdk: "for await (const event of postrider.events.list({ messageIds: ['msg_01M7EZ927YM48C125CV0AFAWDP'] })) {\n  console.log(event.time, event.state);\n}",
    },
  ],
  [
    'GET /v2/logs',
    {
      curl: 'curl \'http://127.0.0.1:8411/v2/logs?state=FAILED\' \\\n  -H "Authorization: Bearer $TOKEN"',
      sdk: "await postrider.send({ method: 'GET', path: '/v2/logs?state=FAILED' });",
    },
  ],
  [
    'GET /v2/events/stream',
    {
      curl: "curl 'http://127.0.0.1:8411/v2/events/stream?state=FAILED' \\\n  -H \"Authorization: Bearer $TOKEN\" \\\n  -H 'Accept: text/event-stream'",
      sdk: "for await (const event of postrider.tail({ state: 'FAILED' })) console.log(event);",
    },
  ],
  [
    'GET /v2/flowControl',
    {
      curl: 'curl http://127.0.0.1:8411/v2/flowControl \\\n  -H "Authorization: Bearer $TOKEN"',
      sdk: 'for await (const key of postrider.flow.list()) console.log(key.flowControlKey, key.waitListSize);',
    },
  ],
  [
    'GET /v2/flowControl/{key}',
    {
      curl: 'curl http://127.0.0.1:8411/v2/flowControl/shop \\\n  -H "Authorization: Bearer $TOKEN"',
      sdk: "await postrider.flow.get('shop');",
    },
  ],
  [
    'POST /v2/flowControl/{key}/pause',
    {
      curl: 'curl -X POST http://127.0.0.1:8411/v2/flowControl/shop/pause \\\n  -H "Authorization: Bearer $TOKEN"',
      sdk: "await postrider.flow.pause('shop');",
    },
  ],
  [
    'POST /v2/flowControl/{key}/resume',
    {
      curl: 'curl -X POST http://127.0.0.1:8411/v2/flowControl/shop/resume \\\n  -H "Authorization: Bearer $TOKEN"',
      sdk: "await postrider.flow.resume('shop');",
    },
  ],
  [
    'POST /v2/flowControl/{key}/pin',
    {
      curl: 'curl -X POST \'http://127.0.0.1:8411/v2/flowControl/shop/pin?rate=10&period=1s\' \\\n  -H "Authorization: Bearer $TOKEN"',
      sdk: "await postrider.flow.pin('shop', { rate: '10', period: '1s' });",
    },
  ],
  [
    'POST /v2/flowControl/{key}/unpin',
    {
      curl: 'curl -X POST http://127.0.0.1:8411/v2/flowControl/shop/unpin \\\n  -H "Authorization: Bearer $TOKEN"',
      sdk: "await postrider.flow.unpin('shop');",
    },
  ],
  [
    'POST /v2/flowControl/{key}/resetRate',
    {
      curl: 'curl -X POST http://127.0.0.1:8411/v2/flowControl/shop/resetRate \\\n  -H "Authorization: Bearer $TOKEN"',
      sdk: "await postrider.flow.resetRate('shop');",
    },
  ],
  [
    'GET /v2/globalParallelism',
    {
      curl: 'curl http://127.0.0.1:8411/v2/globalParallelism \\\n  -H "Authorization: Bearer $TOKEN"',
      sdk: 'await postrider.flow.parallelism();',
    },
  ],
  [
    'GET /v2/hosts',
    {
      curl: 'curl http://127.0.0.1:8411/v2/hosts \\\n  -H "Authorization: Bearer $TOKEN"',
      sdk: 'for await (const host of postrider.hosts.list()) console.log(host.host, host.state, host.waiting);',
    },
  ],
  [
    'GET /v2/hosts/{host}',
    {
      curl: 'curl http://127.0.0.1:8411/v2/hosts/api.example.com \\\n  -H "Authorization: Bearer $TOKEN"',
      sdk: "await postrider.hosts.get('api.example.com');",
    },
  ],
  [
    'POST /v2/hosts/{host}/park',
    {
      curl: 'curl -X POST http://127.0.0.1:8411/v2/hosts/api.example.com/park \\\n  -H "Authorization: Bearer $TOKEN"',
      sdk: "await postrider.hosts.park('api.example.com');",
    },
  ],
  [
    'POST /v2/hosts/{host}/resume',
    {
      curl: 'curl -X POST http://127.0.0.1:8411/v2/hosts/api.example.com/resume \\\n  -H "Authorization: Bearer $TOKEN"',
      sdk: "await postrider.hosts.resume('api.example.com');",
    },
  ],
  [
    'POST /v2/acks/{secret}',
    {
      curl: "curl -X POST http://127.0.0.1:8411/v2/acks/SECRET \\\n  -H 'Content-Type: application/json' \\\n  --data-raw '{\"ok\":true}'",
      sdk: "await acknowledge('http://127.0.0.1:8411/v2/acks/SECRET', { ok: true });",
    },
  ],
  [
    'POST /v2/bulk',
    {
      curl: 'curl -X POST http://127.0.0.1:8411/v2/bulk \\\n  -H "Authorization: Bearer $TOKEN" \\\n  -H \'Content-Type: application/json\' \\\n  --data-raw \'{"action":"retry","filter":{"host":["example.com"]},"perSecond":100}\'',
      sdk: "await postrider.bulk.start('retry', { host: ['example.com'] }, 100);",
    },
  ],
  [
    'GET /v2/bulk',
    {
      curl: 'curl http://127.0.0.1:8411/v2/bulk \\\n  -H "Authorization: Bearer $TOKEN"',
      sdk: 'for await (const job of postrider.bulk.list()) console.log(job.jobId, job.done);',
    },
  ],
  [
    'GET /v2/bulk/{jobId}',
    {
      curl: 'curl http://127.0.0.1:8411/v2/bulk/job_01M7EZ927YM48C125CV0AFAWDP \\\n  -H "Authorization: Bearer $TOKEN"',
      sdk: "await postrider.bulk.get('job_01M7EZ927YM48C125CV0AFAWDP');",
    },
  ],
  [
    'POST /v2/bulk/{jobId}/stop',
    {
      curl: 'curl -X POST http://127.0.0.1:8411/v2/bulk/job_01M7EZ927YM48C125CV0AFAWDP/stop \\\n  -H "Authorization: Bearer $TOKEN"',
      sdk: "await postrider.bulk.stop('job_01M7EZ927YM48C125CV0AFAWDP');",
    },
  ],
  [
    'GET /v2/account',
    {
      curl: 'curl http://127.0.0.1:8411/v2/account \\\n  -H "Authorization: Bearer $TOKEN"',
      sdk: 'await postrider.account.get();',
    },
  ],
  [
    'PATCH /v2/account',
    {
      curl: 'curl -X PATCH http://127.0.0.1:8411/v2/account \\\n  -H "Authorization: Bearer $TOKEN" \\\n  -H \'Content-Type: application/json\' \\\n  --data-raw \'{"outage":"park"}\'',
      sdk: "await postrider.account.setOutage('park');",
    },
  ],
  [
    'GET /v2/keys',
    {
      curl: 'curl http://127.0.0.1:8411/v2/keys \\\n  -H "Authorization: Bearer $TOKEN"',
      sdk: 'await postrider.account.keys();',
    },
  ],
  [
    'POST /v2/keys/rotate',
    {
      curl: 'curl -X POST http://127.0.0.1:8411/v2/keys/rotate \\\n  -H "Authorization: Bearer $TOKEN"',
      sdk: 'await postrider.account.rotateKeys();',
    },
  ],
  [
    'GET /v2/usage',
    {
      curl: 'curl \'http://127.0.0.1:8411/v2/usage?fromDay=2026-01-01&toDay=2026-01-31\' \\\n  -H "Authorization: Bearer $TOKEN"',
      sdk: "await postrider.account.usage({ fromDay: '2026-01-01', toDay: '2026-01-31' });",
    },
  ],
  [
    'GET /v2/audit',
    {
      curl: 'curl \'http://127.0.0.1:8411/v2/audit?result=refused\' \\\n  -H "Authorization: Bearer $TOKEN"',
      sdk: "for await (const entry of postrider.audit.list({ result: 'refused' })) console.log(entry.call, entry.code);",
    },
  ],
  [
    'GET /v2/admin/audit',
    {
      curl: 'curl \'http://127.0.0.1:8411/v2/admin/audit?target=orders\' \\\n  -H "Authorization: Bearer $TOKEN"',
      sdk: "for await (const entry of postrider.audit.listAll({ target: 'orders' })) console.log(entry.time, entry.tokenName);",
    },
  ],
  [
    'GET /v2/admin/accounts',
    {
      curl: 'curl http://127.0.0.1:8411/v2/admin/accounts \\\n  -H "Authorization: Bearer $TOKEN"',
      sdk: 'await postrider.send(calls.listAccounts());',
    },
  ],
  [
    'POST /v2/admin/accounts',
    {
      curl: 'curl -X POST http://127.0.0.1:8411/v2/admin/accounts \\\n  -H "Authorization: Bearer $TOKEN" \\\n  -H \'Content-Type: application/json\' \\\n  --data-raw \'{"name":"acme","tier":"paid"}\'',
      sdk: "await postrider.send(calls.createAccount({ name: 'acme', tier: 'paid' }));",
    },
  ],
  [
    'PATCH /v2/admin/accounts/{accountId}',
    {
      curl: 'curl -X PATCH http://127.0.0.1:8411/v2/admin/accounts/acc_01M7EZ927YM48C125CV0AFAWDP \\\n  -H "Authorization: Bearer $TOKEN" \\\n  -H \'Content-Type: application/json\' \\\n  --data-raw \'{"tier":"free"}\'',
      sdk: "await postrider.send(calls.setTier('acc_01M7EZ927YM48C125CV0AFAWDP', 'free'));",
    },
  ],
  [
    'DELETE /v2/admin/accounts/{accountId}',
    {
      curl: 'curl -X DELETE \'http://127.0.0.1:8411/v2/admin/accounts/acc_01M7EZ927YM48C125CV0AFAWDP?confirm=acme\' \\\n  -H "Authorization: Bearer $TOKEN"',
      sdk: "await postrider.send(calls.deleteAccount('acc_01M7EZ927YM48C125CV0AFAWDP', 'acme'));",
    },
  ],
  [
    'GET /v2/admin/tokens',
    {
      curl: 'curl \'http://127.0.0.1:8411/v2/admin/tokens?accountId=acc_01M7EZ927YM48C125CV0AFAWDP\' \\\n  -H "Authorization: Bearer $TOKEN"',
      sdk: "await postrider.send(calls.listTokens('acc_01M7EZ927YM48C125CV0AFAWDP'));",
    },
  ],
  [
    'POST /v2/admin/tokens',
    {
      curl: 'curl -X POST http://127.0.0.1:8411/v2/admin/tokens \\\n  -H "Authorization: Bearer $TOKEN" \\\n  -H \'Content-Type: application/json\' \\\n  --data-raw \'{"accountId":"acc_01M7EZ927YM48C125CV0AFAWDP","name":"web","scopes":["publish","read"]}\'',
      sdk: "await postrider.send(\n  calls.createToken({ accountId: 'acc_01M7EZ927YM48C125CV0AFAWDP', name: 'web', scopes: ['publish', 'read'] }),\n);",
    },
  ],
  [
    'DELETE /v2/admin/accounts/{accountId}/tokens/{tokenId}',
    {
      curl: 'curl -X DELETE http://127.0.0.1:8411/v2/admin/accounts/acc_01M7EZ927YM48C125CV0AFAWDP/tokens/tok_01M7EZ927YM48C125CV0AFAWDP \\\n  -H "Authorization: Bearer $TOKEN"',
      sdk: "await postrider.send(calls.revokeToken('acc_01M7EZ927YM48C125CV0AFAWDP', 'tok_01M7EZ927YM48C125CV0AFAWDP'));",
    },
  ],
  [
    'GET /v2/nodes',
    {
      curl: 'curl http://127.0.0.1:8411/v2/nodes \\\n  -H "Authorization: Bearer $TOKEN"',
      sdk: 'await postrider.send(calls.listNodes());',
    },
  ],
  [
    'GET /v2/dev/clock',
    {
      curl: 'curl http://127.0.0.1:8411/v2/dev/clock \\\n  -H "Authorization: Bearer $TOKEN"',
      sdk: 'await postrider.send(calls.clock());',
    },
  ],
  [
    'POST /v2/dev/clock',
    {
      curl: 'curl -X POST http://127.0.0.1:8411/v2/dev/clock \\\n  -H "Authorization: Bearer $TOKEN" \\\n  -H \'Content-Type: application/json\' \\\n  --data-raw \'{"advance":"1h"}\'',
      sdk: "await postrider.send(calls.setClock({ advance: '1h' }));",
    },
  ],
  [
    'GET /v2/dev/requests',
    {
      curl: 'curl http://127.0.0.1:8411/v2/dev/requests \\\n  -H "Authorization: Bearer $TOKEN"',
      sdk: 'await postrider.send(calls.sinkRequests());',
    },
  ],
  [
    'DELETE /v2/dev/requests',
    {
      curl: 'curl -X DELETE http://127.0.0.1:8411/v2/dev/requests \\\n  -H "Authorization: Bearer $TOKEN"',
      sdk: 'await postrider.send(calls.forgetSinkRequests());',
    },
  ],
  [
    'GET /',
    {
      curl: 'curl http://127.0.0.1:8411/',
      sdk: null,
    },
  ],
  [
    'GET /healthz',
    {
      curl: 'curl http://127.0.0.1:8411/healthz',
      sdk: null,
    },
  ],
  [
    'GET /readyz',
    {
      curl: 'curl http://127.0.0.1:8411/readyz',
      sdk: null,
    },
  ],
  [
    'GET /metrics',
    {
      curl: 'curl http://127.0.0.1:8411/metrics',
      sdk: null,
    },
  ],
  [
    'GET /openapi.json',
    {
      curl: 'curl http://127.0.0.1:8411/openapi.json',
      sdk: null,
    },
  ],
  [
    'GET /docs',
    {
      curl: 'curl http://127.0.0.1:8411/docs',
      sdk: null,
    },
  ],
  [
    'GET /docs/style.css',
    {
      curl: 'curl http://127.0.0.1:8411/docs/style.css',
      sdk: null,
    },
  ],
  [
    'GET /docs/script.js',
    {
      curl: 'curl http://127.0.0.1:8411/docs/script.js',
      sdk: null,
    },
  ],
]);
