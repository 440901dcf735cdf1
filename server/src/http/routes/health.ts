// For load balancers and process supervisors: is the process alive, and should it get traffic?

import { STORE_SILENT, type StoreTrouble, whyNotReady } from '../../domain/acceptance.ts';
import type { AccountStore } from '../../store/account-store.ts';
import type { DeliveryStore } from '../../store/delivery-store.ts';
import { systemWorld } from '../../world.ts';
import { StatusAnswer } from '../answers.ts';
import type { Api, RouteContext } from '../api.ts';

/** A store that takes longer counts as away: the caller must not wait for a disk that hangs. */
const ANSWER_MS_MAX = 2000;

type ProbedStore = Pick<AccountStore, 'getAccount'> & Pick<DeliveryStore, 'whyNotWritable'>;

export function healthRoutes(api: Api, { store, facts }: RouteContext<ProbedStore>): void {
  const trouble = storeProbe(store);
  api.addOpen({
    path: '/healthz',
    summary: 'Liveness: the process runs',
    answer: StatusAnswer,
    handle: async () => ({ status: 'ok' }),
  });

  api.addOpen({
    path: '/readyz',
    summary: 'Readiness: the node can get traffic',
    answer: StatusAnswer,
    statuses: [200, 503],
    handle: async (_request, reply) => {
      const problem = whyNotReady(facts(), null) ?? whyNotReady(facts(), await trouble());
      reply.status(problem ? 503 : 200);
      return problem ? { status: 'not ready', code: problem.code, error: problem.message } : { status: 'ready' };
    },
  });
}

/** Reads and writes, as a publish does. One question to the store at a time, however many callers ask meanwhile. */
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
