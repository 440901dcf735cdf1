// Metrics for a monitoring system, on the port of the API.

import { METRICS_TYPE } from '../../server/metrics-listener.ts';
import type { Api } from '../api.ts';
import type { MetricsAccess } from '../metrics-access.ts';

export function metricsRoutes(api: Api, access: MetricsAccess, read: () => Promise<string>): void {
  api.addOpen({
    path: '/metrics',
    summary: 'Metrics of this node, in the text format of Prometheus',
    mediaType: 'text/plain',
    ...(access.needsToken && { ownToken: 'the token that `--metrics-token` has set' }),
    handle: async (request, reply) => {
      access.require(request.headers.authorization);
      reply.header('Content-Type', METRICS_TYPE);
      return read();
    },
  });
}
