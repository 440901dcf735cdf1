// Accounts and who acts for them. Answers of the store are kept for a moment, so that a busy client costs one look-up
// every few seconds; what this process changes is forgotten at once.

import type { Account, Revocation, Scope, SigningKeys, Token } from '../domain/account.ts';
import { SCOPES } from '../domain/account.ts';
import { eachMax } from '../domain/budgets.ts';
import type { NewId } from '../domain/id.ts';
import type { TierName } from '../domain/tier.ts';
import type { AccountStore, Principal } from '../store/account-store.ts';
import { everyEntry } from '../store/list-piece.ts';
import type { World } from '../world.ts';
import { hashText, hashToken, newSecret } from './tokens.ts';

/** How long a token or session that another node has ended may still work here. */
const REMEMBER_MS = 5000;
const REMEMBERED_MAX = 10_000;
/** How long somebody stays signed in to the console. */
const SESSION_MS = 7 * 24 * 60 * 60 * 1000;
/** How often the use of a token is written down. */
const TOUCH_EVERY_MS = 60_000;

export type EndedAccess = { readonly tokenId: string } | { readonly sessionId: string };

export class Accounts {
  readonly #store: AccountStore;
  readonly #world: World;
  readonly #newId: NewId;
  readonly #remembered = new Map<string, { principal: Principal; untilMs: number }>();
  /** Whom the store is being asked for: all who come meanwhile wait for the one answer. */
  readonly #asked = new Map<string, Promise<Principal | null>>();

  readonly #endListeners: ((ended: EndedAccess) => void)[] = [];

  constructor(store: AccountStore, world: World, newId: NewId) {
    this.#store = store;
    this.#world = world;
    this.#newId = newId;
  }

  /** At once for whoever is remembered, which nearly everybody is; a promise where the store has to be asked. */
  authenticate(token: string): Principal | Promise<Principal | null> {
    const key = hashText(token);
    return this.#known(key) ?? this.#ask(key, () => this.#store.findToken(hashToken(token)));
  }

  /** The same for the secret of a session: neither of the two is taken for the other. */
  authenticateSession(secret: string): Principal | Promise<Principal | null> {
    const sessionId = hashText(secret);
    const key = sessionKey(sessionId);
    return this.#known(key) ?? this.#ask(key, () => this.#store.findSession(sessionId, this.#world.clock.now()));
  }

  #known(key: string): Principal | Promise<Principal | null> | undefined {
    const known = this.#remembered.get(key);
    if (known && known.untilMs > this.#world.clock.monotonicMs()) return known.principal;
    return this.#asked.get(key);
  }

