// Cancelling through one node what another has claimed: by what the receiver sees, no attempt starts after the answer, and
// the next of a queue never comes before the one that was cancelled. The node that holds the claims is stopped (SIGSTOP)
// with connections that are not open yet, so that it has claimed and not sent when it wakes.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer as createHttps } from 'node:https';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { CA, CERTIFICATE, KEY } from '../delivery/http/certificates.ts';
import type { Cleanup } from '../support/receiver.ts';
import { waitFor } from '../support/wait.ts';
import { type Node, Nodes } from './nodes.ts';

interface Arrived {
  readonly messageId: string;
  readonly atMs: number;
}

/** A receiver that lets a connection come to be when it is told to: until then, whoever connects has sent nothing. */
class SlowReceiver {
  readonly arrivals: Arrived[] = [];
  /** Not answered yet. */
  readonly unanswered: (() => void)[] = [];
  url = '';
  answersAtOnce = true;
  isOpen = false;
  #held: Socket[] = [];

  async start(t: Cleanup): Promise<void> {
    const secure = createHttps({ key: KEY, cert: CERTIFICATE }, (request, response) => {
      this.arrivals.push({ messageId: String(request.headers['service-message-id']), atMs: performance.now() });
      const answer = () => void response.end();
      if (this.answersAtOnce) answer();
      else this.unanswered.push(answer);
    });
    const all = new Set<Socket>();
    const server = createServer({ pauseOnConnect: true }, (socket) => {
      all.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => all.delete(socket));
      if (this.isOpen) secure.emit('connection', socket);
      else this.#held.push(socket);
    });
    this.open = () => {
      this.isOpen = true;
      for (const socket of this.#held.splice(0)) secure.emit('connection', socket);
    };
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => {
      for (const socket of all) socket.destroy();
      server.close();
    });
    this.url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  open: () => void = () => {};

  /** Connections are held again, and those that were open are used no more. */
  close(): void {
    this.isOpen = false;
  }

  get waiting(): number {
    return this.#held.length;
  }

  arrivalsOf(ids: readonly string[]): Arrived[] {
    return this.arrivals.filter(({ messageId }) => ids.includes(messageId));
  }
}

interface Cancelled {
  readonly id: string;
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
  readonly answeredAtMs: number;
}

