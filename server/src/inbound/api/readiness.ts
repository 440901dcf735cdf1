// Decides whether the node should get traffic. /readyz and the metric for readiness share this one rule.

import { type NodeFacts, STORE_SILENT, type StoreTrouble, whyNotReady } from '../../rules/limits/acceptance.ts';
import type { Problem } from '../../rules/requests/problem.ts';
import { systemWorld } from '../../runtime/world.ts';
import type { AccountStore } from '../../store/ports/account-store.ts';
import type { DeliveryStore } from '../../store/ports/delivery-store.ts';

/** How long the store may take. A slower store counts as unavailable: a caller must not wait for a disk that hangs. */
const ANSWER_MS_MAX = 2000;

type ProbedStore = Pick<AccountStore, 'getAccount'> & Pick<DeliveryStore, 'whyNotWritable'>;

/** Returns why the node should get no traffic now, or null. Checks the store. */
export type Readiness = () => Promise<Problem | null>;

export function readinessOf(store: ProbedStore, facts: () => NodeFacts): Readiness {
  const trouble = storeProbe(store);
  return async () => whyNotReady(facts(), null) ?? whyNotReady(facts(), await trouble());
}

/** Checks the store with a read and a write, as a publish does. Callers that come during a check share its result. */
function storeProbe(store: ProbedStore): () => Promise<StoreTrouble | null> {
  const { clock } = systemWorld();
  let asked: Promise<StoreTrouble | null> | null = null;
  const ask = () =>
    Promise.all([
      store.whyNotWritable(),
      store.getAccount('').then(
        () => null,
        () => STORE_SILENT,
      ),
    ])
      .then(
        ([writing, reading]) => writing ?? reading,
        () => STORE_SILENT,
      )
      .finally(() => {
        asked = null;
      });
  return () =>
    new Promise((resolve) => {
      const cancel = clock.after(ANSWER_MS_MAX, () => resolve(STORE_SILENT));
      asked ??= ask();
      void asked.then((trouble) => {
        cancel();
        resolve(trouble);
      });
    });
}