  #ask(key: string, find: () => Promise<Principal | null>): Promise<Principal | null> {
    const nowMs = this.#world.clock.monotonicMs();
    // No longer, if something was changed meanwhile: the answer may be older.
    const isCurrent = () => this.#asked.get(key) === asked;
    const asked = find()
      .then((principal) => {
        if (isCurrent()) this.#remember(key, principal, nowMs);
        if (principal) this.#touch(principal.token);
        return principal;
      })
      .finally(() => {
        if (isCurrent()) this.#asked.delete(key);
      });
    this.#asked.set(key, asked);
    return asked;
  }

  #remember(key: string, principal: Principal | null, nowMs: number): void {
    if (this.#remembered.size >= REMEMBERED_MAX) this.#remembered.clear();
    if (principal) this.#remembered.set(key, { principal, untilMs: nowMs + REMEMBER_MS });
    else this.#remembered.delete(key);
  }

  #forget(): void {
    this.#remembered.clear();
    this.#asked.clear();
  }

  /** Not waited for: a request does not depend on it, and the next use writes it as well. */
  #touch({ id, lastUsedAt }: Token): void {
    const now = this.#world.clock.now();
    if (lastUsedAt !== null && now - lastUsedAt < TOUCH_EVERY_MS) return;
    this.#store.touchToken(id, now).catch(() => {});
  }

  async createAccount(name: string, tier: TierName): Promise<Account | 'nameTaken'> {
    const account: Account = { id: this.#newId('acc'), name, tier, createdAt: this.#world.clock.now() };
    const result = await this.#store.createAccount(account, this.#freshKeys());
    return result === 'created' ? account : result;
  }

  async setTier(accountId: string, tier: TierName): Promise<boolean> {
    const isKnown = await this.#store.setTier(accountId, tier);
    this.#forget();
    return isKnown;
  }

  /** Makes a token; its text is in the answer and nowhere else. */
  async createToken(
    accountId: string,
    name: string,
    scopes: readonly Scope[],
    text = newSecret('pr', this.#world.random),
  ): Promise<{ token: Token; text: string }> {
    const token: Token = { ...this.#newToken(name, scopes), accountId };
    await this.#store.createToken(token, hashToken(text));
    this.#forget();
    return { token, text };
  }

  async revokeToken(accountId: string, tokenId: string): Promise<Revocation> {
    const result = await this.#store.revokeToken(accountId, tokenId, this.#world.clock.now());
    this.#forget();
    if (result === 'revoked') this.#tellOfEnd({ tokenId });
    return result;
  }

  /** Signs somebody in, and answers the secret by which the session is known: it is stored nowhere. */
  async createSession(tokenId: string): Promise<string> {
    const secret = newSecret('ses', this.#world.random);
    const createdAt = this.#world.clock.now();
    const session = { id: hashText(secret), tokenId, createdAt, expiresAt: createdAt + SESSION_MS };
    await this.#store.createSession(session, eachMax('sessions'));
    return secret;
  }

  async endSession(secret: string): Promise<void> {
    const sessionId = hashText(secret);
    await this.#store.endSession(sessionId);
    // It alone: whoever signs in and out all day costs nobody else a look-up.
    const key = sessionKey(sessionId);
    this.#remembered.delete(key);
    this.#asked.delete(key);
    this.#tellOfEnd({ sessionId });
  }

  /** Beside each of them whether its token and its session still count: asked of the store, never remembered. */
  areAdmitted(principals: readonly Principal[]): Promise<readonly boolean[]> {
    const credentials = principals.map(({ token, sessionId = null }) => ({ tokenId: token.id, sessionId }));
    return this.#store.areAdmitted(credentials, this.#world.clock.now());
  }

  /** Calls `listener` when this process has ended a token or a session. */
  onEnd(listener: (ended: EndedAccess) => void): void {
    this.#endListeners.push(listener);
  }

  #tellOfEnd(ended: EndedAccess): void {
    for (const listener of this.#endListeners) listener(ended);
  }

  async rotateKeys(accountId: string): Promise<SigningKeys> {
    const before = await this.#store.getSigningKeys(accountId);
    const fresh = newSecret('sig', this.#world.random);
    return (await this.#store.rotateSigningKeys(accountId, before!.next, fresh))!;
  }

  /**
   * A token that may do everything: for an account that was taken over; else where there is none, which is so on an empty
   * store and where taking over was cut off. Null where somebody has one.
   */
  async createFirst(name: string, takenOver: string | null): Promise<string | null> {
    if (takenOver !== null) return (await this.createToken(takenOver, 'first', SCOPES)).text;
    const { clock, random } = this.#world;
    const account: Account = { id: this.#newId('acc'), name, tier: 'free', createdAt: clock.now() };
    const text = newSecret('pr', random);
    const isMade = await this.#store.createFirstAdmin({
      account,
      keys: this.#freshKeys(),
      token: this.#newToken('first', SCOPES),
      hash: hashToken(text),
    });
    return isMade ? text : null;
  }

  #newToken(name: string, scopes: readonly Scope[]): Omit<Token, 'accountId'> {
    const createdAt = this.#world.clock.now();
    return { id: this.#newId('tok'), name, scopes, createdAt, revokedAt: null, lastUsedAt: null };
  }

  #freshKeys(): SigningKeys {
    const { random } = this.#world;
    return { current: newSecret('sig', random), next: newSecret('sig', random) };
  }

  /** For development: the account and a well-known token, whatever the store holds; with the token come its keys. */
  async ensureKnown(name: string, text: string, keys?: SigningKeys): Promise<void> {
    if (await this.#store.findToken(hashToken(text))) return;
    const made = await this.createAccount(name, 'free');
    const account = made === 'nameTaken' ? await this.#named(name) : made;
    await this.createToken(account.id, name, SCOPES, text);
    if (!keys) return;
    await this.#setKeys(account.id, keys);
  }

  /** Nobody who knew the keys of the account knows those it has now. */
  async replaceKeys(accountId: string): Promise<void> {
    await this.#setKeys(accountId, this.#freshKeys());
  }

  async #named(name: string): Promise<Account> {
    for await (const account of everyEntry(this.#store.listAccounts, ({ id }) => id)) {
      if (account.name === name) return account;
    }
    throw new Error(`there is no account "${name}"`);
  }

  /** Two rotations: the second makes the key of the first the current one. */
  async #setKeys(accountId: string, { current, next }: SigningKeys): Promise<void> {
    for (const fresh of [current, next]) {
      const before = await this.#store.getSigningKeys(accountId);
      await this.#store.rotateSigningKeys(accountId, before!.next, fresh);
    }
  }
}

/** No hash of a token looks like this. */
function sessionKey(sessionId: string): string {
  return `session ${sessionId}`;
}
