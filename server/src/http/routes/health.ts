// For load balancers and process supervisors: is the process there, and should it get traffic?

import { StatusAnswer } from '../answers.ts';
import type { Api, ApiContext } from '../api.ts';

export function healthRoutes(api: Api, { store, isServing }: ApiContext): void {
  api.addOpen({
    path: '/healthz',
    summary: 'Is the process there?',
    answer: StatusAnswer,
    handle: async () => ({ status: 'ok' }),
  });

  api.addOpen({
    path: '/readyz',
    summary: 'Should it get traffic?',
    answer: StatusAnswer,
    statuses: [200, 503],
    handle: async (_request, reply) => {
      const isReady = isServing() && (await canRead());
      reply.status(isReady ? 200 : 503);
      return { status: isReady ? 'ready' : 'not ready' };
    },
  });

  async function canRead(): Promise<boolean> {
    try {
      await store.getAccount('');
      return true;
    } catch {
      return false;
    }
  }
}
