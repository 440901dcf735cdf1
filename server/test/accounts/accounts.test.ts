// Who a token stands for: asked of the store once in a while, and never answered by what was true before a change.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { Accounts } from '../../src/accounts/accounts.ts';
import { idMaker } from '../../src/rules/requests/id.ts';
import type { Store } from '../../src/store/ports/store.ts';
import { inMemory } from '../conformance/sqlite-harness.ts';
import { manualWorld } from '../support/manual-clock.ts';

/** Counts what is asked of the store, and holds the answers to look-ups back, or loses one, when it is told to. */
async function open(t: TestContext) {
  const world = manualWorld();
  const { clock } = world;
  const harness = await inMemory({ clock });
  t.after(() => harness.close());
  const store = await harness.open('nod_a');
  const asked = { finds: 0, touches: 0 };
  let gate = Promise.resolve();
  let isAway = false;
  let hear = () => {};
  const watched: Store = {
    ...store,
    async findToken(hash, now) {
      asked.finds += 1;
      const found = await store.findToken(hash, now);
      await gate;
      if (!isAway) return found;
      isAway = false;
      throw new Error('the store is away');
    },
    onAccess(listener) {
      hear = listener;
    },
    touchToken(id, now) {
      asked.touches += 1;
      return store.touchToken(id, now);
    },
  };
  const accounts = new Accounts(
    watched,
    world,
    idMaker(() => clock.now(), world.random.bytes),
  );
  const account = await accounts.createAccount('one', 'free');
  assert.ok(typeof account === 'object');
  const { token, text } = (await accounts.createToken(account.id, 'first', ['publish']))!;
  return {
    store,
    accounts,
    account,
    token,
    text,
    asked,
    clock,
    /** Another node has ended something. */
    hearOfEnd: () => hear(),
    loseNext(): void {
      isAway = true;
    },
    /** Answers a function that lets the answers through. */
    hold(): () => void {
      const { promise, resolve } = Promise.withResolvers<void>();
      gate = promise;
      return () => {
        gate = Promise.resolve();
        resolve();
      };
    },
  };
}

test('many requests with one token cause one lookup and one write of its last use', async (t) => {
  const { accounts, text, token, asked, clock } = await open(t);
  for (const ms of [0, 61_000]) {
    clock.advance(ms);
    const found = await Promise.all(Array.from({ length: 50 }, () => accounts.authenticate(text)));
    assert.deepEqual(new Set(found.map((principal) => principal?.token.id)), new Set([token.id]));
  }
  assert.deepEqual(asked, { finds: 2, touches: 2 });
});

test('a token that is revoked during its lookup does not work for later requests', async (t) => {
  const { accounts, account, text, token, hold } = await open(t);
  const letGo = hold();
  const before = accounts.authenticate(text);
  // So that the store has answered, and the answer is on its way.
  await new Promise(setImmediate);
  assert.ok(await accounts.revokeToken(account.id, token.id));
  const after = accounts.authenticate(text);
  letGo();
  assert.equal((await before)?.token.id, token.id);
  assert.equal(await after, null);
  assert.equal(await accounts.authenticate(text), null);
});

test('a token that is revoked during its only lookup is not remembered', async (t) => {
  const { accounts, account, text, token, hold } = await open(t);
  const letGo = hold();
  const before = accounts.authenticate(text);
  // So that the store has answered, and the answer is on its way.
  await new Promise(setImmediate);
  assert.ok(await accounts.revokeToken(account.id, token.id));
  letGo();
  assert.equal((await before)?.token.id, token.id);
  assert.equal(await accounts.authenticate(text), null);
});

test('a caller is remembered for five seconds from the question to the store, not from its answer', async (t) => {
  const { accounts, text, asked, clock, hold } = await open(t);
  const letGo = hold();
  const first = accounts.authenticate(text);
  clock.advance(4000);
  letGo();
  await first;
  assert.equal(asked.finds, 1);
  const letGoAgain = hold();
  clock.advance(999);
  assert.equal(accounts.authenticate(text) instanceof Promise, false);
  clock.advance(1);
  const late = accounts.authenticate(text);
  assert.ok(late instanceof Promise);
  letGoAgain();
  assert.ok(await late);
});

test('a caller that comes again and again is looked up ahead of time, and waits only once', async (t) => {
  const { accounts, text, asked, clock } = await open(t);
  await accounts.authenticate(text);
  for (let finds = 2; finds < 6; finds += 1) {
    clock.advance(2999);
    assert.equal(accounts.authenticate(text) instanceof Promise, false);
    assert.equal(asked.finds, finds - 1, 'the entry is new enough');
    clock.advance(501);
    assert.equal(accounts.authenticate(text) instanceof Promise, false);
    assert.equal(accounts.authenticate(text) instanceof Promise, false);
    assert.equal(asked.finds, finds, 'one look-up at a time');
    await new Promise(setImmediate);
  }
});

