// The rules of the egress guard: which addresses a delivery may be sent to. They are pure: dial.ts resolves names and
// connects, and checks addresses here before and after.

import { isIP } from 'node:net';
import type { NetworkInterfaceInfo } from 'node:os';
import ipaddr from 'ipaddr.js';

type Address = ReturnType<typeof ipaddr.parse>;

/** A range of addresses. Only parseAllowList makes one. */
export interface AddressRange {
  readonly base: Address;
  readonly bits: number;
}

export interface ListenAddress {
  readonly ip: string;
  readonly port: number;
}

/**
 * Public addresses are always allowed, all others only if listed here. To turn the guard off, allow 0.0.0.0/0 and ::/0.
 */
export interface EgressPolicy {
  readonly allowed: readonly AddressRange[];
  /** Where this server listens. Set once it listens. */
  own: readonly ListenAddress[];
}

const RANGE_WORDS: ReadonlyMap<string, string> = new Map([
  ['loopback', 'a loopback address'],
  ['private', 'a private address'],
  ['linkLocal', 'a link-local address'],
  ['carrierGradeNat', 'a carrier-grade NAT address'],
  ['unspecified', 'an unspecified address'],
  ['broadcast', 'the broadcast address'],
  ['multicast', 'a multicast address'],
  ['uniqueLocal', 'a unique local address'],
  ['deprecatedSiteLocal', 'a site-local address'],
  ['benchmarking', 'a benchmarking address'],
  ['rfc6145', 'an IPv4-translated address'],
  ['rfc6052', 'a NAT64 address'],
  ['6to4', 'a 6to4 address'],
  ['teredo', 'a Teredo address'],
]);

/**
 * All public IPv6 is in this range. Addresses outside it, such as ::a.b.c.d, are refused even when no table names them.
 */
const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3');

/**
 * Addresses that look public, but that clouds serve only to the machines inside them: Azure's wire server, which hands
 * out the machine's configuration, and the service networks of IBM Cloud. The metadata addresses of other clouds lie in
 * special ranges anyway.
 */
const CLOUD_PLATFORMS = ['168.63.129.16/32', '161.26.0.0/16', '166.8.0.0/14'].map((range) =>
  ipaddr.IPv4.parseCIDR(range),
);

/** Why nothing may be sent to this address, as text. Null when it is allowed. */
export function whyAddressRefused(ip: string, port: number, policy: EgressPolicy): string | null {
  if (isIP(ip) === 0) return `${JSON.stringify(ip)} is not an IP address`;
  const address = parseAddress(ip);
  if (policy.allowed.some((range) => contains(range, address))) return null;

  const range = address.range();
  if (range !== 'unicast') return `${ip} is ${RANGE_WORDS.get(range) ?? 'a reserved address'}`;
  if (address.kind() === 'ipv6' && !address.match(GLOBAL_IPV6)) return `${ip} is not a public address`;
  if (address instanceof ipaddr.IPv4 && CLOUD_PLATFORMS.some((platform) => address.match(platform))) {
    return `${ip} is an address of a cloud platform`;
  }
  if (policy.own.some((own) => own.port === port && parseAddress(own.ip).toString() === address.toString())) {
    return `${ip}, port ${port}, is this server itself`;
  }
  return null;
}

/** IPv4-mapped IPv6 becomes the IPv4 address that it contains, because the kernel connects to that address. */
function parseAddress(ip: string): Address {
  if (isIP(ip) === 4) return ipaddr.parse(ip);
  // Converted to pure hex by URL, because ipaddr.js 2.5 reads ::8.8.8.8 as ::ffff:8.8.8.8, which is not the address
  // that is dialled.
  const hex = new URL(`http://[${ip.replace(/%.*$/, '')}]`).hostname.slice(1, -1);
  return ipaddr.process(hex);
}

function contains(range: AddressRange, address: Address): boolean {
  return range.base.kind() === address.kind() && address.match(range.base, range.bits);
}

/** Parses addresses and CIDR ranges, separated by commas or blanks. */
export function parseAllowList(text: string): readonly AddressRange[] | { readonly problem: string } {
  const ranges: AddressRange[] = [];
  const problems: string[] = [];
  for (const item of text.split(/[\s,]+/).filter((part) => part !== '')) {
    const range = parseRange(item);
    if (typeof range === 'string') problems.push(`"${item}" ${range}`);
    else ranges.push(range);
  }
  return problems.length > 0 ? { problem: problems.join('; ') } : ranges;
}

function parseRange(item: string): AddressRange | string {
  const [ip = '', bitsText, ...rest] = item.split('/');
  const family = isIP(ip);
  // isIP is asked first: ipaddr.js alone would accept 0x7f.1 and 010.0.0.1, which people read in different ways.
  if (family === 0 || rest.length > 0 || ip.includes('%')) {
    return 'is not an IP address or range; write it like 10.0.0.0/8 or fd00::/8';
  }
  const bitsMax = family === 4 ? 32 : 128;
  const bits = bitsText === undefined ? bitsMax : Number(bitsText);
  if (bitsText !== undefined && !(/^\d{1,3}$/.test(bitsText) && bits <= bitsMax)) {
    return `has a prefix length that is not a number from 0 to ${bitsMax}`;
  }
  const base = parseAddress(ip);
  if (family === 6 && base.kind() === 'ipv4') return 'is an IPv4 address inside an IPv6 one; write the IPv4 address';
  const network = (family === 4 ? ipaddr.IPv4 : ipaddr.IPv6).networkAddressFromCIDR(`${base}/${bits}`);
  if (network.toString() !== base.toString()) {
    return `starts inside its range; write ${network}/${bits} for the range or ${ip} for the one address`;
  }
  return { base, bits };
}

/**
 * The addresses on which a server listens. If it is bound to "any" address (0.0.0.0 or ::), these are all addresses of
 * the machine. `interfaces` comes from `os.networkInterfaces()`.
 */
export function listenAddresses(
  bound: ListenAddress,
  interfaces: Readonly<Record<string, readonly NetworkInterfaceInfo[] | undefined>>,
): readonly ListenAddress[] {
  if (parseAddress(bound.ip).range() !== 'unspecified') return [bound];
  return Object.values(interfaces).flatMap((each) =>
    (each ?? []).map(({ address }) => ({ ip: address, port: bound.port })),
  );
}
