// What a client does with options that are left out or wrong: the address and the token of the environment, the prefix of
// the service, and a body that is an object.

import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { type TestContext, test } from 'node:test';
import { type ClientOptions, calls, connect, createClient, Postrider } from 'postrider-sdk';
import { startRider } from '../../server/test/support/harness.ts';

const URL_ = 'https://example.com/';

/** A client whose requests are noted, and answered by a service with this prefix, or by nobody. */
function noted(headerPrefix: string | null, options: ClientOptions = {}) {
  const asked: { target: string; headers: Headers }[] = [];
  const answer: typeof fetch = async (input, init) => {
    asked.push({ target: String(input), headers: new Headers(init?.headers) });
    if (!String(input).endsWith('.test/')) return new Response('{"messageId":"msg_1","url":"u"}');
    if (headerPrefix === null) throw new TypeError('away');
    return new Response(JSON.stringify({ name: 'postrider', headerPrefix }));
  };
  return { asked, answers: answer, options: { baseUrl: 'http://s.test', token: 'secret', fetch: answer, ...options } };
}

function withVariables(t: TestContext, variables: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(variables)) {
    process.env[name] = value;
    t.after(() => delete process.env[name]);
  }
}

test('an address that is missing is an error that says what to do', () => {
  for (const make of [Postrider, createClient, connect]) {
    for (const options of [{}, { baseUrl: undefined }, { baseUrl: '' }, undefined]) {
      const made = () => (make === Postrider ? new Postrider(options) : (make as typeof connect)(options));
      assert.throws(made, { name: 'TypeError', message: /^baseUrl is missing: .*POSTRIDER_URL/ });
    }
  }
});

test('address and token come from the environment, and its token goes to no other address', async (t) => {
  withVariables(t, { POSTRIDER_URL: 'http://own.test/', POSTRIDER_TOKEN: 'own' });
  const sent = async (options: ClientOptions) => {
    const { asked, options: all } = noted('Service-', { baseUrl: undefined, token: undefined, ...options });
    await new Postrider(all).queues.get('q');
    return [asked[0]!.target, asked[0]!.headers.get('Authorization')];
  };
  assert.deepEqual(await sent({}), ['http://own.test/v2/queues/q', 'Bearer own']);
  assert.deepEqual(await sent({ token: 'mine' }), ['http://own.test/v2/queues/q', 'Bearer mine']);
  assert.deepEqual(await sent({ baseUrl: 'http://other.test' }), ['http://other.test/v2/queues/q', null]);
});

test('where there is no environment, or it cannot be read, nothing fails', async (t) => {
  const { process } = globalThis;
  t.after(() => Object.defineProperty(globalThis, 'process', { value: process, configurable: true, writable: true }));
  const worlds = [
    { value: undefined },
    { value: {} },
    {
      get: () => {
        throw new Error('not allowed');
      },
    },
  ];
  for (const world of worlds) {
    Object.defineProperty(globalThis, 'process', { ...world, configurable: true });
    const { asked, options } = noted('Service-');
    const made = new Postrider(options);
    await made.queues.get('q');
    Object.defineProperty(globalThis, 'process', { value: process, configurable: true, writable: true });
    assert.equal(asked[0]!.headers.get('Authorization'), 'Bearer secret');
  }
});

test('the prefix is asked once, and only where it is needed', async () => {
  const { asked, options } = noted('Upstash-');
  const postrider = new Postrider(options);
  await postrider.queues.get('q');
  assert.deepEqual(
    asked.map(({ target }) => target),
    ['http://s.test/v2/queues/q'],
    'no setting, no question',
  );
  await Promise.all([1, 2, 3].map(() => postrider.publish({ url: URL_, delay: '1h' })));
  await postrider.queue('q').enqueue({ url: URL_, retries: 1 });
  assert.equal(asked.filter(({ target }) => target === 'http://s.test/').length, 1);
  const publishes = asked.filter(({ target }) => target.includes('/v2/publish/'));
  assert.equal(publishes.length, 3);
  for (const { headers } of publishes) assert.equal(headers.get('Upstash-Delay'), '1h');
  const question = asked.find(({ target }) => target === 'http://s.test/')!;
  assert.equal(question.headers.get('Authorization'), null, 'it needs no token');

  const said = noted('Upstash-', { headerPrefix: 'Acme-' });
  await new Postrider(said.options).publish({ url: URL_, delay: '1h' });
  assert.equal(said.asked.length, 1);
  assert.equal(said.asked[0]!.headers.get('Acme-Delay'), '1h');

  const plain = noted('Upstash-');
  await connect(plain.options)(calls.publish({ url: URL_ }));
  assert.equal(plain.asked.length, 1, 'without retries and settings nothing needs it');
});

