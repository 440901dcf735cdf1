// With the Node.js that runs this, and the installed undici, pg and pino, every self-test of what relies on their inside passes.
// node-versions.test.ts runs this on each Node.js that is promised.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as undici from 'undici';
import {
  FEATURES,
  type Feature,
  isFeatureWorking,
  reportBrokenFeatures,
  testFeature,
} from '../../../src/runtime/node-internals/features.ts';
import { testReadGuard } from '../../../src/runtime/node-internals/read-guard.ts';
import { testInternals } from '../../../src/runtime/node-internals/self-tests.ts';

test('all self-tests pass: nothing falls back to the public way', async () => {
  const told: string[] = [];
  reportBrokenFeatures((feature, why) => told.push(`${feature}: ${why}`));
  await testInternals(true);
  await testFeature('answerGuard', () => testReadGuard(undici));
  assert.deepEqual(told, []);
  for (const feature of Object.keys(FEATURES) as Feature[]) assert.ok(isFeatureWorking(feature), feature);
});
