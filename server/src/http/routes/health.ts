// For load balancers and process supervisors: is the process there, and should it get traffic?

import type { Api, ApiContext } from '../api.ts';

export function healthRoutes(api: Api, { store, isServing }: ApiContext): void {
  api.addOpen('/healthz', async () => ({ status: 'ok' }));

  api.addOpen('/readyz', async (_request, reply) => {
    const isReady = isServing() && (await canRead());
    reply.status(isReady ? 200 : 503);
    return { status: isReady ? 'ready' : 'not ready' };
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
