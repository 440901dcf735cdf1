// Lists of what an account has made (queues, topics, schedules, flow keys, bulk operations), and of accounts, tokens and usage,
// end at the budget of a page, whatever they hold, and lead on to all of it. The answers stay what the public clients know.

import assert from 'node:assert/strict';
import { before, suite, test } from 'node:test';
import { createClient } from 'postrider-sdk';
import { entriesThatFit } from '../../../src/inbound/api/lists/list-pages.ts';
import { BUDGETS } from '../../../src/rules/limits/budgets.ts';
import { type Rider, sharedRider } from '../../support/harness.ts';
import { startReceiver } from '../../support/receiver.ts';

const PAGE_BYTES = BUDGETS.pageBytes.each!;
const BODY_BYTES = BUDGETS.listedBodyBytes.each!;
/** A page ends behind the entry that fills it: a topic with a thousand long endpoints, or a filter of a bulk operation. */
const ENTRY_BYTES = 2.5 * 1024 * 1024;

type Entry = Readonly<Record<string, unknown>>;

test('a list that does not lead on, as that of failure groups, has as many as a page has room for', () => {
  const group = { url: 'ü'.repeat(2000) };
  const most = Math.floor(PAGE_BYTES / (Buffer.byteLength(JSON.stringify(group)) + 1));
  assert.equal(entriesThatFit(Array(most).fill(group)).length, most);
  assert.equal(entriesThatFit(Array(5000).fill(group)).length, most);
});

