// The times of a heartbeat, one against the other: what is started and written ends well before another node takes over.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DeliveryStore } from '../../src/store/ports/delivery-store.ts';
import { heartbeat, NODE_TTL_MS } from '../../src/upkeep/leases.ts';

test('attempts start, and their requests are written, only while no other node can take them over', async () => {
  const told: number[] = [];
  const store = {
    heartbeat: async (_node: string, ttlMs: number) => void told.push(ttlMs),
  } as unknown as DeliveryStore;
  const kept = { wallAt: 0, trustedAt: 0, orderAt: 0, doubtedMs: 0 };
  const beat = heartbeat(store, 'nod_a', { keep: async (keep) => void (await keep(kept)) });
  const againMs = await beat.run();
  assert.deepEqual(told, [NODE_TTL_MS]);
  assert.ok(againMs < beat.goodForMs, 'the next one comes before the last is over');
  assert.ok(beat.goodForMs < beat.wireForMs, 'what has started has time to be written');
  assert.ok(beat.wireForMs < NODE_TTL_MS, 'what is written arrives before another node starts it');
});
