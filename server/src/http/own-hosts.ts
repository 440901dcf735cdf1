// The host names that `dev` answers to. A web page can give its own name the address of this machine after it was loaded
// (DNS rebinding), and would then reach a service whose token everybody knows; but its requests still carry its own name.

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
  /** What it was told to listen on: an address, or a name of this machine. */
  readonly host: string;
  /** The name of this machine. */
  readonly machine: string;
  /** Names that were allowed; `*.` stands for all names below one. */
  readonly allowed: readonly string[];
}

export class OwnHosts {
  readonly #options: OwnHostsOptions;
  #listensBeyond = false;

  constructor(options: OwnHostsOptions) {
    this.#options = options;
  }

  /** Told once it listens. */
  set boundTo(address: string) {
    this.#listensBeyond = !isLoopback(address);
  }

  /** Why a request with this `Host` is refused, or null. Without one it comes from no browser. */
  problemOf(header: string | undefined): string | null {
    if (header === undefined || this.#isOwn(nameIn(header))) return null;
    return (
      `Host: dev does not answer to ${JSON.stringify(header.slice(0, 100))}, only to localhost and its own addresses; ` +
      'if the name is yours, start it with --allow-host <name>'
    );
  }

  /**
   * Why a request that a browser made for another page is refused, or null. A browser sends some requests without asking
   * first, and a token that everybody knows can stand in their target.
   */
  originProblem(header: string | undefined): string | null {
    if (header === undefined || (URL.canParse(header) && this.#isOwn(nameIn(new URL(header).host)))) return null;
    return `Origin: dev takes no requests of pages of ${JSON.stringify(header.slice(0, 100))}; if it is yours, start it with --allow-host <name>`;
  }

  #isOwn(name: string): boolean {
    const { host, machine, allowed } = this.#options;
    // An address cannot be given to somebody else's name: beyond this machine, any that leads here will do.
    if (isIP(name) !== 0) return isLoopback(name) || name === host || this.#listensBeyond;
    if (name === 'localhost' || name.endsWith('.localhost') || name === host.toLowerCase()) return true;
    if (this.#listensBeyond && name === machine.toLowerCase()) return true;
    return allowed.some((each) => {
      const wanted = each.toLowerCase();
      return wanted.startsWith('*.') ? name.endsWith(wanted.slice(1)) : name === wanted;
    });
  }
}

/** Without port and brackets, in lower case; a dot at the end means the same name. */
function nameIn(header: string): string {
  const [, bracketed, plain] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/.exec(header.trim()) ?? [];
  return (bracketed ?? plain ?? '').toLowerCase().replace(/\.$/, '');
}
