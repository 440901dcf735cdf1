// For load balancers and process supervisors: is the process alive, and should it get traffic?

import { whyNotReady } from '../../domain/acceptance.ts';
import type { AccountStore } from '../../store/account-store.ts';
import { systemWorld } from '../../world.ts';
import { StatusAnswer } from '../answers.ts';
import type { Api, RouteContext } from '../api.ts';

/** A store that takes longer counts as away: the caller must not wait for a disk that hangs. */
const ANSWER_MS_MAX = 2000;

export function healthRoutes(api: Api, { store, facts }: RouteContext<Pick<AccountStore, 'getAccount'>>): void {
  const isThere = storeProbe(store);
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
      const problem = whyNotReady(facts(), true) ?? whyNotReady(facts(), await isThere());
      reply.status(problem ? 503 : 200);
      return problem ? { status: 'not ready', code: problem.code, error: problem.message } : { status: 'ready' };
    },
  });
}

/** One query of the store at a time, however many callers ask meanwhile. */
function storeProbe(store: Pick<AccountStore, 'getAccount'>): () => Promise<boolean> {
  const { clock } = systemWorld();
  let asked: Promise<boolean> | null = null;
  const ask = () =>
    store
      .getAccount('')
      .then(
        () => true,
        () => false,
      )
      .finally(() => {
        asked = null;
      });
  return () =>
    new Promise((resolve) => {
      const cancel = clock.after(ANSWER_MS_MAX, () => resolve(false));
      asked ??= ask();
      void asked.then((isThere) => {
        cancel();
        resolve(isThere);
      });
    });
}
