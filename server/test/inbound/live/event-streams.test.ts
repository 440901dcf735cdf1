// A live stream whose reader cannot take all at once: wherever it is cut, the rest follows when there is room again.

import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { type TestContext, test } from 'node:test';
import { EventStreams } from '../../../src/inbound/live/event-streams.ts';
import { eachMax } from '../../../src/rules/limits/budgets.ts';
import type { Store } from '../../../src/store/ports/store.ts';
import { ACCOUNT, answered, KEYS, message, messages, NOW, settlementOf } from '../../conformance/given.ts';
import { Node } from '../../conformance/harness.ts';
import { inMemory } from '../../conformance/sqlite-harness.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { waitFor } from '../../support/wait.ts';

/** A response whose socket is full after each write, until the test empties it, unless it reads on by itself. */
class FullResponse extends EventEmitter {
  readonly #readsOn: boolean;
  readonly req = { socket: Object.assign(new EventEmitter(), { readableEnded: false }) };
  readonly events: string[] = [];
  destroyed = false;
  isFull = false;

  constructor(readsOn = false) {
    super();
    this.#readsOn = readsOn;
  }

  writeHead(): void {}

  write(text: string): boolean {
    const states = [...text.matchAll(/^event: (\w+)$/gm)].map(([, state]) => state!);
    this.events.push(...states);
    this.isFull ||= states.length > 0 && !this.#readsOn;
    return !this.isFull;
  }

  empty(): void {
    this.isFull = false;
    this.emit('drain');
  }

  end(): void {
    this.destroy();
  }

  destroy(): void {
    this.destroyed = true;
    this.emit('close');
  }
}

async function open(t: TestContext) {
  const clock = new ManualClock(NOW);
  const harness = await inMemory({ clock });
  t.after(() => harness.close());
  const node = new Node('nod_a', await harness.open('nod_a'));
  await node.store.createAccount({ id: ACCOUNT, name: 'one', tier: 'free', createdAt: NOW }, KEYS);
  const streams = new EventStreams(node.store, clock);
  t.after(() => streams.close());
  return { clock, node, streams };
}

test('a reader whose socket is full in the middle of a step gets the rest of the step', async (t) => {
  const { clock, node, streams } = await open(t);
  await node.store.accept([message()], NOW);
  // So much that nothing more is written behind it at once.
  const body = new Uint8Array(eachMax('streamBytes')).fill(120);
  const outcome = { ...answered(500), body } as ReturnType<typeof answered>;
  await node.store.settle([settlementOf(await node.claimOne(NOW), outcome, NOW + 10)], NOW + 10);
  const response = new FullResponse();
  await streams.open(streamOf(response, '1.0'));
  await waitFor('the attempt', () => {
    clock.advance(100);
    return response.events.includes('ERROR');
  });
  assert.deepEqual(response.events, ['CREATED', 'ACTIVE', 'ERROR'], 'the socket is full between ERROR and RETRY');
  // It is not waited for, and reads again when it is empty.
  clock.advance(1000);
  await waitFor('the rest', () => {
    response.empty();
    clock.advance(100);
    return response.events.length > 3;
  });
  response.empty();
  for (let turn = 0; turn < 3; turn += 1) {
    clock.advance(100);
    await new Promise(setImmediate);
  }
  assert.deepEqual(response.events, ['CREATED', 'ACTIVE', 'ERROR', 'RETRY']);
});

/** A stream from the beginning, or from now on. */
function streamOf(response: FullResponse, lastSeen: string | null) {
  const takeOver = () => response as unknown as ServerResponse;
  return { accountId: ACCOUNT, filter: { messages: {} }, lastSeen, takeOver };
}

test('what does not fit on one page follows without further news', async (t) => {
  const { clock, node, streams } = await open(t);
  await node.store.accept(messages(350, { dueAt: NOW + 1000 }), NOW);
  const response = new FullResponse(true);
  await streams.open(streamOf(response, '1.0'));
  await waitFor('all events', () => {
    clock.advance(100);
    return response.events.length >= 350;
  });
  assert.equal(response.events.length, 350);
});

test('what happens between the look for the end and the first wait for news is shown', async (t) => {
  const { clock, node } = await open(t);
  let isFirst = true;
  const journalEnd: Store['journalEnd'] = async (accountId) => {
    const end = await node.store.journalEnd(accountId);
    if (isFirst) await node.store.accept([message({ dueAt: NOW + 1000 })], NOW);
    isFirst = false;
    return end;
  };
  const streams = new EventStreams({ ...node.store, journalEnd }, clock);
  t.after(() => streams.close());
  const response = new FullResponse(true);
  await streams.open(streamOf(response, null));
  await waitFor('the event', () => {
    clock.advance(100);
    return response.events.length > 0;
  });
  assert.deepEqual(response.events, ['CREATED']);
});

test('a stream that could not be opened, or whose caller has gone meanwhile, takes no place', async (t) => {
  const { clock, node } = await open(t);
  const journalEnd = () => Promise.reject(new Error('the store is away'));
  const away = new EventStreams({ ...node.store, journalEnd }, clock);
  await assert.rejects(away.open(streamOf(new FullResponse(), null)), /away/);
  assert.equal(away.pool.used, 0);
  const streams = new EventStreams(node.store, clock);
  const gone = new FullResponse();
  gone.destroy();
  await streams.open(streamOf(gone, null));
  assert.equal(streams.pool.used, 0);
  const here = new FullResponse();
  await streams.open(streamOf(here, null));
  assert.equal(streams.pool.used, 1);
  here.destroy();
  assert.equal(streams.pool.used, 0);
  streams.close();
  await assert.rejects(streams.open(streamOf(new FullResponse(), null)), /shutting down/);
  assert.equal(streams.pool.used, 0);
});
