// Ranges of addresses in CIDR form: whether one is written correctly, and whether an address is in one of several.

import ipaddr from 'ipaddr.js';

/**
 * Why a range is wrong, or null. Strict, because each entry opens a hole: a text that the library reads differently
 * than a person is refused.
 */
export function wrongRange(cidr: string): string | null {
  if (ipaddr.isValid(cidr)) {
    return `"${cidr}" has no prefix length; for this one address write ${cidr}/${cidr.includes(':') ? 128 : 32}`;
  }
  if (!ipaddr.isValidCIDR(cidr) || cidr.includes('%')) {
    return `"${cidr}" is not a CIDR range such as 10.0.0.0/8 or fd00::/8`;
  }
  const [address, prefix] = ipaddr.parseCIDR(cidr);
  if (address instanceof ipaddr.IPv4) {
    const network = `${ipaddr.IPv4.networkAddressFromCIDR(cidr)}/${prefix}`;
    return cidr === network ? null : `"${cidr}" is the range ${network}: write that if you mean it`;
  }
  if (address.isIPv4MappedAddress()) return `"${cidr}" must be written as an IPv4 range`;
  const network = ipaddr.IPv6.networkAddressFromCIDR(cidr);
  const isExact = network.toString() === address.toString();
  return isExact ? null : `"${cidr}" is the range ${network}/${prefix}: write that if you mean it`;
}

/** Ranges that `wrongRange` accepts. */
export class AddressRanges {
  readonly #ranges: readonly [ipaddr.IPv4 | ipaddr.IPv6, number][];

  constructor(cidrs: readonly string[]) {
    this.#ranges = cidrs.map((cidr) => ipaddr.parseCIDR(cidr));
  }

  /**
   * An IPv4 address that is written as an IPv6 one is an IPv4 address, and in no IPv6 range: `::/0` does not allow it,
   * unlike in a BlockList of Node.js.
   */
  has(ip: string): boolean {
    if (!ipaddr.isValid(ip)) return false;
    const address = ipaddr.process(ip);
    return this.#ranges.some(([network, bits]) => network.kind() === address.kind() && address.match(network, bits));
  }
}
