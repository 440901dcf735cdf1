// Opens a connection, but only to an address the egress guard has judged: every answer of the name server before
// connecting, and the far end of the socket after. It knows nothing of HTTP and keeps no connection.

import { lookup } from 'node:dns/promises';
import { connect, isIP, type LookupFunction, type Socket, type TcpNetConnectOpts } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { TargetUrl } from '../domain/destination.ts';
import type { Clock } from '../world.ts';
import { type EgressPolicy, judgeAddress } from './egress.ts';
import { connectWords, lookupWords, tlsWords } from './failure.ts';

/** Will never work: not a matter of trying again. The message is for people. */
export class RefusedError extends Error {}

/** May work another time. The message is for people. */
export class UnreachableError extends Error {}

/** The part of the world behind the guard; a test puts its own name server here. */
export interface Network {
  lookup(hostname: string): Promise<readonly string[]>;
  connect(options: TcpNetConnectOpts): Socket;
}

/**
 * `dns.lookup`, not Node's own resolver, because only it honours /etc/hosts and the search domains that short names in
 * Docker and Kubernetes need. The price: it runs on libuv's pool, which gives name lookups half its threads (2 of 4),
 * so a few names with dead name servers delay all others. One lookup per name at a time and DNS_TIMEOUT_MS soften
 * that; a larger UV_THREADPOOL_SIZE is the cure.
 */
export const systemNetwork: Network = {
  lookup: async (hostname) => (await lookup(hostname, { all: true, order: 'verbatim' })).map(({ address }) => address),
  connect,
};

const DNS_TIMEOUT_MS = 5_000;

/** Node gives up on an address after this time if there is another; its own 500 ms are less than one lost packet. */
const ADDRESS_TIMEOUT_MS = 1_500;

export type DialTarget = Pick<TargetUrl, 'protocol' | 'hostname' | 'port'>;

/** Rejects with a RefusedError or an UnreachableError. An abort drops whatever is under way. */
export type Dial = (target: DialTarget, signal: AbortSignal) => Promise<Socket>;

export function createDial(world: {
  readonly clock: Clock;
  readonly policy: EgressPolicy;
  readonly network: Network;
}): Dial {
  const { clock, policy, network } = world;
  const lookups = new Map<string, Promise<readonly string[]>>();

  function lookUp(hostname: string): Promise<readonly string[]> {
    let running = lookups.get(hostname);
    if (running === undefined) {
      running = network.lookup(hostname).finally(() => lookups.delete(hostname));
      lookups.set(hostname, running);
    }
    return running;
  }

  /** A literal address is its own answer; no lookup hook of Node or undici would ever see it. */
  function resolve(hostname: string, signal: AbortSignal): Promise<readonly string[]> {
    if (isIP(hostname) !== 0) return Promise.resolve([hostname]);
    return new Promise((done, fail) => {
      const giveUp = () => fail(new UnreachableError(`name lookup took over ${DNS_TIMEOUT_MS / 1_000} s: ${hostname}`));
      const cancelTimer = clock.after(DNS_TIMEOUT_MS, giveUp);
      signal.addEventListener('abort', cancelTimer);
      lookUp(hostname)
        .then(
          (addresses) => {
            if (addresses.length > 0) done(addresses);
            else fail(new UnreachableError(`name not found: ${hostname}`));
          },
          (error: Error) => fail(new UnreachableError(lookupWords(error, hostname))),
        )
        .finally(() => {
          cancelTimer();
          signal.removeEventListener('abort', cancelTimer);
        });
    });
  }

  function refuseUnlessAllowed(address: string, { hostname, port }: DialTarget): void {
    const objection = judgeAddress(address, port, policy);
    if (objection === null) return;
    const name = address === hostname ? '' : `${hostname} leads to an address that is not allowed: `;
    throw new RefusedError(`refused by the egress guard: ${name}${objection}`);
  }

  return async (target, signal) => {
    const { hostname, port } = target;
    const addresses = await resolve(hostname, signal);
    for (const address of addresses) refuseUnlessAllowed(address, target);
    if (signal.aborted) throw new UnreachableError('given up');

    const socket = network.connect({
      host: hostname,
      port,
      lookup: answerWith(addresses),
      autoSelectFamilyAttemptTimeout: ADDRESS_TIMEOUT_MS,
      noDelay: true,
    });
    signal.addEventListener('abort', () => socket.destroy(), { once: true });
    await opened(socket, 'connect', (error) => connectWords(error, `${hostname}:${port}`));
    try {
      refuseUnlessAllowed(socket.remoteAddress ?? 'an unknown address', target);
    } catch (refusal) {
      socket.destroy();
      throw refusal;
    }
    if (target.protocol === 'http:') return socket;

    // For a bare address there is no name to send; the certificate must then vouch for the address itself.
    const servername = isIP(hostname) === 0 ? hostname.replace(/\.$/, '') : '';
    const secured = connectTls({ socket, host: hostname, servername, ALPNProtocols: ['http/1.1'] });
    await opened(secured, 'secureConnect', tlsWords);
    return secured;
  };
}

/** A lookup for `net.connect` that has the judged addresses for an answer and asks nobody. */
function answerWith(addresses: readonly string[]): LookupFunction {
  const answers = addresses.map((address) => ({ address, family: isIP(address) }));
  return (_hostname, options, callback) => {
    if (options.all) callback(null, answers);
    else callback(null, answers[0]!.address, answers[0]!.family);
  };
}

function opened(socket: Socket, event: 'connect' | 'secureConnect', words: (error: Error) => string): Promise<void> {
  return new Promise((done, fail) => {
    const closed = () => fail(new UnreachableError(words(Object.assign(new Error('closed'), { code: 'ECONNRESET' }))));
    socket.once('close', closed);
    // Stays for good: an error between here and whoever takes the socket over must not go unheard.
    socket.on('error', (error) => fail(new UnreachableError(words(error))));
    socket.once(event, () => {
      socket.off('close', closed);
      done();
    });
  });
}
