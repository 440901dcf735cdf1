// The table of addresses that may and may not be reached, and the allow-list.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type EgressPolicy,
  listenAddresses,
  parseAllowList,
  whyAddressRefused,
} from '../../../src/delivery/egress/egress.ts';
import { parseTargetUrl } from '../../../src/rules/publish/destination.ts';
import { policyOf } from '../http/senders.ts';

const NOTHING_ALLOWED: EgressPolicy = { allowed: [], own: [] };

const REFUSED: readonly (readonly [words: string, ...ips: readonly string[]])[] = [
  ['a loopback address', '127.0.0.1', '127.255.255.254', '::1', '::ffff:127.0.0.1', '::ffff:7f00:1'],
  ['a private address', '10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1', '::ffff:10.1.2.3'],
  ['a link-local address', '169.254.169.254', '169.254.0.1', 'fe80::1', 'fe80::1%eth0', '::ffff:169.254.169.254'],
  ['a carrier-grade NAT address', '100.64.0.1', '100.100.100.200', '100.127.255.255'],
  ['an unspecified address', '0.0.0.0', '0.1.2.3', '::', '::ffff:0.0.0.0'],
  ['the broadcast address', '255.255.255.255'],
  ['a multicast address', '224.0.0.1', '239.255.255.255', 'ff02::1'],
  ['a reserved address', '240.0.0.1', '192.0.0.1', '192.0.0.170', '192.0.0.192', '192.88.99.1'],
  ['a reserved address', '192.0.2.1', '198.51.100.1', '203.0.113.1', '2001:db8::1', '3fff::1'],
  ['a reserved address', '198.18.0.1', '198.19.255.255', '100::1', '5f00::1', '2001:20::1', '192.31.196.1'],
  ['a benchmarking address', '2001:2::1'],
  ['a unique local address', 'fc00::1', 'fd12:3456::1', 'fd00:ec2::254', 'fd00:ec2::23', 'fd20:ce::254'],
  ['an address of a cloud platform', '168.63.129.16', '::ffff:168.63.129.16', '::ffff:a83f:8110'],
  ['an address of a cloud platform', '161.26.0.0', '161.26.255.255', '166.8.0.0', '166.11.255.255', '::ffff:166.9.1.2'],
  ['a site-local address', 'fec0::1'],
  ['a NAT64 address', '64:ff9b::7f00:1', '64:ff9b::808:808', '64:ff9b:1::a00:1', '64:ff9b::a83f:8110'],
  ['an IPv4-translated address', '::ffff:0:7f00:1'],
  ['a 6to4 address', '2002:7f00:1::', '2002:808:808::1', '2002:a83f:8110::1'],
  ['a Teredo address', '2001::1', '2001:0:7f00:1::1'],
  ['not a public address', '::127.0.0.1', '::8.8.8.8', '::168.63.129.16', '4000::1', 'e000::1', '1fff::1', '8000::'],
];

for (const [words, ...ips] of REFUSED) {
  test(`refused as ${words}: ${ips.join(' ')}`, () => {
    for (const ip of ips) assert.equal(whyAddressRefused(ip, 80, NOTHING_ALLOWED), `${ip} is ${words}`);
  });
}

test('public unicast addresses may be reached, on the edges of the refused ranges too', () => {
  const ips = ['8.8.8.8', '1.1.1.1', '9.255.255.255', '11.0.0.0', '172.15.255.255', '172.32.0.0', '100.63.255.255'];
  ips.push('100.128.0.0', '169.253.255.255', '198.17.255.255', '198.20.0.0', '223.255.255.255', '126.255.255.255');
  ips.push('168.63.129.15', '168.63.129.17', '161.25.255.255', '161.27.0.0', '166.7.255.255', '166.12.0.0');
  ips.push('2606:4700::1111', '2a00:1450:4001:80b::200e', '2003::1', '::ffff:8.8.8.8');
  for (const ip of ips) assert.equal(whyAddressRefused(ip, 443, NOTHING_ALLOWED), null, ip);
});

test('text that is not an address is refused', () => {
  for (const ip of ['', 'localhost', '0x7f.1', '2130706433', '127.1', '010.0.0.1', '1.2.3.4.5', '[::1]']) {
    assert.match(whyAddressRefused(ip, 80, NOTHING_ALLOWED) ?? '', /is not an IP address/);
  }
});

test('every spelling of a refused address in a URL is refused', () => {
  const spellings = ['0x7f.1', '2130706433', '0177.0.0.1', '127.1', '0x7f000001', '[::1]', '[::ffff:127.0.0.1]'];
  spellings.push(
    '[0:0:0:0:0:ffff:7f00:0001]',
    '[64:ff9b::7f00:1]',
    '0',
    '169.254.169.254',
    '168.63.129.16',
    '2822734096',
    '0xa8.63.129.16',
    '[::ffff:a83f:8110]',
    '[::127.0.0.1]',
    '127.0.0.1',
  );
  for (const spelling of spellings) {
    const target = parseTargetUrl(`http://${spelling}/`);
    assert.ok(!('problem' in target), spelling);
    assert.notEqual(whyAddressRefused(target.hostname, target.port, NOTHING_ALLOWED), null, spelling);
  }
});

