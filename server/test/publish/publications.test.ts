// What a request publishes is read before it is made: a topic is asked for once, however many elements name it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type NamedTopics, Publications } from '../../src/publish/publications.ts';
import { NO_DESCENT } from '../../src/rules/delivery/descent.ts';
import { DEFAULT_TIERS } from '../../src/rules/limits/tier.ts';
import { FORWARD_HEADER_BYTES_MAX, FORWARD_HEADERS_MAX } from '../../src/rules/publish/headers.ts';
import type { Store } from '../../src/store/ports/store.ts';
import { countingIds } from '../rules/given.ts';
import { manualWorld } from '../support/manual-clock.ts';

const RULES = {
  headerPrefix: 'Service-',
  forwardHeadersMax: FORWARD_HEADERS_MAX,
  forwardHeaderBytesMax: FORWARD_HEADER_BYTES_MAX,
  hopsMax: 5,
};

test('a topic that many elements of one request name is looked up once', async () => {
  const asked: string[] = [];
  const rest = { id: 'tpc_1', accountId: 'acc_1', name: 'news', defaults: [], createdAt: 0, updatedAt: 0, version: 1 };
  const store: Pick<Store, 'getTopic'> = {
    async getTopic(_accountId, nameOrId) {
      asked.push(nameOrId);
      return nameOrId === 'news' ? { ...rest, endpoints: [{ name: null, url: 'https://a.example/' }] } : null;
    },
  };
  const publications = new Publications({
    store: store as Store,
    world: manualWorld(),
    newId: countingIds(),
    tiers: DEFAULT_TIERS,
    rules: RULES,
    deduplicationWindowMs: 600_000,
    sizeLimits: { messagesMax: 10, bytesMax: 1000 },
  });
  const account = { id: 'acc_1', tier: 'free' as const };
  const publication = {
    queueName: null,
    headers: [],
    body: new Uint8Array(0),
    callerIp: null,
    scheduleId: null,
    descent: NO_DESCENT,
  };
  const topics: NamedTopics = new Map();
  for (const destination of ['news', 'other', 'news', 'news', 'other']) {
    await publications.read({ ...publication, destination }, account, topics);
  }
  assert.deepEqual(asked, ['news', 'other']);
});
