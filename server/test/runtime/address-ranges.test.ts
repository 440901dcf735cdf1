// Which addresses are in which ranges, in every form that an address can be written in.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AddressRanges, wrongRange } from '../../src/runtime/address-ranges.ts';

const inRanges = (cidrs: readonly string[], ip: string) => new AddressRanges(cidrs).has(ip);

test('an address is in a range of its own kind', () => {
  const ranges = ['10.0.0.0/8', '192.0.2.7/32', '2001:db8::/32'];
  for (const ip of ['10.0.0.0', '10.255.255.255', '192.0.2.7', '2001:db8::1', '2001:0DB8:0:0::1']) {
    assert.equal(inRanges(ranges, ip), true, ip);
  }
  for (const ip of ['11.0.0.0', '9.255.255.255', '192.0.2.8', '2001:db9::', '::1']) {
    assert.equal(inRanges(ranges, ip), false, ip);
  }
});

test('an IPv4 address is one in whatever form, and is in no IPv6 range', () => {
  for (const ip of ['10.1.2.3', '::ffff:10.1.2.3', '::FFFF:a01:203', '0:0:0:0:0:ffff:0a01:0203']) {
    assert.equal(inRanges(['10.0.0.0/8'], ip), true, ip);
    assert.equal(inRanges(['::/0'], ip), false, ip);
    assert.equal(inRanges(['0.0.0.0/0'], ip), true, ip);
  }
  // They contain an IPv4 address, and are none.
  for (const ip of ['::10.1.2.3', '64:ff9b::10.1.2.3', '2002:0a01:0203::']) {
    assert.equal(inRanges(['10.0.0.0/8', '0.0.0.0/0'], ip), false, ip);
    assert.equal(inRanges(['::/0'], ip), true, ip);
  }
});

test('a link-local address is in its range, whatever its zone is', () => {
  assert.equal(inRanges(['fe80::/10'], 'fe80::1%eth0'), true);
  assert.equal(inRanges(['fd00::/8'], 'fe80::1%eth0'), false);
});

test('what is no address is in no range', () => {
  for (const ip of ['', 'localhost', '10.0.0.1:80', '10.0.0.1/8', '999.1.1.1', '10.1.2.3, 10.1.2.4']) {
    assert.equal(inRanges(['0.0.0.0/0', '::/0'], ip), false, ip);
  }
});

test('a range is written as its network with a prefix length', () => {
  for (const range of ['10.0.0.0/8', '0.0.0.0/0', '::/0', 'fd00::/8', '192.0.2.1/32']) {
    assert.equal(wrongRange(range), null, range);
  }
  for (const range of ['', '10.0.0.1', '::1', '10.0.0.1/8', '10.0.0.0/33', 'fd00::1/8', 'fe80::%1/10', 'office']) {
    assert.notEqual(wrongRange(range), null, range);
  }
  assert.match(wrongRange('::ffff:10.0.0.0/104')!, /must be written as an IPv4 range/);
  // Texts of one part that a library may read as something else.
  for (const range of ['10/8', '0x0a000000/8', '167772160/8', '012.0.0.0/8', '10.0.0.0/8 ', '10.0.0.0/08']) {
    assert.notEqual(wrongRange(range), null, range);
  }
});
