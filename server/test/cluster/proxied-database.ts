// A database of its own, reached through a network that can be taken away.

import { sharedServer } from '../postgres/server.ts';
import type { Cleanup } from '../support/receiver.ts';
import { TcpProxy } from './tcp-proxy.ts';

/** `direct` is the way to the same database that stays. */
export async function proxiedDatabase(t: Cleanup): Promise<{ url: string; direct: string; proxy: TcpProxy }> {
  const server = await sharedServer();
  const name = await server.createDatabase();
  t.after(() => server.dropDatabase(name));
  const url = new URL(server.url(name));
  const direct = url.href;
  const proxy = await TcpProxy.start(Number(url.port));
  t.after(() => proxy.close());
  url.port = String(proxy.port);
  return { url: url.href, direct, proxy };
}
