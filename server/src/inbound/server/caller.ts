// Finds the address that a request came from: the address of its connection, or what a trusted proxy says.

import type { IncomingMessage } from 'node:http';
import { type BlockList, isIP } from 'node:net';
import { blockList } from '../../runtime/address-ranges.ts';

/** Limit for the proxies in a row. Nobody has more, and a caller may send a header of any length. */
const PROXIES_MAX = 16;

export class CallerAddresses {
  readonly #trusted: BlockList | null;

  /** The ranges of trusted proxies, whose `X-Forwarded-For` is used. Without any ranges, the header is not read. */
  constructor(trustedProxies: readonly string[]) {
    this.#trusted = trustedProxies.length === 0 ? null : blockList(trustedProxies);
  }

  ipOf(request: Pick<IncomingMessage, 'socket' | 'headers'>): string | null {
    const peer = request.socket.remoteAddress;
    if (peer === undefined) return null;
    const ip = withoutPrefix(peer);
    if (this.#trusted === null || !isIn(this.#trusted, ip)) return ip;
    const forwarded = request.headers['x-forwarded-for'];
    return forwarded === undefined ? ip : this.#beyondProxies(ip, [forwarded].flat().join(','));
  }

  /**
   * Each proxy appends the address that it was called from, so the header is read from its end. The first untrusted
   * address is the caller's. Everything before it in the header was written by the caller, so it is not used.
   */
  #beyondProxies(peer: string, forwarded: string): string {
    let ip = peer;
    for (const part of forwarded.split(',').slice(-PROXIES_MAX).reverse()) {
      const next = addressIn(part.trim());
      if (next === null) return ip;
      ip = next;
      if (!isIn(this.#trusted!, ip)) return ip;
    }
    return ip;
  }
}

function isIn(list: BlockList, ip: string): boolean {
  return list.check(ip, isIP(ip) === 4 ? 'ipv4' : 'ipv6');
}

/** The address without the port that some proxies add. Null if it has a zone: that means nothing on another machine. */
function addressIn(text: string): string | null {
  const [, bracketed, plain] = /^(?:\[([^\]]*)\](?::\d+)?|(\d+\.\d+\.\d+\.\d+):\d+)$/.exec(text) ?? [];
  const ip = withoutPrefix(bracketed ?? plain ?? text);
  return isIP(ip) === 0 || ip.includes('%') ? null : ip;
}

/** An IPv4 address without the IPv6 prefix that it has on a dual-stack socket. */
function withoutPrefix(ip: string): string {
  return ip.startsWith(':') ? ip.replace(/^::ffff:(?=\d+\.)/i, '') : ip;
}