test('a look-up ahead of time that fails ends nothing, and one that finds nobody ends the access', async (t) => {
  const { accounts, account, token, text, clock, loseNext, store } = await open(t);
  await accounts.authenticate(text);
  clock.advance(4000);
  loseNext();
  assert.equal(accounts.authenticate(text) instanceof Promise, false);
  await new Promise(setImmediate);
  // By another node, and the news of it is lost.
  await store.revokeToken(account.id, token.id, clock.now());
  await new Promise(setImmediate);
  await accounts.authenticate(text);
  await new Promise(setImmediate);
  assert.equal(await accounts.authenticate(text), null);
});

test('what another node has ended is looked up again, and whoever listens is told', async (t) => {
  const { accounts, text, asked, hearOfEnd } = await open(t);
  const ended: unknown[] = [];
  accounts.onEnd((each) => ended.push(each));
  await accounts.authenticate(text);
  await accounts.authenticate(text);
  assert.equal(asked.finds, 1);
  hearOfEnd();
  await accounts.authenticate(text);
  assert.equal(asked.finds, 2);
  assert.deepEqual(ended, ['unknown']);
});

test('a session that is ended is not remembered, also if it was looked up meanwhile', async (t) => {
  const { accounts, token } = await open(t);
  const [one, other] = [await accounts.createSession(token), await accounts.createSession(token)];
  for (const secret of [one, other]) assert.equal((await accounts.authenticateSession(secret))?.token.id, token.id);
  await accounts.endSession(one);
  assert.equal(await accounts.authenticateSession(one), null);
  assert.equal((await accounts.authenticateSession(other))?.token.id, token.id);
});

test('a lookup that failed is repeated', async (t) => {
  const { accounts, text, token, loseNext } = await open(t);
  loseNext();
  const together = [accounts.authenticate(text), accounts.authenticate(text)];
  for (const each of await Promise.allSettled(together)) assert.equal(each.status, 'rejected');
  assert.equal((await accounts.authenticate(text))?.token.id, token.id);
});

test('a remembered token is worth nothing from its expiry on, to the millisecond, and the store is asked again', async (t) => {
  const { accounts, account, asked, clock } = await open(t);
  const expiresAt = clock.now() + 1000;
  const { token, text } = (await accounts.createToken(account.id, 'short', ['publish'], { expiresAt }))!;
  assert.equal((await accounts.authenticate(text))?.token.id, token.id);
  clock.advance(999);
  assert.equal((accounts.authenticate(text) as { token: { id: string } }).token.id, token.id, 'remembered');
  const { finds } = asked;
  clock.advance(1);
  assert.equal(await accounts.authenticate(text), null);
  assert.equal(await accounts.authenticate(text), null);
  assert.ok(asked.finds > finds);
});

test('a token that expires while it is looked up does not work, for whoever waits for the look-up', async (t) => {
  const { accounts, account, asked, clock, hold } = await open(t);
  const { text } = (await accounts.createToken(account.id, 'short', ['publish'], { expiresAt: clock.now() + 1000 }))!;
  const letGo = hold();
  const before = accounts.authenticate(text);
  await new Promise(setImmediate);
  clock.advance(1000);
  const after = accounts.authenticate(text);
  letGo();
  assert.deepEqual([await before, await after], [null, null]);
  assert.equal(asked.touches, 0);
});

test('the expiry goes by the time of day: a clock that is set forward ends it, and one that is set back does not last', async (t) => {
  const { accounts, account, clock } = await open(t);
  const expiresAt = clock.now() + 60_000;
  const { text } = (await accounts.createToken(account.id, 'short', ['publish'], { expiresAt }))!;
  assert.ok(await accounts.authenticate(text));
  clock.jump(60_000);
  assert.equal(await accounts.authenticate(text), null);
  clock.jump(-30_000);
  assert.ok(await accounts.authenticate(text), 'it was wrong about the time');
  clock.jump(30_000);
  assert.equal(await accounts.authenticate(text), null);
});

test('a session lasts no longer than its token, and a remembered one ends with it', async (t) => {
  const { accounts, account, clock, store } = await open(t);
  const expiresAt = clock.now() + 1000;
  const { token } = (await accounts.createToken(account.id, 'short', ['read'], { expiresAt }))!;
  const secret = await accounts.createSession(token);
  assert.equal((await accounts.authenticateSession(secret))?.token.id, token.id);
  clock.advance(999);
  assert.ok(await accounts.authenticateSession(secret));
  clock.advance(1);
  assert.equal(await accounts.authenticateSession(secret), null);
  const own = { tokenId: token.id, sessionId: null };
  assert.deepEqual(await store.areAdmitted([own], clock.now()), [false]);
});