test('a service that does not say its prefix has the usual one', async () => {
  for (const answer of ['{}', 'null', '<html>', '']) {
    for (const status of [200, 404]) {
      const { asked, options, answers } = noted('Upstash-');
      const own: typeof fetch = (input, init) =>
        String(input).endsWith('.test/') ? Promise.resolve(new Response(answer, { status })) : answers(input, init);
      await new Postrider({ ...options, fetch: own }).publish({ url: URL_, delay: '1h' });
      assert.equal(asked.at(-1)!.headers.get('Service-Delay'), '1h');
    }
  }
});

test('nothing is sent under a guessed prefix: while the service does not answer the question, a call that needs it fails', async () => {
  const busy = (status: number) => new Response('{"error":"e","code":"overloaded"}', { status });
  const broken = () =>
    new Response(new ReadableStream({ start: (controller) => controller.error(new Error('connection lost')) }));
  for (const trouble of [() => Promise.reject(new TypeError('away')), () => busy(503), () => busy(429), broken]) {
    const { asked, options, answers } = noted('Upstash-');
    let questions = 0;
    let isOver = false;
    const own: typeof fetch = async (input, init) => {
      if (!String(input).endsWith('.test/')) return answers(input, init);
      questions += 1;
      return isOver || questions === 3 ? answers(input, init) : trouble();
    };
    const postrider = new Postrider({ ...options, fetch: own, retries: 0 });
    await assert.rejects(postrider.publish({ url: URL_, delay: '1h' }), /^(UnreachableError|PostriderError)/);
    await assert.rejects(postrider.batch([{ url: URL_ }]), /^(UnreachableError|PostriderError)/);
    assert.deepEqual([asked.length, questions], [0, 2]);
    isOver = true;
    await postrider.publish({ url: URL_, delay: '1h' });
    assert.equal(asked.at(-1)!.headers.get('Upstash-Delay'), '1h');

    // With retries the question is asked again, like any other.
    isOver = false;
    questions = 1;
    await new Postrider({ ...options, fetch: own, retries: 1 }).publish({ url: URL_, delay: '1h' });
    assert.equal(asked.at(-1)!.headers.get('Upstash-Delay'), '1h');
  }
});

test('a signal ends the wait for the prefix, and keeps nothing of the calls that are over', async () => {
  const { options } = noted('Service-');
  const hanging: typeof fetch = () => new Promise(() => {});
  const stop = new AbortController();
  const never = new Postrider({ ...options, fetch: hanging }).publish({ url: URL_ }, { signal: stop.signal });
  stop.abort(new Error('enough'));
  await assert.rejects(never, /enough/);

  const { signal } = new AbortController();
  const postrider = new Postrider(options);
  for (let number = 0; number < 3; number += 1) await postrider.publish({ url: URL_ }, { signal });
  assert.deepEqual(getEventListeners(signal, 'abort'), []);
});

test('a client without a prefix works with a service that has another one: every setting arrives', async (t) => {
  const rider = await startRider(t, { flags: ['--header-prefix', 'Upstash-'] });
  const warnings: string[] = [];
  const onWarning = (text: string) => warnings.push(text);
  const options = { baseUrl: rider.url, token: rider.token!, onWarning };
  const postrider = new Postrider(options);
  const { messageId } = await postrider.publish({ url: URL_, delay: '1h', label: 'a', retries: 1 });
  const message = await postrider.messages.get(messageId);
  assert.deepEqual([message.maxRetries, message.labels], [1, ['a']]);
  const [slot] = await postrider.batch([{ url: URL_, delay: '1h', label: 'b' }]);
  assert.ok(slot.isAccepted);
  assert.deepEqual((await postrider.messages.get(slot.messageId)).labels, ['b']);
  assert.deepEqual(warnings, []);
  const wrong = new Postrider({ ...options, headerPrefix: 'Service-' });
  await wrong.publish({ url: URL_, method: 'PUT', label: 'c' });
  assert.match(warnings[0]!, /Service-Method was ignored, because settings of this service start with Upstash-/);
});

test('a body that is an object is a TypeError that names json; text and bytes are sent', async () => {
  const { options } = noted('Service-');
  const postrider = new Postrider(options);
  for (const body of [{ a: 1 }, [1], new URLSearchParams('a=1'), 5, true]) {
    const request = { url: URL_, body: body as unknown as string };
    await assert.rejects(async () => postrider.publish(request), {
      name: 'TypeError',
      message: /pass an object as json/,
    });
    await assert.rejects(async () => postrider.batch([request]), { name: 'TypeError' });
    assert.throws(() => calls.createSchedule({ ...request, cron: '@daily' }), TypeError);
  }
  for (const body of ['', 'x', new Uint8Array(2), Buffer.from('x'), undefined]) {
    await postrider.publish({ url: URL_, ...(body !== undefined && { body }) });
  }
});
