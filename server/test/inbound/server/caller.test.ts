// Whose address a message is said to come from, behind proxies that are trusted and with headers that are forged.

import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { test } from 'node:test';
import { CallerAddresses } from '../../../src/inbound/server/caller.ts';

function ipOf(trusted: readonly string[], peer: string | undefined, forwarded?: string): string | null {
  const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded };
  return new CallerAddresses(trusted).ipOf({ socket: { remoteAddress: peer }, headers } as unknown as IncomingMessage);
}

const PROXIES = ['10.0.0.0/8', '127.0.0.1/32', 'fd00::/8'];

test('without trusted proxies the header is not read', () => {
  assert.equal(ipOf([], '10.0.0.1', '203.0.113.7'), '10.0.0.1');
  assert.equal(ipOf([], '::ffff:10.0.0.1', '203.0.113.7'), '10.0.0.1');
  assert.equal(ipOf([], undefined, '203.0.113.7'), null);
});

test('a caller that is no trusted proxy cannot give itself another address', () => {
  assert.equal(ipOf(PROXIES, '198.51.100.9', '203.0.113.7'), '198.51.100.9');
  assert.equal(ipOf(PROXIES, '2001:db8::9', '203.0.113.7'), '2001:db8::9');
});

test('behind trusted proxies: the last address that is none of them, whatever the caller wrote before it', () => {
  assert.equal(ipOf(PROXIES, '10.0.0.1', '203.0.113.7'), '203.0.113.7');
  assert.equal(ipOf(PROXIES, '::ffff:10.0.0.1', '203.0.113.7'), '203.0.113.7');
  assert.equal(ipOf(PROXIES, 'fd00::1', '203.0.113.7, 10.2.3.4,127.0.0.1'), '203.0.113.7');
  assert.equal(ipOf(PROXIES, '10.0.0.1', '1.1.1.1, 10.9.9.9, 203.0.113.7, 10.2.3.4'), '203.0.113.7');
  assert.equal(ipOf(PROXIES, '10.0.0.1', '<script>, 203.0.113.7'), '203.0.113.7');
  assert.equal(ipOf(PROXIES, '10.0.0.1', '203.0.113.7:5123'), '203.0.113.7');
  assert.equal(ipOf(PROXIES, '10.0.0.1', '[2001:db8::7]:443'), '2001:db8::7');
  assert.equal(ipOf(PROXIES, '10.0.0.1', '::ffff:203.0.113.7'), '203.0.113.7');
});

test('what is no address is not believed: the nearest known address counts', () => {
  for (const nonsense of ['', 'unknown', '_hidden', '203.0.113.777', 'fe80::1%eth0', '203.0.113.7,', '"1.2.3.4"']) {
    assert.equal(ipOf(PROXIES, '10.0.0.1', nonsense), '10.0.0.1', nonsense);
  }
  assert.equal(ipOf(PROXIES, '10.0.0.1'), '10.0.0.1');
  assert.equal(ipOf(PROXIES, '10.0.0.1', 'unknown, 10.0.0.2'), '10.0.0.2');
  assert.equal(ipOf(PROXIES, '10.0.0.1', '10.0.0.3, 10.0.0.2'), '10.0.0.3', 'a caller inside');
});

test('only the end of a long header is read', () => {
  assert.equal(ipOf(PROXIES, '10.0.0.1', `203.0.113.7,${'10.0.0.2,'.repeat(5000)}10.0.0.3`), '10.0.0.2');
});
