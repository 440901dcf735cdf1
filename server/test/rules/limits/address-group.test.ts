// The network that a caller without a token counts for.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addressGroup } from '../../../src/rules/limits/address-group.ts';

test('an IPv4 address counts for its /24, however it is written', () => {
  for (const ip of ['192.0.2.1', '192.0.2.255', '::ffff:192.0.2.7', '::FFFF:192.0.2.7']) {
    assert.equal(addressGroup(ip), '192.0.2.0/24', ip);
  }
  assert.notEqual(addressGroup('192.0.3.1'), addressGroup('192.0.2.1'));
});

test('an IPv6 address counts for its /64, however it is written', () => {
  const same = ['2001:db8::1', '2001:DB8:0:0:ffff::', '2001:0db8:0:0:1:2:3:4', '2001:db8::1.2.3.4', '2001:db8::1%eth0'];
  for (const ip of same) assert.equal(addressGroup(ip), '2001:db8:0:0::/64', ip);
  for (const [ip, group] of [
    ['::1', '0:0:0:0::/64'],
    ['::', '0:0:0:0::/64'],
    ['fe80::', 'fe80:0:0:0::/64'],
    ['2001:db8:0:1::', '2001:db8:0:1::/64'],
    ['1:2:3:4:5:6:7:8', '1:2:3:4::/64'],
    ['1:2:3:4:5:6:1.2.3.4', '1:2:3:4::/64'],
    ['1:2:3:4:5:6:7::', '1:2:3:4::/64'],
    ['::2:3:4:5:6:7:8', '0:2:3:4::/64'],
    ['1::4:5:6:7:8', '1:0:0:4::/64'],
    ['1::3:4:5:6:7:8', '1:0:3:4::/64'],
    ['1::3:4:5:6:1.2.3.4', '1:0:3:4::/64'],
  ] as const) {
    assert.equal(addressGroup(ip), group, ip);
  }
});

test('what is no address stands for itself', () => {
  assert.equal(addressGroup(''), '');
});
