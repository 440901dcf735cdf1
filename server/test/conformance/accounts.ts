// Accounts, their tokens and their signing keys.

import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { SCOPES, type Session, type Token } from '../../src/rules/accounts/account.ts';
import { StoreUnavailable } from '../../src/store/ports/store.ts';
import { ACCOUNT, KEYS, NOW, OTHER_ACCOUNT } from './given.ts';
import { type HarnessFactory, storeTests } from './harness.ts';

export function token(some: Partial<Token> = {}): Token {
  return {
    id: 'tok_1',
    accountId: ACCOUNT,
    name: 'ci',
    scopes: ['publish', 'read'],
    createdAt: NOW,
    revokedAt: null,
    lastUsedAt: null,
    expiresAt: null,
    addresses: [],
    ...some,
  };
}

/** Nobody waits for a lock for long: on a busy machine what was asked did not happen, says so, and is asked again. */
async function untilSuccess<T>(ask: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof StoreUnavailable) || error.reason !== 'unavailable') throw error;
    }
  }
}

const hashOf = (byte: number) => new Uint8Array(32).fill(byte);

export function accountsConformance(factory: HarnessFactory): void {
  const test = storeTests(factory);

  describe('accounts', () => {
    test('the last use of a token is kept', async ({ a }) => {
      await a.store.createToken(token(), hashOf(1));
      await a.store.touchToken('tok_1', NOW + 1);
      assert.equal((await a.store.findToken(hashOf(1), NOW))!.token.lastUsedAt, NOW + 1);
      assert.deepEqual((await a.store.listTokens(ACCOUNT)).entries, [token({ lastUsedAt: NOW + 1 })]);
    });

    test('an account name can be used once', async ({ a }) => {
      const account = { id: 'acc_3', name: 'third', tier: 'paid', createdAt: NOW } as const;
      assert.equal(await a.store.createAccount(account, { current: 'sig_1', next: 'sig_2' }), 'created');
      assert.equal(await a.store.createAccount({ ...account, id: 'acc_4' }, KEYS), 'nameTaken');
      assert.deepEqual(await a.store.getAccount('acc_3'), account);
      assert.equal(await a.store.getAccount('acc_4'), null);
      assert.deepEqual(await a.store.getSigningKeys('acc_3'), { current: 'sig_1', next: 'sig_2' });
    });

    test.onTwo('when two accounts ask for a name at once, one gets it', async ({ a, b }) => {
      const account = { name: 'wanted', tier: 'free', createdAt: NOW } as const;
      const results = await Promise.all([
        a.store.createAccount({ ...account, id: 'acc_3' }, KEYS),
        b.store.createAccount({ ...account, id: 'acc_4' }, KEYS),
      ]);
      assert.deepEqual(results.toSorted(), ['created', 'nameTaken']);
    });

    test('accounts are listed by id', async ({ a }) => {
      await a.store.createAccount({ id: 'acc_0', name: 'zero', tier: 'free', createdAt: NOW }, KEYS);
      assert.deepEqual(
        (await a.store.listAccounts()).entries.map(({ id }) => id),
        ['acc_0', ACCOUNT, OTHER_ACCOUNT],
      );
    });

    test('the tier of an existing account can be changed, others cannot', async ({ a }) => {
      assert.equal(await a.store.setTier(ACCOUNT, 'paid'), true);
      assert.equal((await a.store.getAccount(ACCOUNT))!.tier, 'paid');
      assert.equal(await a.store.setTier('acc_nobody', 'paid'), false);
    });
  });

  describe('signing keys', () => {
    test('rotating moves the next key up', async ({ a }) => {
      const rotated = { current: 'sig_next', next: 'sig_fresh' };
      assert.deepEqual(await a.store.rotateSigningKeys(ACCOUNT, 'sig_next', 'sig_fresh'), rotated);
      assert.deepEqual(await a.store.getSigningKeys(ACCOUNT), rotated);
      assert.deepEqual(await a.store.getSigningKeys(OTHER_ACCOUNT), KEYS);
    });

    test.onTwo('two rotations with the same next key rotate once', async ({ a, b }) => {
      const results = await Promise.all([
        a.store.rotateSigningKeys(ACCOUNT, 'sig_next', 'sig_fresh1'),
        b.store.rotateSigningKeys(ACCOUNT, 'sig_next', 'sig_fresh2'),
      ]);
      assert.deepEqual(results[0], results[1]);
      assert.equal(results[0]!.current, 'sig_next');
    });

    test('an account that does not exist has no keys', async ({ a }) => {
      assert.equal(await a.store.getSigningKeys('acc_nobody'), null);
      assert.equal(await a.store.rotateSigningKeys('acc_nobody', 'sig_next', 'sig_fresh'), null);
    });
  });

  describe('tokens', () => {
    test.onTwo('a token is found by its hash, with its account', async ({ a, b }) => {
      await a.store.createToken(token(), hashOf(1));
      assert.deepEqual(await b.store.findToken(hashOf(1), NOW), {
        token: token(),
        account: { id: ACCOUNT, name: 'one', tier: 'free', createdAt: NOW },
      });
      assert.equal(await a.store.findToken(hashOf(2), NOW), null);
    });

    test('a token keeps exactly the scopes it was given', async ({ a }) => {
      for (const [index, scopes] of ([['admin'], ['publish', 'read', 'manage', 'admin'], []] as const).entries()) {
        await a.store.createToken(token({ id: `tok_${index}`, scopes }), hashOf(index));
        assert.deepEqual((await a.store.findToken(hashOf(index), NOW))!.token.scopes, scopes);
      }
    });

    test.onTwo('a revoked token is no longer found, but still listed', async ({ a, b }) => {
      await a.store.createToken(token(), hashOf(1));
      await a.store.createToken(token({ id: 'tok_2', name: 'kept' }), hashOf(2));
      assert.equal(await b.store.revokeToken(ACCOUNT, 'tok_1', NOW + 9), 'revoked');
      assert.equal(await a.store.findToken(hashOf(1), NOW), null);
      assert.equal((await a.store.findToken(hashOf(2), NOW))!.token.id, 'tok_2');
      assert.deepEqual((await a.store.listTokens(ACCOUNT)).entries, [
        token({ revokedAt: NOW + 9 }),
        token({ id: 'tok_2', name: 'kept' }),
      ]);
    });

    test('a token is revoked once, and only by its account', async ({ a }) => {
      await a.store.createToken(token(), hashOf(1));
      assert.equal(await a.store.revokeToken(OTHER_ACCOUNT, 'tok_1', NOW), 'unknown');
      assert.deepEqual((await a.store.listTokens(OTHER_ACCOUNT)).entries, []);
      assert.equal(await a.store.revokeToken(ACCOUNT, 'tok_1', NOW + 1), 'revoked');
      assert.equal(await a.store.revokeToken(ACCOUNT, 'tok_1', NOW + 2), 'unknown');
      assert.equal((await a.store.listTokens(ACCOUNT)).entries[0]!.revokedAt, NOW + 1);
    });

    test.onTwo('the last admin token is not revoked; any other one is', async ({ a, b }) => {
      await a.store.createToken(token({ id: 'tok_1', scopes: ['admin'] }), hashOf(1));
      await a.store.createToken(token({ id: 'tok_2', scopes: ['publish', 'read', 'manage'] }), hashOf(2));
      await a.store.createToken(token({ id: 'tok_3', accountId: OTHER_ACCOUNT, scopes: SCOPES }), hashOf(3));
      assert.equal(await a.store.revokeToken(ACCOUNT, 'tok_1', NOW), 'revoked');
      assert.equal(await b.store.revokeToken(OTHER_ACCOUNT, 'tok_3', NOW), 'lastAdmin');
      assert.equal((await a.store.findToken(hashOf(3), NOW))!.token.id, 'tok_3');
      assert.equal(await a.store.revokeToken(ACCOUNT, 'tok_3', NOW), 'unknown');
      assert.equal(await a.store.revokeToken(ACCOUNT, 'tok_2', NOW), 'revoked');
    });

    test.onTwo('a token is found until it expires, and listed with its limits', async ({ a, b }) => {
      const limited = token({ expiresAt: NOW + 10, addresses: ['10.0.0.0/8', '2001:db8::/32'] });
      await a.store.createToken(limited, hashOf(1));
      await a.store.createToken(token({ id: 'tok_2' }), hashOf(2));
      assert.deepEqual((await b.store.findToken(hashOf(1), NOW + 9))!.token, limited);
      assert.equal(await b.store.findToken(hashOf(1), NOW + 10), null);
      assert.deepEqual((await a.store.findToken(hashOf(2), NOW + 10))!.token, token({ id: 'tok_2' }));
      assert.deepEqual((await b.store.listTokens(ACCOUNT)).entries, [limited, token({ id: 'tok_2' })]);
    });

    test.onTwo('an admin token that expires is not the one that remains', async ({ a, b }) => {
      const admin = (id: string, expiresAt: number | null) => token({ id, scopes: SCOPES, expiresAt });
      await a.store.createToken(admin('tok_1', null), hashOf(1));
      await a.store.createToken(admin('tok_2', NOW + 1_000_000), hashOf(2));
      assert.equal(await b.store.revokeToken(ACCOUNT, 'tok_1', NOW), 'lastAdmin');
      assert.equal(await b.store.revokeToken(ACCOUNT, 'tok_2', NOW), 'revoked', 'it leaves the other');
      await a.store.createToken(admin('tok_3', null), hashOf(3));
      assert.equal(await b.store.revokeToken(ACCOUNT, 'tok_1', NOW), 'revoked');
    });

    test('where all admin tokens expire, the first one is made again', async ({ a }) => {
      await a.store.createToken(token({ scopes: SCOPES, expiresAt: NOW + 1_000_000 }), hashOf(1));
      const first = {
        account: { id: 'acc_9', name: 'first', tier: 'free', createdAt: NOW } as const,
        keys: KEYS,
        token: token({ id: 'tok_9', scopes: SCOPES }),
        hash: hashOf(9),
      };
      assert.equal(await a.store.createFirstAdmin(first), true);
      assert.equal(await a.store.createFirstAdmin({ ...first, hash: hashOf(8) }), false);
    });

    test.onTwo('when two nodes revoke all admin tokens at once, one token is left', async ({ a, b }) => {
      const ids = ['tok_0', 'tok_1', 'tok_2'];
      for (const [n, id] of ids.entries()) await a.store.createToken(token({ id, scopes: SCOPES }), hashOf(n));
      const revoking = ids.map((id, n) =>
        untilSuccess(() => (n % 2 === 0 ? a : b).store.revokeToken(ACCOUNT, id, NOW)),
      );
      const results = await Promise.all(revoking);
      assert.deepEqual(results.toSorted(), ['lastAdmin', 'revoked', 'revoked']);
      const left = (await a.store.listTokens(ACCOUNT)).entries.filter(({ revokedAt }) => revokedAt === null);
      assert.equal(left.length, 1);
    });

    test.onTwo('the first admin token is created once, for the oldest account', async ({ a, b }) => {
      await a.store.createToken(token({ id: 'tok_9', scopes: ['publish', 'read', 'manage'] }), hashOf(9));
      const first = (n: number) => ({
        account: { id: `acc_${n}`, name: `first-${n}`, tier: 'free', createdAt: NOW } as const,
        keys: KEYS,
        token: { ...token({ id: `tok_${n}`, scopes: SCOPES }), accountId: undefined },
        hash: hashOf(n),
      });
      const answers = await Promise.all(
        [1, 2, 3].map((n) => untilSuccess(() => (n % 2 ? a : b).store.createFirstAdmin(first(n)))),
      );
      assert.deepEqual(answers.toSorted(), [false, false, true]);
      const made = answers.indexOf(true) + 1;
      assert.equal((await a.store.findToken(hashOf(made), NOW))!.account.id, ACCOUNT);
      assert.equal((await a.store.listAccounts()).entries.length, 2, 'no account was made beside those that are there');
      await a.store.revokeHashes([hashOf(made)], NOW);
      assert.equal(await b.store.createFirstAdmin(first(5)), true, 'and again where none is left');
    });

    test('tokens are revoked by hash, including the last admin token', async ({ a }) => {
      await a.store.createToken(token({ scopes: SCOPES }), hashOf(1));
      await a.store.createToken(token({ id: 'tok_2' }), hashOf(2));
      await a.store.revokeHashes([hashOf(1), hashOf(9)], NOW + 1);
      await a.store.revokeHashes([hashOf(1)], NOW + 2);
      assert.deepEqual(
        (await a.store.listTokens(ACCOUNT)).entries.map(({ revokedAt }) => revokedAt),
        [NOW + 1, null],
      );
    });

    test('the accounts of given tokens and keys are found, each once', async ({ a }) => {
      await a.store.createToken(token(), hashOf(1));
      await a.store.createToken(token({ id: 'tok_2', accountId: OTHER_ACCOUNT }), hashOf(2));
      const { current, next } = { current: 'sig_a', next: 'sig_b' };
      await a.store.createAccount({ id: 'acc_3', name: 'third', tier: 'free', createdAt: NOW }, { current, next });
      assert.deepEqual(await a.store.accountsKnownBy([hashOf(1), hashOf(9)], []), [ACCOUNT]);
      assert.deepEqual(await a.store.accountsKnownBy([], [current]), ['acc_3']);
      assert.deepEqual(await a.store.accountsKnownBy([], [next, 'sig_none']), ['acc_3']);
      const all = await a.store.accountsKnownBy([hashOf(1), hashOf(2)], [current, next]);
      assert.deepEqual(all.toSorted(), [ACCOUNT, OTHER_ACCOUNT, 'acc_3'].toSorted());
      await a.store.revokeHashes([hashOf(1)], NOW);
      assert.deepEqual(await a.store.accountsKnownBy([hashOf(1)], []), []);
    });

    test('two tokens cannot share a hash', async ({ a }) => {
      await a.store.createToken(token(), hashOf(1));
      await assert.rejects(a.store.createToken(token({ id: 'tok_2' }), hashOf(1)));
    });
  });
  describe('sessions', () => {
    const session = (some: Partial<Session> = {}): Session => ({
      id: 'hash_1',
      tokenId: 'tok_1',
      createdAt: NOW,
      expiresAt: NOW + 1000,
      ...some,
    });

    test.onTwo('a session works until it ends, expires, or its token is revoked', async ({ a, b }) => {
      await a.store.createToken(token(), hashOf(1));
      await a.store.createToken(token({ id: 'tok_2' }), hashOf(2));
      await a.store.createSession(session(), 10);
      await a.store.createSession(session({ id: 'hash_2' }), 10);
      await a.store.createSession(session({ id: 'hash_3', tokenId: 'tok_2' }), 10);
      assert.deepEqual(await b.store.findSession('hash_1', NOW + 999), {
        token: token(),
        account: { id: ACCOUNT, name: 'one', tier: 'free', createdAt: NOW },
        sessionId: 'hash_1',
      });
      assert.equal(await b.store.findSession('hash_1', NOW + 1000), null);
      assert.equal(await b.store.findSession('hash_9', NOW), null);
      assert.equal(await b.store.findSession('tok_1', NOW), null);
      await b.store.endSession('hash_1');
      await b.store.endSession('hash_1');
      assert.equal(await a.store.findSession('hash_1', NOW), null);
      assert.equal((await a.store.findSession('hash_2', NOW))!.sessionId, 'hash_2');
      await a.store.revokeToken(ACCOUNT, 'tok_1', NOW);
      assert.equal(await b.store.findSession('hash_2', NOW), null);
      await a.store.revokeHashes([hashOf(2)], NOW);
      assert.equal(await b.store.findSession('hash_3', NOW), null);
    });

    test.onTwo('a session is worth nothing once its token has expired, whatever it says itself', async ({ a, b }) => {
      await a.store.createToken(token({ expiresAt: NOW + 10 }), hashOf(1));
      await a.store.createSession(session(), 10);
      assert.equal((await b.store.findSession('hash_1', NOW + 9))!.token.expiresAt, NOW + 10);
      assert.equal(await b.store.findSession('hash_1', NOW + 10), null);
      const credentials = [
        { tokenId: 'tok_1', sessionId: null },
        { tokenId: 'tok_1', sessionId: 'hash_1' },
      ];
      assert.deepEqual(await b.store.areAdmitted(credentials, NOW + 9), [true, true]);
      assert.deepEqual(await b.store.areAdmitted(credentials, NOW + 10), [false, false]);
    });

    test('only the newest sessions of a token stay, and sessions of other tokens do not count', async ({ a }) => {
      await a.store.createToken(token(), hashOf(1));
      await a.store.createToken(token({ id: 'tok_2' }), hashOf(2));
      await a.store.createSession(session({ id: 'other', tokenId: 'tok_2' }), 3);
      for (let n = 0; n < 6; n += 1) await a.store.createSession(session({ id: `hash_${n}`, createdAt: NOW + n }), 3);
      const found = await Promise.all(
        ['other', ...Array.from({ length: 6 }, (_, n) => `hash_${n}`)].map((id) => a.store.findSession(id, NOW)),
      );
      assert.deepEqual(
        found.flatMap((each) => each?.sessionId ?? []),
        ['other', 'hash_3', 'hash_4', 'hash_5'],
      );
    });

    test.onTwo('valid tokens and sessions are told apart from ended ones', async ({ a, b }) => {
      await a.store.createToken(token(), hashOf(1));
      await a.store.createToken(token({ id: 'tok_2' }), hashOf(2));
      await a.store.createSession(session(), 10);
      await a.store.createSession(session({ id: 'hash_2', expiresAt: NOW + 5 }), 10);
      const credentials = [
        { tokenId: 'tok_1', sessionId: null },
        { tokenId: 'tok_1', sessionId: 'hash_1' },
        { tokenId: 'tok_1', sessionId: 'hash_2' },
        { tokenId: 'tok_1', sessionId: 'hash_9' },
        { tokenId: 'tok_2', sessionId: null },
        { tokenId: 'tok_9', sessionId: null },
      ];
      assert.deepEqual(await b.store.areAdmitted([], NOW), []);
      assert.deepEqual(await b.store.areAdmitted(credentials, NOW), [true, true, true, false, true, false]);
      assert.deepEqual(await b.store.areAdmitted(credentials, NOW + 5), [true, true, false, false, true, false]);
      await a.store.endSession('hash_1');
      await a.store.revokeToken(ACCOUNT, 'tok_2', NOW);
      assert.deepEqual(await b.store.areAdmitted(credentials, NOW), [true, false, true, false, false, false]);
      await a.store.revokeToken(ACCOUNT, 'tok_1', NOW);
      assert.deepEqual(await b.store.areAdmitted(credentials, NOW), Array(6).fill(false));
    });
  });
}
