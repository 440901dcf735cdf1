// Opens a connection, but only to an address that the egress guard allows. It checks every address from the name server
// before connecting, and the socket's remote address after. It knows nothing of HTTP and keeps no connection.

import { lookup } from 'node:dns/promises';
import { connect, isIP, type LookupFunction, type OnReadOpts, type Socket, type TcpNetConnectOpts } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { TargetUrl } from '../../rules/publish/destination.ts';
import { connectErrorText, tlsErrorText } from '../http/failure.ts';
import { type EgressPolicy, whyAddressRefused } from './egress.ts';
import { type Lookups, UnreachableError } from './lookups.ts';

/** The destination is refused, and a retry cannot help. Users see the text of this error. */
export class RefusedError extends Error {
  /** The text with the address, for the operator. Null when there is nothing to add. */
  readonly detail: string | null;
  constructor(message: string, detail: string | null) {
    super(message);
    this.detail = detail;
  }
}

/** The network behind the guard. A test puts its own name server here. */
export interface Network {
  lookup(hostname: string): Promise<readonly string[]>;
  connect(options: TcpNetConnectOpts): Socket;
}

/**
 * Look-ups use `dns.lookup` and not the resolver of Node.js, because only `dns.lookup` honours /etc/hosts and the
 * search domains that short names in Docker and Kubernetes need. It runs on libuv's pool, of which look-ups get half:
 * bin/postrider.js makes that half as large as the budget of look-ups (docs/decisions/0017-name-look-ups.md).
 */
export const systemNetwork: Network = {
  lookup: async (hostname) => (await lookup(hostname, { all: true, order: 'verbatim' })).map(({ address }) => address),
  connect,
};

/** How long Node.js tries an address if there is another. Its default of 500 ms is too short if one packet is lost. */
const ADDRESS_TIMEOUT_MS = 1_500;

export type DialTarget = Pick<TargetUrl, 'protocol' | 'hostname' | 'port'>;

/**
 * Rejects with a RefusedError, an UnreachableError or a NoLookupError. An abort stops the look-up or the connection
 * attempt. `onread`, for plain HTTP only, gets the bytes that are read instead of the socket's stream.
 */
export type Dial = (target: DialTarget, accountId: string, signal: AbortSignal, onread?: OnReadOpts) => Promise<Socket>;

export function createDial(world: {
  readonly policy: EgressPolicy;
  readonly network: Pick<Network, 'connect'>;
  readonly lookups: Pick<Lookups, 'find'>;
}): Dial {
  const { policy, network, lookups } = world;

  function refuseUnlessAllowed(address: string, { hostname, port }: DialTarget): void {
    const objection = whyAddressRefused(address, port, policy);
    if (objection === null) return;
    if (address === hostname) throw new RefusedError(`refused by the egress guard: ${objection}`, null);
    // The account must not learn what a name resolves to, and in what kind of network that is.
    const reason = `refused by the egress guard: ${hostname} resolves to an address that is not allowed`;
    throw new RefusedError(reason, `${reason}: ${objection}`);
  }

  return async (target, accountId, signal, onread) => {
    const { hostname, port } = target;
    const addresses = await lookups.find(accountId, hostname);
    for (const address of addresses) refuseUnlessAllowed(address, target);
    if (signal.aborted) throw new UnreachableError('given up');

    const socket = network.connect({
      host: hostname,
      port,
      lookup: answerWith(addresses),
      autoSelectFamilyAttemptTimeout: ADDRESS_TIMEOUT_MS,
      noDelay: true,
      ...(onread && { onread }),
    });
    signal.addEventListener('abort', () => socket.destroy(), { once: true });
    await opened(socket, 'connect', (error) => connectFailure(error, hostname, port));
    try {
      refuseUnlessAllowed(socket.remoteAddress ?? 'an unknown address', target);
    } catch (refusal) {
      socket.destroy();
      throw refusal;
    }
    return target.protocol === 'http:' ? socket : secure(socket, hostname);
  };
}

/** Starts TLS. A URL with an address has no server name to send: then the certificate must be valid for the address. */
async function secure(socket: Socket, hostname: string): Promise<Socket> {
  const servername = isIP(hostname) === 0 ? hostname.replace(/\.$/, '') : '';
  const secured = connectTls({ socket, host: hostname, servername, ALPNProtocols: ['http/1.1'] });
  await opened(secured, 'secureConnect', (error) => new UnreachableError(tlsErrorText(error)));
  return secured;
}

/** A lookup for `net.connect` that returns the allowed addresses and makes no DNS query. */
function answerWith(addresses: readonly string[]): LookupFunction {
  const answers = addresses.map((address) => ({ address, family: isIP(address) }));
  return (_hostname, options, callback) => {
    if (options.all) callback(null, answers);
    else callback(null, answers[0]!.address, answers[0]!.family);
  };
}

/** The account gets the name that it requested. The addresses behind it are for the operator. */
function connectFailure(error: Error, hostname: string, port: number): UnreachableError {
  const host = `${hostname.includes(':') ? `[${hostname}]` : hostname}:${port}`;
  const reason = connectErrorText(error, host, 'byName');
  const detail = connectErrorText(error, host, 'byAddress');
  return new UnreachableError(reason, detail === reason ? null : detail);
}

function opened(
  socket: Socket,
  event: 'connect' | 'secureConnect',
  failure: (error: Error) => UnreachableError,
): Promise<void> {
  return new Promise((done, fail) => {
    const closed = () => fail(failure(Object.assign(new Error('closed'), { code: 'ECONNRESET' })));
    socket.once('close', closed);
    // This listener stays: an error that comes before the new owner of the socket listens must not end the process.
    socket.on('error', (error) => fail(failure(error)));
    socket.once(event, () => {
      socket.off('close', closed);
      done();
    });
  });
}
