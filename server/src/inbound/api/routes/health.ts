// Calls for load balancers, process supervisors and monitoring: whether the process is alive, whether it should get
// traffic, and its metrics.

import { METRICS_MEDIA_TYPE } from '../../server/metrics-listener.ts';
import type { Api, RouteContext } from '../api.ts';
import type { MetricsAccess } from '../metrics-access.ts';
import { StatusAnswer } from '../shapes/answers.ts';

export function healthRoutes(api: Api, { whyNotReady }: Pick<RouteContext<unknown>, 'whyNotReady'>): void {
  api.addPublic({
    path: '/healthz',
    summary: 'Liveness: the process runs',
    answer: StatusAnswer,
    handle: async () => ({ status: 'ok' }),
  });

  api.addPublic({
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

export function metricsRoutes(api: Api, access: MetricsAccess, read: () => Promise<string>): void {
  api.addPublic({
    path: '/metrics',
    summary: 'Metrics of this node, in the text format of Prometheus',
    mediaType: 'text/plain',
    ...(access.needsToken && { ownToken: 'the token that `--metrics-token` has set' }),
    handle: async (request, reply) => {
      access.require(request.headers.authorization);
      reply.header('Content-Type', METRICS_MEDIA_TYPE);
      return read();
    },
  });
}
