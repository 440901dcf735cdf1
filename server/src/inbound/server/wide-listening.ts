// Listens on one address with several sockets, where the system lets sockets share a port. In each turn of the event
// loop, Node.js accepts one new connection from each listening socket. With only one socket, a client that opens many
// connections makes all other new connections wait for seconds.

import { once } from 'node:events';
import type { Server as HttpServer } from 'node:http';
import { type AddressInfo, createServer, type Server, type ServerOpts } from 'node:net';
import { eachMax } from '../../rules/limits/budgets.ts';

export interface SocketGroup {
  readonly bound: AddressInfo;
  readonly sockets: number;
  /** Whether the system lets other sockets of this process listen on the same address. */
  readonly isShared: boolean;
  /** Accepts no more connections. Resolves when all open connections have ended. */
  close(): Promise<void>;
}

interface WideAddress {
  readonly host: string;
  readonly port: number;
  /** Whether another thread of this process listens on the address already. */
  readonly isShared?: boolean;
}

/** Makes `server` listen with several sockets. It gets the connections of all as if it had accepted them itself. */
export async function listenOnSeveralSockets(
  server: HttpServer,
  { host, port, isShared, ...options }: WideAddress & ServerOpts,
  onFault: (error: unknown) => void,
): Promise<SocketGroup> {
  if (!isShared) await requireFree(host, port);
  const canShare = await listen(server, host, port, true).then(
    () => true,
    (error: unknown) => {
      if (isShared) throw error;
      return false;
    },
  );
  if (!canShare) await listen(server, host, port, false);
  const bound = server.address() as AddressInfo;
  const others: Server[] = [];
  for (let count = 1; canShare && count < eachMax('acceptedAtOnce'); count += 1) {
    const other = createServer(options, (socket) => server.emit('connection', socket));
    const isListening = await listen(other, host, bound.port, true).then(
      () => true,
      () => false,
    );
    if (!isListening) break;
    others.push(other);
  }
  // A failed accept, for example for lack of a file handle, must lose only its connection, and not end the process.
  for (const each of [server, ...others]) each.on('error', onFault);
  return {
    bound,
    sockets: 1 + others.length,
    isShared: canShare,
    async close() {
      const closed = [server, ...others].map((each) => new Promise<void>((resolve) => each.close(() => resolve())));
      server.closeIdleConnections();
      await Promise.all(closed);
    },
  };
}

/** Whether this system lets several sockets listen on one port. */
export async function canSharePorts(): Promise<boolean> {
  const probe = createServer();
  try {
    await listen(probe, '127.0.0.1', 0, true);
  } catch {
    return false;
  }
  probe.close();
  await once(probe, 'close');
  return true;
}

/**
 * Throws when another process uses the port. This needs a socket that does not share ports: to sockets that do, the
 * system does not report a busy port.
 */
async function requireFree(host: string, port: number): Promise<void> {
  if (port === 0) return;
  const probe = createServer();
  await listen(probe, host, port, false);
  probe.close();
  await once(probe, 'close');
}

function listen(server: Server | HttpServer, host: string, port: number, reusePort: boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port, reusePort }, () => {
      server.off('error', reject);
      resolve();
    });
  });
}
