// Metrics for a monitoring system.

import type { Api } from '../api.ts';

export function metricsRoutes(api: Api, read: () => Promise<string>): void {
  api.addOpen({
    path: '/metrics',
    summary: 'Metrics of this node, in the text format of Prometheus',
    mediaType: 'text/plain',
    handle: async (_request, reply) => {
      reply.header('Content-Type', 'text/plain; version=0.0.4; charset=utf-8');
      return read();
    },
  });
}
