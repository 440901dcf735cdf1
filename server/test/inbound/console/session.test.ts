// Whose requests the cookie of a session counts for: those of our own page, and of no other, however near it is.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CONSOLE_HEADER, isFromConsole, sessionSecret } from '../../../src/inbound/console/session.ts';

const OWN = { [CONSOLE_HEADER]: '1', host: 'postrider.example' };
const COOKIE = { cookie: 'other=1; postrider_session=secret' };

test('a request of the console is one with its header, from its own origin', () => {
  assert.equal(isFromConsole(OWN), true);
  assert.equal(isFromConsole({ host: OWN.host }), false);
  assert.equal(isFromConsole({ ...OWN, [CONSOLE_HEADER]: '0' }), false);
  assert.equal(isFromConsole({ ...OWN, 'sec-fetch-site': 'same-origin' }), true);
  for (const site of ['same-site', 'cross-site', 'none']) {
    assert.equal(isFromConsole({ ...OWN, 'sec-fetch-site': site }), false, site);
  }
  assert.equal(isFromConsole({ ...OWN, origin: 'https://postrider.example' }), true);
  assert.equal(
    isFromConsole({ ...OWN, host: 'inner', 'x-forwarded-host': 'a.example', origin: 'https://a.example' }),
    true,
  );
  for (const origin of ['https://other.postrider.example', 'https://postrider.example.evil', 'null']) {
    assert.equal(isFromConsole({ ...OWN, origin }), false, origin);
  }
});

test('a cookie counts only with a request of the console', () => {
  assert.equal(sessionSecret({ ...OWN, ...COOKIE }), 'secret');
  assert.equal(sessionSecret(COOKIE), null);
  assert.equal(sessionSecret({ ...OWN, ...COOKIE, 'sec-fetch-site': 'same-site' }), null);
  assert.equal(sessionSecret(OWN), null);
});
