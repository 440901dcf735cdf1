// What a program does with the SDK, in any runtime: it uses nothing but the SDK and the web's own APIs. Returns facts
// that are the same everywhere.

import { calls, Postrider, PostriderError, UnreachableError } from 'postrider-sdk';
import { verify } from 'postrider-sdk/receiver';

export interface Place {
  readonly url: string;
  readonly token: string;
  /** Makes names that no other run uses. */
  readonly run: string;
}

export async function scenario({ url, token, run }: Place): Promise<Record<string, unknown>> {
  const postrider = new Postrider({ baseUrl: url, token });
  const sink = (path: string) => `${url}/dev/sink/${path}`;
  const facts: Record<string, unknown> = {};
  const names = { queue: `queue-${run}`, topic: `topic-${run}`, label: `label-${run}` };

  const { messageId } = await postrider.publish({
    url: sink('ok?a=1&b=%2F'),
    json: { hello: 'wörld' },
    label: [names.label, 'other'],
    retries: 2,
    delay: 0.05,
    headers: { 'X-Tenant': 'acme' },
  });
  const ended = await postrider.waitFor(messageId);
  facts.published = [ended.state, ended.body, ended.labels?.length, ended.maxRetries, ended.header['X-Tenant']];
  facts.why = (await postrider.why(messageId)).reason;

  await postrider.topics.addEndpoints(names.topic, [{ url: sink('ok') }, { url: sink('ok?second') }]);
  const copies = await postrider.publish({ topic: names.topic, body: new Uint8Array([0, 255]), label: names.label });
  facts.topic = copies.map((copy) => copy.url.slice(url.length));

  const slots = await postrider.batch(
    [
      { url: sink('ok'), queue: names.queue, json: [1] },
      { url: 'ftp://nowhere' },
      { topic: names.topic, body: new Uint8Array([1, 2, 3]) },
    ],
    { chunk: 2 },
  );
  facts.batch = [
    slots[0].isAccepted,
    slots[1].isAccepted === false && slots[1].code,
    slots[2].isAccepted && slots[2].messages.length,
  ];

  await postrider.queue(names.queue).enqueue({ url: sink('ok'), label: names.label });
  let count = 0;
  for await (const message of postrider.messages.list({ label: names.label, count: 1 })) {
    count += message.labels?.includes(names.label) ? 1 : 0;
  }
  facts.listed = count;

  const stop = new AbortController();
  const states: string[] = [];
  const queueName = `${names.queue}-tailed`;
  const onOpen = () => void postrider.queue(queueName).enqueue({ url: sink('ok') });
  for await (const event of postrider.tail({ queueName }, { signal: stop.signal, onOpen })) {
    states.push(event.state);
    if (event.state === 'DELIVERED') stop.abort();
  }
  facts.tailed = states;

  facts.refused = await postrider.messages.get('msg_none').catch(codeOf);
  facts.unreachable = await new Postrider({ baseUrl: 'http://127.0.0.1:1', retries: 0 }).queues
    .get('q')
    .catch((error) => error instanceof UnreachableError);
  facts.aborted = await postrider
    .publish({ url: sink('ok') }, { signal: AbortSignal.abort() })
    .catch((error: Error) => error.name);

  const keys = await postrider.account.keys();
  const verdict = await verify(await delivered(postrider, sink('ok')), { keys: [keys.next, keys.current] }).catch(
    (error: Error) => error.message,
  );
  facts.verified = typeof verdict === 'string' ? verdict : verdict.text();
  return facts;
}

export const EXPECTED = {
  published: ['DELIVERED', '{"hello":"wörld"}', 2, 2, ['acme']],
  why: 'ended',
  topic: ['/dev/sink/ok', '/dev/sink/ok?second'],
  batch: [true, 'bad_destination', 2],
  listed: 4,
  tailed: ['CREATED', 'ACTIVE', 'DELIVERED'],
  refused: 'message_not_found',
  unreachable: true,
  aborted: 'AbortError',
  verified: 'signed',
};

/** A delivery as its receiver got it, rebuilt from what the sink has noted. */
async function delivered(postrider: Postrider, url: string): Promise<Request> {
  const { messageId } = await postrider.publish({ url, body: 'signed' });
  await postrider.waitFor(messageId);
  const { requests } = await postrider.send(calls.sinkRequests());
  const found = requests.find(({ header }) => header['Service-Message-Id']?.[0] === messageId);
  const headers = Object.entries(found?.header ?? {}).filter(([name]) => /^(service-|webhook-)/i.test(name));
  return new Request(url, { method: 'POST', body: found?.body ?? '', headers: headers.map(([n, [v]]) => [n, v!]) });
}

function codeOf(error: unknown): string {
  return error instanceof PostriderError ? error.code : String(error);
}
