// Random sequences of everything that can happen to a store, on two nodes, held against the array model after each.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isShort } from '../support/campaign.ts';
import { type HarnessFactory, withNodes } from './harness.ts';
import { StoreModel } from './model.ts';
import { EVENTS, modelCommands } from './model-commands.ts';

/** A failure prints its seed and path. The same seed gives the same sequences; more runs and other seeds by hand. */
const SEED = Number(process.env.MODEL_SEED ?? 1);
const RUNS = Number(process.env.MODEL_RUNS ?? (isShort ? 40 : 300));

/** Too rare for a part of the runs: only the store that makes all of them must show it. */
const RARE: ReadonlySet<string> = new Set(['cancelled held head']);

/** `share`: of the runs, for a store on which each takes long. */
export function modelConformance(name: string, factory: HarnessFactory, share = 1): void {
  test(`${name} behaves like the array model for random commands in random order (seed ${SEED})`, async () => {
    const seen = new Set<string>();
    await fc.assert(
      fc.asyncProperty(modelCommands, (commands) =>
        withNodes(factory, async ({ a, b }) => {
          const real = { nodes: [a, b] as const, claims: new Map(), seen };
          await fc.asyncModelRun(() => ({ model: new StoreModel(), real }), commands);
          for (const { accountId } of await a.store.storedAccounts('', 100)) {
            assert.equal(await b.store.recountStored(accountId), 0, 'what the account stores was counted wrong');
          }
        }),
      ),
      { seed: SEED, numRuns: Math.ceil(RUNS * share) },
    );
    // A short form is too short to see all.
    if (isShort) return;
    const unseen = EVENTS.filter((event) => !seen.has(event) && (share === 1 || !RARE.has(event)));
    assert.deepEqual(unseen, [], 'the generator is too weak: this never happened');
  });
}