suite('a message that another node has claimed', () => {
  const ends: (() => void | Promise<void>)[] = [];
  const cleanup: Cleanup = { after: (end) => ends.unshift(end) };
  let api: Node;
  let holder: Node;
  before(async () => {
    const folder = await mkdtemp(join(tmpdir(), 'postrider-cancelled-'));
    cleanup.after(() => rm(folder, { recursive: true }));
    const caFile = join(folder, 'ca.pem');
    await writeFile(caFile, CA);
    const nodes = await Nodes.onNewDatabase(cleanup, { NODE_EXTRA_CA_CERTS: caFile });
    [api] = (await nodes.start(1, '--role', 'api')) as [Node];
    [holder] = (await nodes.start(1, '--role', 'deliver')) as [Node];
  });
  after(async () => {
    for (const end of ends) await end();
  });

  const receiverOf = async (t: Cleanup) => {
    const receiver = new SlowReceiver();
    await receiver.start(t);
    return receiver;
  };
  const enqueued = async (queue: string, url: string) => {
    const answer = await api.call('POST', `/v2/enqueue/${queue}/${url}`);
    assert.equal(answer.status, 201, answer.text);
    return answer.json<{ messageId: string }>().messageId;
  };
  const cancel = async (id: string): Promise<Cancelled> => {
    const { status, ...answer } = await api.call('DELETE', `/v2/messages/${id}`);
    return { id, status, body: JSON.parse(answer.text) as Cancelled['body'], answeredAtMs: performance.now() };
  };
  const stateOf = async (id: string) => (await api.call('GET', `/v2/messages/${id}`)).json<{ state: string }>().state;
  const ended = (ids: readonly string[]) =>
    waitFor('all to be cancelled', async () => {
      const states = await Promise.all(ids.map(stateOf));
      return states.every((state) => state === 'CANCELLED');
    });
  /** A wait that ends in vain says what the holder had to say, and what the messages wait for. */
  const explained = async (about: string, ids: readonly string[], condition: () => boolean) => {
    try {
      await waitFor(about, condition);
    } catch (error) {
      const why = await Promise.all(ids.map(async (id) => (await api.call('GET', `/v2/messages/${id}/why`)).text));
      const { child, stderr } = holder.process;
      throw new Error(`${(error as Error).message}; holder: ${child.exitCode} ${stderr}; ${why.join()}`);
    }
  };
  const startedLate = (receiver: SlowReceiver, cancelled: readonly Cancelled[]) =>
    cancelled.filter(
      ({ id, status, answeredAtMs }) =>
        status === 200 && receiver.arrivalsOf([id]).some(({ atMs }) => atMs > answeredAtMs),
    );
  /** While the holder stands still, some messages and heads of queues that it has claimed and not sent. */
  const given = async (t: Cleanup, plain: number, queues: number) => {
    const receiver = await receiverOf(t);
    const ids = await Promise.all(Array.from({ length: plain }, () => api.published(receiver.url)));
    const heads: string[] = [];
    const nexts: string[] = [];
    for (let queue = 0; queue < queues; queue += 1) {
      const name = `q${queue}-${receiver.url.split(':').at(-1)}`;
      heads.push(await enqueued(name, receiver.url));
      nexts.push(await enqueued(name, receiver.url));
    }
    await explained('all to be claimed', [...ids, ...heads], () => receiver.waiting === plain + queues);
    return { receiver, cancelling: [...ids, ...heads], nexts };
  };

  test('is not sent when its node wakes from a freeze, and the next of its queue does not overtake', async (t) => {
    const { receiver, cancelling, nexts } = await given(t, 8, 3);
    holder.process.signal('SIGSTOP');
    let cancelled: Cancelled[];
    try {
      cancelled = await Promise.all(cancelling.map(cancel));
      receiver.open();
      // The connections are there by the time it wakes, inside of its lease.
      await wait(1500);
    } finally {
      holder.process.signal('SIGCONT');
    }
    await explained('the next of each queue', nexts, () => receiver.arrivalsOf(nexts).length === nexts.length);
    await ended(cancelling);
    assert.deepEqual(startedLate(receiver, cancelled), [], 'sent after the cancel was answered with 200');
    assert.deepEqual(receiver.arrivalsOf(cancelling), [], 'sent after the freeze');
    for (const { status, body } of cancelled) {
      assert.equal(status, 202);
      assert.deepEqual([body.cancelled, body.requested, body.state], [1, 1, 'CANCEL_REQUESTED']);
    }
  });

  test('is given back at once by a healthy node: 200, cancelled, and never sent', async (t) => {
    const { receiver, cancelling, nexts } = await given(t, 4, 1);
    const cancelled = await Promise.all(cancelling.map(cancel));
    for (const { status, body } of cancelled) assert.deepEqual([status, body], [200, { cancelled: 1 }]);
    for (const id of cancelling) assert.equal(await stateOf(id), 'CANCELLED');
    receiver.open();
    await explained('the next of the queue', nexts, () => receiver.arrivalsOf(nexts).length === nexts.length);
    assert.deepEqual(receiver.arrivalsOf(cancelling), []);
  });

  test('whose node wakes while the caller waits: 200, and none starts after the answer', async (t) => {
    const { receiver, cancelling, nexts } = await given(t, 4, 2);
    holder.process.signal('SIGSTOP');
    const answers = Promise.all(cancelling.map(cancel));
    receiver.open();
    await wait(500);
    holder.process.signal('SIGCONT');
    const cancelled = await answers;
    await explained('the next of each queue', nexts, () => receiver.arrivalsOf(nexts).length === nexts.length);
    await ended(cancelling);
    assert.deepEqual(startedLate(receiver, cancelled), []);
  });

  test('that is already being sent arrives, is recorded, and holds its queue until it has ended', async (t) => {
    const receiver = await receiverOf(t);
    receiver.answersAtOnce = false;
    receiver.open();
    const [head, next] = [await enqueued('wire', receiver.url), await enqueued('wire', receiver.url)];
    await explained('the head', [head], () => receiver.unanswered.length === 1);
    const { status, body } = await cancel(head);
    assert.deepEqual([status, body], [200, { cancelled: 1 }]);
    assert.equal(await stateOf(head), 'CANCEL_REQUESTED');
    assert.equal(await stateOf(next), 'CREATED');
    const answeredAtMs = performance.now();
    receiver.unanswered.shift()!();
    await waitFor('the next', () => receiver.unanswered.length === 1);
    receiver.unanswered.shift()!();
    assert.ok(receiver.arrivalsOf([next])[0]!.atMs > answeredAtMs);
    const read = await api.call('GET', `/v2/messages/${head}`);
    const { state, attempts } = read.json<{ state: string; attempts: { outcome: string }[] }>();
    assert.deepEqual([state, attempts.map(({ outcome }) => outcome)], ['CANCELLED', ['answered']]);
  });
});
