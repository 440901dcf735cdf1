// What must hold over all nodes together: limits, deduplication and schedules, and that a node tells of what the others
// do.

import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { get } from 'node:http';
import { after, before, suite, test } from 'node:test';
import { type Cleanup, startReceiver } from '../support/receiver.ts';
import { waitFor } from '../support/wait.ts';
import { type Node, Nodes } from './nodes.ts';

const NODES = 3;
const [library] = globSync('/usr/lib/**/faketime/libfaketimeMT.so.1');
const AHEAD = { LD_PRELOAD: library ?? '', FAKETIME: '+1.5', FAKETIME_DONT_FAKE_MONOTONIC: '1' };
const CHANNEL = 'postrider public';

suite('three nodes over one database', () => {
  const ends: (() => void | Promise<void>)[] = [];
  const cleanup: Cleanup = { after: (end) => ends.unshift(end) };
  let all: Nodes;
  let nodes: Node[];
  before(async () => {
    all = await Nodes.onNewDatabase(cleanup);
    // The wall clock of one of them is ahead, where the machine has what it takes to show it so.
    nodes = [...(await all.start(NODES - 1)), await all.startOne(library === undefined ? {} : AHEAD)];
  });
  after(async () => {
    for (const end of ends) await end();
  });
  const nodeFor = (index: number) => nodes[index % NODES]!;

  test('never have more deliveries of a flow key in flight than its parallelism', async (t) => {
    let [underWay, most] = [0, 0];
    const receiver = await startReceiver(t, async () => {
      underWay += 1;
      most = Math.max(most, underWay);
      await new Promise((resolve) => setTimeout(resolve, 15));
      underWay -= 1;
      return 200;
    });
    const headers = { 'Service-Flow-Control-Key': 'two', 'Service-Flow-Control-Value': 'parallelism=2' };
    const count = 90;
    await Promise.all(Array.from({ length: count }, (_, at) => nodeFor(at).published(receiver.url, { headers })));
    await receiver.received(count);
    assert.equal(most, 2);
  });

  test('start no more deliveries of a flow key in a period than its rate', async (t) => {
    const at: number[] = [];
    const receiver = await startReceiver(t, () => {
      at.push(performance.now());
      return 200;
    });
    const headers = { 'Service-Flow-Control-Key': 'five', 'Service-Flow-Control-Value': 'rate=5, period=2s' };
    const ids = await Promise.all(
      Array.from({ length: 18 }, (_, index) => nodeFor(index).published(receiver.url, { headers })),
    );
    await receiver.received(ids.length);
    // How long a request is on its way differs; but the sixth belongs to another period than the first.
    for (const [index, later] of at.entries()) {
      const gapMs = later - (at[index - 5] ?? Number.NEGATIVE_INFINITY);
      assert.ok(gapMs > 1000, `number ${index} came ${Math.round(gapMs)} ms after the fifth before it`);
    }
  });

  test('hold a rate although the clock of one of them is 1.5 s ahead', async (t) => {
    const receiver = await startReceiver(t);
    const headers = { 'Service-Flow-Control-Key': 'skewed', 'Service-Flow-Control-Value': 'rate=5' };
    const startedMs = performance.now();
    for (let round = 0; round < 10; round += 1) {
      await Promise.all(nodes.slice(1).map((node) => node.published(receiver.url, { headers })));
    }
    await receiver.received(20);
    // Four periods of a second: three of them are over before the last begins.
    assert.ok(performance.now() - startedMs > 2900, `20 within ${Math.round(performance.now() - startedMs)} ms`);
  });

  test('accept one message for a deduplication id, whichever node gets the requests', async (t) => {
    const receiver = await startReceiver(t);
    const rounds = 25;
    for (let round = 0; round < rounds; round += 1) {
      const headers = { 'Service-Deduplication-Id': `once-${round}` };
      const answers = await Promise.all(
        nodes.map((node) => node.call('POST', `/v2/publish/${receiver.url}/${round}`, { headers })),
      );
      assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 202, 202]);
      assert.equal(new Set(answers.map((answer) => answer.json<{ messageId: string }>().messageId)).size, 1);
    }
    const arrivals = await receiver.received(rounds);
    assert.equal(new Set(arrivals.map(({ target }) => target)).size, rounds);
    const [row] = await all.tables.query<{ n: number }>(
      'SELECT count(*) AS n FROM messages WHERE deduplication_key IS NOT NULL',
    );
    assert.equal(row!.n, rounds);
  });

  test('keep one message waiting for a debounce key, whichever node gets the requests', async (t) => {
    const receiver = await startReceiver(t);
    const headers = { 'Service-Debounce-Key': 'shared', 'Service-Debounce': '1h' };
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, at) =>
        nodeFor(at).call('POST', `/v2/publish/${receiver.url}`, { headers, body: `${at}` }),
      ),
    );
    const told = answers.map((answer) => answer.json<{ messageId: string; debounced: number }>());
    const numbers = told.map(({ debounced }) => debounced).toSorted((a, b) => a - b);
    assert.deepEqual(
      numbers,
      told.map((_, index) => index + 1),
    );
    assert.equal(new Set(told.map(({ messageId }) => messageId)).size, 1);
    await nodes[1]!.call('POST', `/v2/messages/${told[0]!.messageId}/retry`);
    const [arrival] = await receiver.received(1);
    const newest = told.findIndex(({ debounced }) => debounced === told.length);
    assert.equal(String(arrival!.body), String(newest), 'what was accepted last is sent');
  });

  test('take an ack at any of them, whichever has sent the request', async (t) => {
    const receiver = await startReceiver(t, () => 202);
    const headers = { 'Service-Await-Ack': '30m' };
    const ids = await Promise.all(nodes.map((node) => node.published(receiver.url, { headers })));
    await receiver.received(NODES);
    const stateOf = async (id: string) =>
      (await nodes[0]!.call('GET', `/v2/messages/${id}`)).json<{ state: string; ack?: { progress?: number } }>();
    for (const arrival of receiver.arrivals) {
      const id = arrival.header('Service-Message-Id')!;
      const { pathname } = new URL(arrival.header('Service-Ack-Url')!);
      const say = (at: number, body: object) => nodeFor(at).call('POST', pathname, { body: JSON.stringify(body) });
      await waitFor('the 202 to be written', async () => (await stateOf(id)).ack);
      for (let at = 0; at < NODES; at += 1) assert.equal((await say(at, { progress: at / 10 })).status, 200);
      assert.equal((await stateOf(id)).ack?.progress, (NODES - 1) / 10);
      const ends = await Promise.all(nodes.map((_node, at) => say(at, { ok: true })));
      assert.deepEqual(
        ends.map(({ status }) => status),
        nodes.map(() => 200),
      );
      assert.equal((await stateOf(id)).state, 'DELIVERED');
      for (let at = 0; at < NODES; at += 1) assert.equal((await say(at, { ok: false })).status, 410);
    }
    assert.equal(new Set(ids).size, receiver.arrivals.length, 'each was sent once');
  });

  test('send nothing that parks to a host that a person has parked at one of them', async (t) => {
    const receiver = await startReceiver(t);
    const { host } = new URL(receiver.url);
    const park = async (at: number, what: 'park' | 'resume') =>
      assert.equal((await nodeFor(at).call('POST', `/v2/hosts/${host}/${what}`)).status, 200);
    await park(0, 'park');
    await waitFor('all nodes to know', async () => {
      const pages = await Promise.all(nodes.map((node) => node.call('GET', '/metrics')));
      return pages.every(({ text }) => /^postrider_parked_hosts 1$/m.test(text));
    });
    const headers = { 'Service-Outage': 'park' };
    const ids = await Promise.all(
      Array.from({ length: 30 }, (_, at) => nodeFor(at).published(receiver.url, { headers })),
    );
    // Each node claims and sends what does not park.
    const others = await startReceiver(t);
    for (const node of nodes) await node.published(others.url);
    await others.received(NODES);
    const why = await nodes[2]!.call('GET', `/v2/messages/${ids[0]}/why`);
    assert.equal(why.json<{ reason: string }>().reason, 'parked');
    assert.equal(receiver.arrivals.length, 0);
    await park(2, 'resume');
    await receiver.received(ids.length);
  });

  test('park a host that fails for all of them together, send one probe at a time, and then 1, 2, 4 … at once', async (t) => {
    let [isUp, isParked, underWay, answered] = [false, false, 0, 0];
    const tooMany: string[] = [];
    const receiver = await startReceiver(t, async () => {
      underWay += 1;
      const most = answered === 0 ? 1 : 2 ** Math.floor(Math.log2(answered));
      if (isParked && underWay > most) tooMany.push(`${underWay} at once after ${answered} answers`);
      await new Promise((resolve) => setTimeout(resolve, 30));
      underWay -= 1;
      if (isUp) answered += 1;
      return isUp ? 200 : 503;
    });
    const headers = { 'Service-Outage': 'park' };
    const publish = (count: number) =>
      Promise.all(Array.from({ length: count }, (_, at) => nodeFor(at).published(receiver.url, { headers })));
    const host = async () => {
      const path = `/v2/hosts/${new URL(receiver.url).host}`;
      return (await nodes[0]!.call('GET', path)).json<{ state: string; failedProbes?: number }>();
    };
    // Four failures at each of them: none alone sees ten in a row.
    const ids = await publish(4 * NODES);
    await waitFor('the host to be parked', async () => (await host()).state === 'parked');
    await waitFor('all nodes to know', async () => {
      const pages = await Promise.all(nodes.map((node) => node.call('GET', '/metrics')));
      return pages.every(({ text }) => /^postrider_parked_hosts 1$/m.test(text));
    });
    // Each node has claimed since; what it had begun before ends.
    const others = await startReceiver(t);
    for (const node of nodes) await node.published(others.url);
    await others.received(NODES);
    await waitFor('what had started to end', () => underWay === 0);
    isParked = true;
    ids.push(...(await publish(20)));
    await waitFor('a probe to fail', async () => ((await host()).failedProbes ?? 0) >= 1);
    isUp = true;
    for (const id of ids) {
      await waitFor(`the end of ${id}`, async () => {
        const { state } = (await nodes[1]!.call('GET', `/v2/messages/${id}`)).json<{ state: string }>();
        assert.notEqual(state, 'FAILED');
        return state === 'DELIVERED';
      });
    }
    assert.deepEqual(tooMany, []);
  });

  test('fire a schedule once for every tick', async (t) => {
    const receiver = await startReceiver(t);
    const headers = { 'Service-Cron': '0 0 1 1 *' };
    const made = await nodes[0]!.call('POST', `/v2/schedules/${receiver.url}/tick`, { headers });
    assert.equal(made.status, 201, made.text);
    const { scheduleId } = made.json<{ scheduleId: string }>();
    const count = 'SELECT count(*) AS n FROM messages WHERE schedule_id = $1';
    for (let tick = 1; tick <= 5; tick += 1) {
      // All of them hear of it before it is due, and wait for the same moment.
      await all.tables.query('UPDATE schedules SET next_at = $2 WHERE id = $1', [scheduleId, Date.now() + 400]);
      await all.tables.query('SELECT pg_notify($1, $2)', [CHANNEL, 'somebody w']);
      await receiver.received(tick);
      const next = 'SELECT next_at FROM schedules WHERE id = $1 AND next_at > $2';
      await waitFor('the next tick', async () => {
        const [row] = await all.tables.query(next, [scheduleId, Date.now() + 60_000]);
        return row;
      });
      assert.deepEqual(await all.tables.query(count, [scheduleId]), [{ n: tick }]);
    }
    await nodes[0]!.call('DELETE', `/v2/schedules/${scheduleId}`);
  });

  test('show the events of all nodes in the live stream of one, each exactly once', async (t) => {
    const receiver = await startReceiver(t, (arrival) => (arrival.header('service-retried') === '0' ? 503 : 200));
    const stream = await EventReader.open(t, nodes[0]!);
    const count = 200;
    const headers = { 'Service-Retry-Delay': '10', 'Service-Retries': '2' };
    const ids = await Promise.all(
      Array.from({ length: count }, (_, at) =>
        nodeFor(at).published(`${receiver.url}/${at}`, { headers, body: `${at}` }),
      ),
    );
    const mine = new Set(ids);
    const told = () => stream.events.filter(({ messageId }) => mine.has(messageId));
    await waitFor('all to be told as delivered', () => {
      const delivered = told().filter(({ state }) => state === 'DELIVERED');
      return delivered.length >= count;
    });
    const expected = new Map<string, number>();
    let cursor: string | undefined;
    do {
      const query = `count=1000${cursor === undefined ? '' : `&cursor=${cursor}`}`;
      const page = (await nodes[1]!.call('GET', `/v2/events?${query}`)).json<EventsPage>();
      for (const event of page.events) if (mine.has(event.messageId)) count1(expected, event);
      cursor = page.cursor;
    } while (cursor !== undefined);
    const seen = new Map<string, number>();
    for (const event of told()) count1(seen, event);
    assert.deepEqual([...seen].sort(), [...expected].sort());
    assert.ok([...seen.values()].every((times) => times === 1));
    assert.ok(seen.size >= 4 * count, `${seen.size} events of ${count} messages`);
  });
});

interface Told {
  readonly messageId: string;
  readonly state: string;
  readonly attempt?: number;
}

interface EventsPage {
  readonly events: readonly Told[];
  readonly cursor?: string;
}

function count1(counts: Map<string, number>, { messageId, state, attempt = 0 }: Told): void {
  const key = `${messageId} ${state} ${attempt}`;
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

/** Server-Sent Events as they come. */
class EventReader {
  readonly events: Told[] = [];

  static open(t: Cleanup, node: Node): Promise<EventReader> {
    const reader = new EventReader();
    return new Promise((resolve, reject) => {
      const request = get(`${node.api}/v2/events/stream`, { headers: node.authorization }, (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => {
          text += chunk;
          const blocks = text.split('\n\n');
          text = blocks.pop()!;
          for (const block of blocks) reader.#take(block);
          resolve(reader);
        });
      });
      request.on('error', reject);
      t.after(() => {
        request.destroy();
      });
    });
  }

  #take(block: string): void {
    const data = /^data: (.*)$/m.exec(block)?.[1];
    if (data !== undefined) this.events.push(JSON.parse(data) as Told);
  }
}
