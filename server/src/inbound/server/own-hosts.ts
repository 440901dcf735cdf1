// The host names that `dev` accepts. A web page can point its own name to the address of this machine after it was
// loaded (DNS rebinding), and would then reach a service with a well-known token. But the `Host` header of its requests
// still has the name of the page, so they can be refused.

import { BlockList, isIP } from 'node:net';

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');
LOOPBACK.addSubnet('::ffff:127.0.0.0', 104, 'ipv6');

export function isLoopback(address: string): boolean {
  const family = isIP(address);
  return family !== 0 && LOOPBACK.check(address, family === 4 ? 'ipv4' : 'ipv6');
}

export interface OwnHostsOptions {
  /** The address or name that the service listens on, from the settings. */
  readonly host: string;
  /** The name of this machine. */
  readonly machine: string;
  /** The allowed names. `*.name` allows all names below that name. */
  readonly allowed: readonly string[];
}

export class OwnHosts {
  readonly #options: OwnHostsOptions;
  #isReachableFromOutside = false;

  constructor(options: OwnHostsOptions) {
    this.#options = options;
  }

  /** Set to the actual address once the service listens. */
  set boundTo(address: string) {
    this.#isReachableFromOutside = !isLoopback(address);
  }

  /** Why a request with this `Host` is refused, or null. A browser always sends one, so a missing `Host` is allowed. */
  problemOf(header: string | undefined): string | null {
    if (header === undefined || this.#isOwn(nameIn(header))) return null;
    return (
      `Host: dev does not accept ${JSON.stringify(header.slice(0, 100))}, only localhost and its own addresses; ` +
      'if the name is yours, start dev with --allow-host <name>'
    );
  }

  /**
   * Why a request that a browser made for a page of another origin is refused, or null. A browser sends some requests
   * without a preflight, and a well-known token can be part of their URL.
   */
  originProblem(header: string | undefined): string | null {
    if (header === undefined || (URL.canParse(header) && this.#isOwn(nameIn(new URL(header).host)))) return null;
    return `Origin: dev does not accept requests from web pages of ${JSON.stringify(header.slice(0, 100))}; if the page is yours, start dev with --allow-host <name>`;
  }

  #isOwn(name: string): boolean {
    const { host, machine, allowed } = this.#options;
    // DNS rebinding needs a name, so an address is safe. A server that listens beyond this machine accepts any address.
    if (isIP(name) !== 0) return isLoopback(name) || name === host || this.#isReachableFromOutside;
    if (name === 'localhost' || name.endsWith('.localhost') || name === host.toLowerCase()) return true;
    if (this.#isReachableFromOutside && name === machine.toLowerCase()) return true;
    return allowed.some((each) => {
      const wanted = each.toLowerCase();
      return wanted.startsWith('*.') ? name.endsWith(wanted.slice(1)) : name === wanted;
    });
  }
}

/** The host name in a header, without port and brackets, in lower case. A trailing dot is dropped. */
function nameIn(header: string): string {
  const [, bracketed, plain] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/.exec(header.trim()) ?? [];
  return (bracketed ?? plain ?? '').toLowerCase().replace(/\.$/, '');
}
