// A page of a list ends at a budget of bytes, with a cursor: whatever the bodies, headers and answers in it weigh. Going
// on from cursor to cursor shows everything once.

import assert from 'node:assert/strict';
import { before, suite, test } from 'node:test';
import { BUDGETS } from '../../src/domain/budgets.ts';
import { EVENT_BODY_BYTES_MAX } from '../../src/domain/event.ts';
import { type Rider, sharedRider } from '../http/harness.ts';
import { startReceiver } from '../http/receiver.ts';
import { waitFor } from '../http/wait.ts';

const PAGE_BYTES = BUDGETS.pageBytes.each!;
/** A page ends behind the entry that fills it: a message of the free tier with its last answer, or the events of one step. */
const ENTRY_BYTES = 2.5 * 1024 * 1024;

interface Page {
  readonly messages?: readonly { readonly messageId: string; readonly responseBody?: string }[];
  readonly events?: readonly { readonly messageId: string; readonly state: string; readonly isBodyCut?: boolean }[];
  readonly cursor?: string;
}

suite('a page', () => {
  const shared = sharedRider();
  let rider: Rider;
  let other: string;
  const COUNT = 7;

  before(async () => {
    rider = shared();
    other = (await rider.account('other')).token;
    const ends: (() => void | Promise<void>)[] = [];
    const receiver = await startReceiver({ after: (end) => ends.push(end) }, () => ({
      status: 500,
      body: 'y'.repeat(64 * 1024),
    }));
    // Control characters are six times as long in JSON.
    const elements = Array.from({ length: COUNT }, (_, n) => ({
      destination: `${receiver.url}/${n}`,
      headers: { 'Service-Retries': '3', 'Service-Retry-Delay': '0' },
      body: `\u0001`.repeat(100_000) + 'x'.repeat(400_000),
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
    for (const { responseBody } of all) assert.equal(responseBody?.length, 64 * 1024);
  });

  test('of the events of all messages, or of one, ends at the budget and leads on to all of them', async () => {
    const whole = (await walk('/v2/events?count=1000')).flatMap(({ events }) => events!);
    // Accepted once; four attempts, each with ACTIVE, ERROR and RETRY or FAILED.
    assert.equal(whole.length, COUNT * 13);
    for (const order of ['newestFirst', 'oldestFirst']) {
      const { messageId } = whole[0]!;
      const pages = await walk(`/v2/events?count=1000&messageId=${messageId}&order=${order}`);
      const own = pages.flatMap(({ events }) => events!);
      assert.equal(own.length, 13);
      assert.equal(own.filter(({ state }) => state === 'ERROR').length, 4);
      assert.ok(own.every(({ isBodyCut }) => isBodyCut));
    }
  });

  test('of messages is without bodies; the message itself shows its body whole', async () => {
    const [page] = await walk('/v2/messages?count=1000');
    assert.equal(page!.messages!.length, COUNT);
    const { body } = await rider.message(page!.messages![0]!.messageId);
    assert.equal(body!.length, 500_000);
    assert.ok(500_000 > EVENT_BODY_BYTES_MAX);
  });

  test('that is large is not felt by another account: it is answered and delivered to', async (t) => {
    const receiver = await startReceiver(t);
    const attack = Array.from({ length: 8 }, () => rider.call('GET', '/v2/events?count=1000'));
    const id = (await rider.publish(receiver.url, { token: other })).json<{ messageId: string }>().messageId;
    await receiver.received(1);
    assert.equal((await rider.message(id, other)).messageId, id);
    for (const { status } of await Promise.all(attack)) assert.ok(status === 200 || status === 429);
  });
});
