// The network under which a caller without a token is counted, instead of its address: a client that has one address of
// a small network can usually use them all.

/** The /24 of an IPv4 address, the /64 of an IPv6 address. Any other text is its own group. */
export function addressGroup(ip: string): string {
  const [address = ''] = ip.split('%', 1);
  const four = /^(?:::ffff:)?(\d{1,3}\.\d{1,3}\.\d{1,3})\.\d{1,3}$/i.exec(address);
  if (four) return `${four[1]}.0/24`;
  if (!address.includes(':')) return address;
  const [left = '', right = ''] = address.split('::', 2);
  const before = left === '' ? [] : left.split(':');
  const behind = right.split(':');
  // An IPv4 address at the end counts as two parts.
  const behindCount = behind.length + (behind.at(-1)?.includes('.') ? 1 : 0);
  const gap = Math.max(0, 8 - before.length - behindCount);
  const parts = [...before, ...Array<string>(gap).fill('0'), ...behind].slice(0, 4);
  return `${parts.map((part) => Number.parseInt(part, 16).toString(16)).join(':')}::/64`;
}
