// Ranges of addresses in CIDR form: whether one is written correctly, and whether an address is in one of several.

import { BlockList, isIP } from 'node:net';
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

const MAPPED = blockList(['::ffff:0:0/96']);

/**
 * Ranges that `wrongRange` accepts. An IPv4 address that is written as an IPv6 one is an IPv4 address, and in no IPv6
 * range: by itself, a BlockList of Node.js finds it in `::/0`.
 */
export class AddressRanges {
  readonly #ipv4: BlockList;
  readonly #ipv6: BlockList;

  constructor(cidrs: readonly string[]) {
    const isIpv6 = (cidr: string) => cidr.includes(':');
    this.#ipv4 = blockList(cidrs.filter((cidr) => !isIpv6(cidr)));
    this.#ipv6 = blockList(cidrs.filter(isIpv6));
  }

  has(ip: string): boolean {
    const kind = isIP(ip);
    if (kind === 4) return this.#ipv4.check(ip, 'ipv4');
    return kind === 6 && (MAPPED.check(ip, 'ipv6') ? this.#ipv4 : this.#ipv6).check(ip, 'ipv6');
  }
}

export function blockList(cidrs: readonly string[]): BlockList {
  const list = new BlockList();
  for (const cidr of cidrs) {
    const [address = '', bits = ''] = cidr.split('/');
    list.addSubnet(address, Number(bits), isIP(address) === 4 ? 'ipv4' : 'ipv6');
  }
  return list;
}
