// A live stream whose reader cannot take all at once: wherever it is cut, the rest follows when there is room again.

import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { type TestContext, test } from 'node:test';
import { eachMax } from '../../src/domain/budgets.ts';
import { EventStreams } from '../../src/http/event-streams.ts';
import { ACCOUNT, answered, KEYS, message, NOW, settlementOf } from '../conformance/given.ts';
import { Node } from '../conformance/harness.ts';
import { inMemory } from '../conformance/sqlite-harness.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { waitFor } from '../support/wait.ts';

/** A response whose socket is full after each write, until the test empties it. */
class FullResponse extends EventEmitter {
  readonly req = { socket: Object.assign(new EventEmitter(), { readableEnded: false }) };
  readonly events: string[] = [];
  destroyed = false;
  isFull = false;

  writeHead(): void {}

  write(text: string): boolean {
    const states = [...text.matchAll(/^event: (\w+)$/gm)].map(([, state]) => state!);
    this.events.push(...states);
    this.isFull ||= states.length > 0;
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
  await streams.open({
    accountId: ACCOUNT,
    filter: { messages: {} },
    lastSeen: '1.0',
    takeOver: () => response as unknown as ServerResponse,
  });
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
