// For load balancers and process supervisors: is the process alive, and should it get traffic?

import type { Api, RouteContext } from '../api.ts';
import { StatusAnswer } from '../shapes/answers.ts';

export function healthRoutes(api: Api, { whyNotReady }: Pick<RouteContext<unknown>, 'whyNotReady'>): void {
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
      const problem = await whyNotReady();
      reply.status(problem ? 503 : 200);
      return problem ? { status: 'not ready', code: problem.code, error: problem.message } : { status: 'ready' };
    },
  });
}
