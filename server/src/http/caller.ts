// The address a request came from.

import type { IncomingMessage } from 'node:http';

/**
 * Without the IPv6 prefix that an IPv4 caller gets on a dual-stack socket. Headers that claim another address are
 * ignored.
 */
export function callerIp(request: IncomingMessage): string | null {
  return request.socket.remoteAddress?.replace(/^::ffff:(?=\d+\.)/, '') ?? null;
}
