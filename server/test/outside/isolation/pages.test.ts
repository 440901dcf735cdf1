// A page of a list ends at a budget of bytes, with a cursor: whatever the bodies, headers and answers in it weigh. Going
// on from cursor to cursor shows everything once.

import assert from 'node:assert/strict';
import { before, suite, test } from 'node:test';
import { EVENT_BODY_BYTES_MAX } from '../../../src/rules/delivery/event.ts';
import { BUDGETS } from '../../../src/rules/limits/budgets.ts';
import { type Rider, refusal, sharedRider } from '../../support/harness.ts';
import { startReceiver } from '../../support/receiver.ts';
import { waitFor } from '../../support/wait.ts';

const PAGE_BYTES = BUDGETS.pageBytes.each!;
/** A page ends behind the entry that fills it: a message of the free tier with its last answer, or the events of one step. */
const ENTRY_BYTES = 2.5 * 1024 * 1024;

interface Page {
  readonly messages?: readonly { readonly messageId: string; readonly url: string; readonly responseBody?: string }[];
  readonly events?: readonly {
    readonly messageId: string;
    readonly url: string;
    readonly state: string;
    readonly isBodyCut?: boolean;
  }[];
  readonly cursor?: string;
}

suite('a page', () => {
  const shared = sharedRider();
  let rider: Rider;
  let other: string;
  const RETRIES = [30, 1, 1, 1, 1, 1];
  const COUNT = RETRIES.length;
  /** Accepted once; and each attempt with ACTIVE, ERROR and RETRY or FAILED. */
  const eventsOf = (retries: number) => 1 + 3 * (retries + 1);

  before(async () => {
    rider = shared();
    other = (await rider.account('other')).token;
    const ends: (() => void | Promise<void>)[] = [];
    // Each answer tells which attempt it was for.
    const receiver = await startReceiver({ after: (end) => ends.push(end) }, (arrival) => ({
      status: 500,
      body: `${arrival.header('service-retried')} `.padEnd(64 * 1024, 'y'),
    }));
    // Control characters are six times as long in JSON. The first is tried most often, and has a shorter body for it.
    const elements = RETRIES.map((retries, n) => ({
      destination: `${receiver.url}/${n}`,
      headers: { 'Service-Retries': String(retries), 'Service-Retry-Delay': '0' },
      body: n === 0 ? 'x'.repeat(130_000) : '\u0001'.repeat(100_000) + 'x'.repeat(400_000),
    }));
    assert.equal((await rider.batch(elements)).status, 201);
    await waitFor('all to be dead letters', async () => {
      rider.clock.advance(1000);
      return (await rider.manage<{ failed: number }>('GET', '/v2/overview')).failed === COUNT;
    });
    for (const end of ends) await end();
  });

  async function walk(path: string): Promise<Page[]> {
    const pages: Page[] = [];
    for (let cursor: string | undefined; ; ) {
      const answer = await rider.call('GET', `${path}${cursor === undefined ? '' : `&cursor=${cursor}`}`);
      assert.equal(answer.status, 200, answer.text.slice(0, 200));
      assert.ok(answer.text.length <= PAGE_BYTES + ENTRY_BYTES, `${path}: a page of ${answer.text.length} bytes`);
      pages.push(answer.json<Page>());
      cursor = pages.at(-1)!.cursor;
      if (cursor === undefined) return pages;
      assert.ok(pages.length < 200, `${path} has no end`);
    }
  }

  test('of dead letters ends at the budget, carries the last answer only, and leads on to all of them', async () => {
    const pages = await walk('/v2/dlq?count=1000');
    const all = pages.flatMap(({ messages }) => messages!);
    assert.equal(new Set(all.map(({ messageId }) => messageId)).size, COUNT);
    assert.equal(all.length, COUNT);
    assert.ok(pages.length > 1);
    const last = new Map(all.map(({ url, responseBody }) => [Number(url.at(-1)), responseBody!]));
    for (const [n, retries] of RETRIES.entries()) {
      assert.equal(last.get(n)!.length, 64 * 1024);
      assert.match(last.get(n)!, new RegExp(`^${retries} `), 'the answer to the last attempt');
    }
  });

  test('of the events of all messages, or of one, ends at the budget and leads on to all of them', async () => {
    const whole = (await walk('/v2/events?count=1000')).flatMap(({ events }) => events!);
    assert.equal(
      whole.length,
      RETRIES.reduce((sum, retries) => sum + eventsOf(retries), 0),
    );
    const idOf = (n: number) => whole.find(({ url }) => url.endsWith(`/${n}`))!.messageId;
    for (const [n, order] of [
      [0, 'newestFirst'],
      [1, 'newestFirst'],
      [1, 'oldestFirst'],
    ] as const) {
      const pages = await walk(`/v2/events?count=1000&messageId=${idOf(n)}&order=${order}`);
      assert.ok(pages.length > 1);
      const own = pages.flatMap(({ events }) => events!);
      assert.equal(own.length, eventsOf(RETRIES[n]!));
      assert.equal(own.filter(({ state }) => state === 'ERROR').length, RETRIES[n]! + 1);
      assert.ok(own.every(({ isBodyCut = false }) => isBodyCut === n > 0));
    }
  });

  test('of the events of named messages is refused when they have more events than are put in order', async (t) => {
    const { store } = rider.postrider;
    const { getMessage } = store;
    t.after(() => void Object.assign(store, { getMessage }));
    let asked = 0;
    // Each of the messages is one that was tried a thousand times.
    Object.assign(store, {
      getMessage: async (...args: Parameters<typeof getMessage>) => {
        asked += 1;
        const stored = await getMessage(args[0], tried, args[2]);
        const attempts = Array.from({ length: 1000 }, () => stored!.attempts).flat();
        return { ...stored!, attempts: attempts.map((attempt, index) => ({ ...attempt, number: index + 1 })) };
      },
    });
    const [first] = (await rider.manage<Page>('GET', '/v2/dlq?order=earliestFirst')).messages!;
    const tried = first!.messageId;
    const ids = Array.from({ length: 1000 }, (_, index) => `messageIds=msg_${index}`);
    const answer = await rider.call('GET', `/v2/events?${ids.join('&')}`);
    assert.match(refusal(answer, 400, 'bad_filter'), /more than 20000 events in total/);
    assert.ok(asked < 20, `${asked} messages were read`);
  });

  test('of messages is without bodies; the message itself shows its body whole', async () => {
    const [page] = await walk('/v2/messages?count=1000');
    assert.equal(page!.messages!.length, COUNT);
    const { body } = await rider.message(page!.messages!.find(({ url }) => url.endsWith('/1'))!.messageId);
    assert.equal(body!.length, 500_000);
    assert.ok(500_000 > EVENT_BODY_BYTES_MAX);
  });

  // How long it waits for foreign reads is counted in reads.test.ts: all lists stand in the same line.
  test('that is large is not felt by another account: it is answered and delivered to', async (t) => {
    const receiver = await startReceiver(t);
    const attack = Array.from({ length: 8 }, () => rider.call('GET', '/v2/events?count=1000'));
    const id = (await rider.publish(receiver.url, { token: other })).json<{ messageId: string }>().messageId;
    assert.equal((await rider.message(id, other)).messageId, id);
    await receiver.received(1);
    for (const { status } of await Promise.all(attack)) assert.ok(status === 200 || status === 429);
  });
});