test('the allow-list admits what it names and nothing beside it', () => {
  const policy = policyOf('127.0.0.0/8, ::1/128\n10.1.0.0/16 fd00::/8,192.168.7.7');
  for (const ip of ['127.0.0.1', '127.9.9.9', '::1', '10.1.2.3', 'fd12::1', '192.168.7.7', '::ffff:127.0.0.1']) {
    assert.equal(whyAddressRefused(ip, 80, policy), null, ip);
  }
  for (const ip of ['10.2.0.1', 'fc00::1', '192.168.7.8', '::', '::127.0.0.1', '169.254.169.254', '0.0.0.0']) {
    assert.notEqual(whyAddressRefused(ip, 80, policy), null, ip);
  }
});

test('an address of a cloud platform can be allowed like any other special one', () => {
  assert.equal(whyAddressRefused('168.63.129.16', 80, policyOf('168.63.129.16/32')), null);
});

test('allowing everything turns the guard off', () => {
  const policy = policyOf('0.0.0.0/0 ::/0');
  for (const ip of ['127.0.0.1', '169.254.169.254', '::1', 'fe80::1', '64:ff9b::1', '::ffff:10.0.0.1', '0.0.0.0']) {
    assert.equal(whyAddressRefused(ip, 80, policy), null, ip);
  }
});

test('an allow-list that cannot be read says why, for every item', () => {
  const problems: readonly (readonly [string, RegExp])[] = [
    ['localhost', /"localhost" is not an IP address or range/],
    ['10.0.0.0/33', /"10.0.0.0\/33" has a prefix length that is not a number from 0 to 32/],
    ['::1/129', /0 to 128/],
    ['10.0.0.0/', /prefix length/],
    ['10.0.0.0/8/8', /is not an IP address/],
    ['10.0.0.5/8', /write 10.0.0.0\/8 for the range or 10.0.0.5 for the one address/],
    ['0x7f.1', /is not an IP address/],
    ['010.0.0.1', /is not an IP address/],
    ['fe80::1%eth0', /is not an IP address/],
    ['::ffff:10.0.0.0/104', /write the IPv4 address/],
    ['10.0.0.0/8, nonsense, 1.2.3.4/99', /"nonsense" .*; "1.2.3.4\/99" /],
  ];
  for (const [text, expected] of problems) {
    const parsed = parseAllowList(text);
    assert.ok('problem' in parsed, text);
    assert.match(parsed.problem, expected);
  }
  assert.deepEqual(parseAllowList(' , '), []);
});

test('the server itself is refused on its own port only, unless allowed', () => {
  const own = [{ ip: '8.8.4.4', port: 8080 }, ...listenAddresses({ ip: '2606:4700::1', port: 8080 }, {})];
  const policy: EgressPolicy = { allowed: [], own };
  assert.equal(whyAddressRefused('8.8.4.4', 8080, policy), '8.8.4.4, port 8080, is this server itself');
  assert.match(whyAddressRefused('::ffff:8.8.4.4', 8080, policy) ?? '', /this server itself/);
  assert.match(whyAddressRefused('2606:4700:0:0::1', 8080, policy) ?? '', /this server itself/);
  assert.equal(whyAddressRefused('8.8.4.4', 8081, policy), null);
  assert.equal(whyAddressRefused('8.8.4.4', 8080, { ...policyOf('8.8.4.4'), own }), null);
});

test('a server bound to any address counts as listening on all of the machine', () => {
  const entry = { netmask: '', mac: '', internal: false, cidr: null };
  const interfaces = {
    lo: [{ ...entry, family: 'IPv4' as const, address: '127.0.0.1' }],
    eth0: [{ ...entry, family: 'IPv6' as const, address: '2606:4700::1', scopeid: 0 }],
  };
  for (const ip of ['0.0.0.0', '::']) {
    assert.deepEqual(listenAddresses({ ip, port: 80 }, interfaces), [
      { ip: '127.0.0.1', port: 80 },
      { ip: '2606:4700::1', port: 80 },
    ]);
  }
  assert.deepEqual(listenAddresses({ ip: '10.0.0.1', port: 80 }, interfaces), [{ ip: '10.0.0.1', port: 80 }]);
});

test('the server itself is refused at its own address and port, and nothing else is', () => {
  const policy: EgressPolicy = { allowed: [], own: [{ ip: '8.8.4.4', port: 8080 }] };
  assert.match(whyAddressRefused('8.8.4.4', 8080, policy) ?? '', /is this server itself/);
  assert.match(whyAddressRefused('::ffff:8.8.4.4', 8080, policy) ?? '', /is this server itself/);
  assert.equal(whyAddressRefused('8.8.4.4', 8081, policy), null);
  assert.equal(whyAddressRefused('8.8.8.8', 8080, policy), null);
});