suite('a list', () => {
  const shared = sharedRider();
  let rider: Rider;
  let accountId: string;
  let owner: string;
  let other: string;

  before(async () => {
    rider = shared();
    const made = await rider.account('owner', 'paid');
    accountId = made.accountId;
    owner = made.token;
    other = (await rider.account('other')).token;
  });

  const call = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
    rider.call(method, path, { token: owner, headers, ...(body !== undefined && { body: JSON.stringify(body) }) });

  /** Every page, from the first to the last: none larger than the budget. */
  async function walk(path: string, name?: string): Promise<Entry[][]> {
    const pages: Entry[][] = [];
    for (let next: string | undefined = path; next !== undefined; ) {
      const answer = await call('GET', next);
      assert.equal(answer.status, 200, answer.text.slice(0, 200));
      assert.ok(answer.text.length <= PAGE_BYTES + ENTRY_BYTES, `${path}: a page of ${answer.text.length} bytes`);
      const page = answer.json<Entry[] & { readonly cursor?: string }>();
      pages.push(name === undefined ? page : ((page as unknown as Entry)[name] as Entry[]));
      assert.ok(pages.length < 100, `${path} has no end`);
      if (name === undefined) {
        const [, query] = /^<(\?.*)>; rel="next"$/.exec(String(answer.headers.link ?? '')) ?? [];
        next = query && `${path.split('?')[0]}${query}`;
      } else next = page.cursor && `${path}${path.includes('?') ? '&' : '?'}cursor=${page.cursor}`;
    }
    return pages;
  }

  test('of topics with a thousand endpoints each is an array that ends at the budget and leads on to all', async () => {
    const endpoints = Array.from({ length: 500 }, (_, n) => ({ url: `https://a.example/${n}/${'x'.repeat(1900)}` }));
    const more = endpoints.map(({ url }) => ({ url: `${url}y` }));
    const names = Array.from({ length: 5 }, (_, n) => `t${n}`);
    for (const name of names) {
      for (const some of [endpoints, more]) {
        assert.equal((await call('POST', `/v2/topics/${name}/endpoints`, { endpoints: some })).status, 200);
      }
    }
    const pages = await walk('/v2/topics');
    assert.ok(pages.length > 1);
    const topics = pages.flat();
    assert.deepEqual(
      topics.map(({ name }) => name),
      names,
    );
    for (const topic of topics) assert.equal((topic.endpoints as unknown[]).length, 1000);
    const client = createClient({ baseUrl: rider.url, token: owner });
    assert.deepEqual(await client.listTopics(), topics);
  });

  test('of schedules is without long bodies and ends at the budget; the schedule itself shows its body', async () => {
    const short = 'x'.repeat(BODY_BYTES);
    const long = 'x'.repeat(15_000);
    const make = async (id: string, body: string) => {
      const headers = { 'Service-Cron': '0 0 1 1 *', 'Service-Schedule-Id': id, 'Service-Forward-X-Long': long };
      const answer = await rider.call('POST', '/v2/schedules/https://a.example/', { token: owner, headers, body });
      assert.equal(answer.status, 201, answer.text);
    };
    const ids = Array.from({ length: 320 }, (_, n) => `s${String(n).padStart(3, '0')}`);
    for (const id of ids) await make(id, id === 's001' ? `${short}x` : short);
    const pages = await walk('/v2/schedules');
    assert.ok(pages.length > 1);
    const schedules = pages.flat();
    assert.deepEqual(
      schedules.map(({ scheduleId }) => scheduleId),
      ids,
    );
    assert.deepEqual([schedules[0]!.body, schedules[0]!.isBodyLeftOut], [short, undefined]);
    assert.deepEqual([schedules[1]!.body, schedules[1]!.isBodyLeftOut], [undefined, true]);
    const { body } = (await call('GET', '/v2/schedules/s001')).json<Entry>();
    assert.equal(body, `${short}x`);
    const client = createClient({ baseUrl: rider.url, token: owner });
    assert.equal((await client.listSchedules()).length, ids.length);
  });

  test('of bulk operations with large filters ends at the budget and leads on', async () => {
    const label = Array.from({ length: 50 }, (_, n) => `${n}${'\u0001'.repeat(3000)}`);
    for (let n = 0; n < 8; n += 1) {
      assert.equal((await call('POST', '/v2/bulk', { action: 'cancel', filter: { label } })).status, 201);
    }
    const pages = await walk('/v2/bulk', 'jobs');
    assert.ok(pages.length > 1);
    const ids = pages.flat().map(({ jobId }) => String(jobId));
    assert.equal(ids.length, 8);
    assert.deepEqual(ids, ids.toSorted().toReversed());
  });

  test('of queues, flow keys, accounts, tokens and usage has as many as are asked for, and leads on to all', async () => {
    const names = Array.from({ length: 7 }, (_, n) => `n${n}`);
    for (const name of names) {
      assert.equal((await call('POST', '/v2/queues', { queueName: name })).status, 200);
      assert.equal((await call('POST', `/v2/flowControl/${name}%20x/pin?parallelism=1`)).status, 200);
      await rider.tokenFor(accountId, ['read']);
    }
    const counts = (pages: Entry[][]) => pages.map(({ length }) => length);
    assert.deepEqual(counts(await walk('/v2/queues?count=3')), [3, 3, 1]);
    assert.deepEqual(counts(await walk('/v2/queues?count=7')), [7]);
    assert.deepEqual(counts(await walk('/v2/queues')), [7]);
    const keys = await walk('/v2/flowControl?count=4');
    assert.deepEqual(counts(keys), [4, 3]);
    assert.deepEqual(
      keys.flat().map(({ flowControlKey }) => flowControlKey),
      names.map((name) => `${name} x`),
    );
    assert.deepEqual(counts(await walk('/v2/admin/accounts?count=2', 'accounts')), [2, 1]);
    assert.deepEqual(counts(await walk(`/v2/admin/tokens?accountId=${accountId}&count=5`, 'tokens')), [5, 3]);
    assert.equal(
      (await call('POST', '/v2/publish/http://127.0.0.1:1/', undefined, { 'Service-Delay': '1d' })).status,
      201,
    );
    assert.deepEqual(counts(await walk('/v2/usage?count=1', 'usage')), [1]);
    const client = createClient({ baseUrl: rider.url, token: owner });
    assert.equal((await client.listTokens(accountId)).tokens.length, 8);
    assert.equal((await client.usage()).usage.length, 1);
  });

  test('takes no cursor but its own, and no count beyond a thousand', async () => {
    for (const path of [
      '/v2/queues',
      '/v2/topics',
      '/v2/schedules',
      '/v2/flowControl',
      '/v2/bulk',
      '/v2/admin/accounts',
    ]) {
      const hostile = ['cursor=%00', 'cursor=AA', 'cursor=!', 'cursor=YQ%3D%3D', 'cursor=YQ&cursor=YQ'];
      for (const query of [...hostile, 'count=0', 'count=1001', 'count=x', 'count=1&count=1']) {
        const answer = await call('GET', `${path}?${query}`);
        assert.deepEqual([answer.status, answer.json<Entry>().code], [400, 'bad_parameter'], `${path}?${query}`);
      }
    }
  });

  // How long it waits for foreign reads is counted in reads.test.ts: all lists stand in the same line.
  test('that is long is not felt by another account: it is answered and delivered to', async (t) => {
    const receiver = await startReceiver(t);
    const attack = ['topics', 'schedules', 'topics', 'schedules'].map((name) => call('GET', `/v2/${name}`));
    await rider.published(receiver.url, { token: other });
    await receiver.received(1);
    assert.deepEqual((await rider.call('GET', '/v2/topics', { token: other })).json(), []);
    for (const { status } of await Promise.all(attack)) assert.ok(status === 200 || status === 429);
  });
});
