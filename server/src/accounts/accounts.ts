// Changes accounts, tokens and sessions, and authenticates callers. A caller that the store has found is cached for a
// few seconds, so that a busy client costs one look-up in that time. A change by this process clears the cache at once.

import type {
  Account,
  Deletion,
  Revocation,
  Scope,
  SigningKeys,
  Token,
  TokenLimits,
} from '../rules/accounts/account.ts';
import { hasExpired, SCOPES } from '../rules/accounts/account.ts';
import { eachMax } from '../rules/limits/budgets.ts';
import type { TierName } from '../rules/limits/tier.ts';
import type { NewId } from '../rules/requests/id.ts';
import type { World } from '../runtime/world.ts';
import type { AccessStore, Principal } from '../store/ports/access-store.ts';
import type { AccountStore } from '../store/ports/account-store.ts';
import { everyEntry } from '../store/ports/list-piece.ts';
import { hashText, hashToken, newSecret } from './tokens.ts';

/** How long a token or session that another node has ended may still work here. */
const REMEMBER_MS = 5000;
/** A cached caller is looked up again in the last part of that time, so that no request of a busy client waits for it. */
const LOOK_AGAIN_MS = 2000;
const REMEMBERED_MAX = 10_000;
/** How long somebody stays signed in to the console. */
const SESSION_MS = 7 * 24 * 60 * 60 * 1000;
/** How often the last use of a token is written. */
const TOUCH_EVERY_MS = 60_000;

/** `unknown`: another node has ended tokens or sessions, and it is not known which. */
export type EndedAccess = { readonly tokenId: string } | { readonly sessionId: string } | 'unknown';

type Find = (text: string) => Promise<Principal | null>;

export class Accounts {
  readonly #store: AccountStore & AccessStore;
  readonly #world: World;
  readonly #newId: NewId;
  readonly #remembered = new Map<string, { principal: Principal; untilMs: number }>();
  /** Look-ups of the store under way. Requests that come meanwhile with the same token or session share the result. */
  readonly #asked = new Map<string, Promise<Principal | null>>();

  readonly #endListeners: ((ended: EndedAccess) => void)[] = [];

  constructor(store: AccountStore & AccessStore, world: World, newId: NewId) {
    this.#store = store;
    this.#world = world;
    this.#newId = newId;
    store.onAccess(() => {
      this.#forget();
      this.#announceEnd('unknown');
    });
  }

  /** Returns at once for a cached caller, which is the usual case, and a promise when the store must be read. */
  authenticate(token: string): Principal | Promise<Principal | null> {
    return this.#callerOf(hashText(token), token, this.#findToken);
  }

  /**
   * Like `authenticate`, but for the secret of a session. A session secret is never accepted as a token, nor a token as
   * a session.
   */
  authenticateSession(secret: string): Principal | Promise<Principal | null> {
    const sessionId = hashText(secret);
    return this.#callerOf(sessionKey(sessionId), sessionId, this.#findSession);
  }

  readonly #findToken = (token: string) => this.#store.findToken(hashToken(token), this.#world.clock.now());
  readonly #findSession = (sessionId: string) => this.#store.findSession(sessionId, this.#world.clock.now());

  #callerOf(key: string, text: string, find: Find): Principal | Promise<Principal | null> {
    const known = this.#remembered.get(key);
    const leftMs = known ? known.untilMs - this.#world.clock.monotonicMs() : 0;
    if (!known || leftMs <= 0 || this.#hasExpired(known.principal))
      return this.#asked.get(key) ?? this.#ask(key, text, find);
    // If this fails, the request that finds the entry too old looks again, and reports the error.
    if (leftMs < LOOK_AGAIN_MS && !this.#asked.has(key)) this.#ask(key, text, find).catch(() => {});
    return known.principal;
  }

  /** The clock is read for a token that expires, and for no other. */
  #hasExpired({ token }: Principal): boolean {
    return token.expiresAt !== null && hasExpired(token, this.#world.clock.now());
  }

  #ask(key: string, text: string, find: Find): Promise<Principal | null> {
    const nowMs = this.#world.clock.monotonicMs();
    // Not current if a token or account was changed meanwhile: what the store returns may be older than the change.
    const isCurrent = () => this.#asked.get(key) === asked;
    const asked = find(text)
      .then((found) => {
        // A request that came later shares the look-up, and the token may have expired meanwhile.
        const principal = found === null || this.#hasExpired(found) ? null : found;
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

  /** Notes the time of a token's last use. Not awaited: no request depends on it, and the next use notes it again. */
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

  async setSuspended(accountId: string, isSuspended: boolean): Promise<boolean> {
    const now = this.#world.clock.now();
    const isKnown = await this.#store.setSuspended(accountId, isSuspended ? now : null, now);
    this.#forget();
    return isKnown;
  }

  /** From then on nothing of the account works. The service deletes it afterwards, in pieces. */
  async deleteAccount(accountId: string): Promise<Deletion> {
    const result = await this.#store.beginDeletion(accountId, this.#world.clock.now());
    this.#forget();
    // All tokens of the account were revoked.
    if (result === 'begun') this.#announceEnd('unknown');
    return result;
  }

  async setOutage(accountId: string, outage: 'park' | null): Promise<void> {
    await this.#store.setOutage(accountId, outage);
    this.#forget();
  }

  /** Makes a token. Only the result contains its text: the store keeps a hash. Null: the account is being deleted. */
  async createToken(
    accountId: string,
    name: string,
    scopes: readonly Scope[],
    { text = newSecret('pr', this.#world.random), ...limits }: Partial<TokenLimits> & { readonly text?: string } = {},
  ): Promise<{ token: Token; text: string } | null> {
    const token: Token = { ...this.#newToken(name, scopes), ...limits, accountId };
    const isMade = await this.#store.createToken(token, hashToken(text));
    this.#forget();
    return isMade ? { token, text } : null;
  }

  async revokeToken(accountId: string, tokenId: string): Promise<Revocation> {
    const result = await this.#store.revokeToken(accountId, tokenId, this.#world.clock.now());
    this.#forget();
    if (result === 'revoked') this.#announceEnd({ tokenId });
    return result;
  }

  /** Signs a caller in and returns the secret of the session, which is stored nowhere. */
  async createSession({ id: tokenId, expiresAt }: Pick<Token, 'id' | 'expiresAt'>): Promise<string> {
    const secret = newSecret('ses', this.#world.random);
    const createdAt = this.#world.clock.now();
    const endsAt = Math.min(createdAt + SESSION_MS, expiresAt ?? Number.POSITIVE_INFINITY);
    const session = { id: hashText(secret), tokenId, createdAt, expiresAt: endsAt };
    await this.#store.createSession(session, eachMax('sessions'));
    return secret;
  }

  async endSession(secret: string): Promise<void> {
    const sessionId = hashText(secret);
    await this.#store.endSession(sessionId);
    // Clears only this session: a caller that signs in and out all day causes no look-up for other callers.
    const key = sessionKey(sessionId);
    this.#remembered.delete(key);
    this.#asked.delete(key);
    this.#announceEnd({ sessionId });
  }

  /**
   * Whether the token and the session of each principal are still valid, in the order of `principals`. Reads the store,
   * never the cache.
   */
  areAdmitted(principals: readonly Principal[]): Promise<readonly boolean[]> {
    const credentials = principals.map(({ token, sessionId = null }) => ({ tokenId: token.id, sessionId }));
    return this.#store.areAdmitted(credentials, this.#world.clock.now());
  }

  /** Calls `listener` when a token or a session was ended here, or when another node reports that. */
  onEnd(listener: (ended: EndedAccess) => void): void {
    this.#endListeners.push(listener);
  }

  #announceEnd(ended: EndedAccess): void {
    for (const listener of this.#endListeners) listener(ended);
  }

  async rotateKeys(accountId: string): Promise<SigningKeys> {
    const before = await this.#store.getSigningKeys(accountId);
    const fresh = newSecret('sig', this.#world.random);
    return (await this.#store.rotateSigningKeys(accountId, before!.next, fresh))!;
  }

  /**
   * Makes the token `text` with all scopes. It belongs to the account `takenOver`, which `excludeDevTokens` left without a
   * token. With null, it is made only if no token with the admin scope exists that does not expire: in an empty store, or
   * after a take-over that was cut off. Returns whether it was made.
   */
  async createFirstToken(name: string, takenOver: string | null, text: string): Promise<boolean> {
    if (takenOver !== null) {
      await this.createToken(takenOver, 'first', SCOPES, { text });
      return true;
    }
    const { clock } = this.#world;
    const account: Account = { id: this.#newId('acc'), name, tier: 'free', createdAt: clock.now() };
    return this.#store.createFirstAdmin({
      account,
      keys: this.#freshKeys(),
      token: this.#newToken('first', SCOPES),
      hash: hashToken(text),
    });
  }

  #newToken(name: string, scopes: readonly Scope[]): Omit<Token, 'accountId'> {
    const createdAt = this.#world.clock.now();
    const unused = { revokedAt: null, lastUsedAt: null, expiresAt: null, addresses: [] };
    return { id: this.#newId('tok'), name, scopes, createdAt, ...unused };
  }

  #freshKeys(): SigningKeys {
    const { random } = this.#world;
    return { current: newSecret('sig', random), next: newSecret('sig', random) };
  }

  /**
   * For `dev`: creates the well-known token `text`, with all scopes, and the account `name` for it, if the store does
   * not have them. The account gets the signing keys `keys` only when the token is created.
   */
  async ensureWellKnownToken(name: string, text: string, keys?: SigningKeys): Promise<void> {
    if (await this.#store.findToken(hashToken(text), this.#world.clock.now())) return;
    const made = await this.createAccount(name, 'free');
    const account = made === 'nameTaken' ? await this.#named(name) : made;
    await this.createToken(account.id, name, SCOPES, { text });
    if (!keys) return;
    await this.#setKeys(account.id, keys);
  }

  /** Replaces both signing keys of the account: who knew the old keys knows neither of the new ones. */
  async replaceKeys(accountId: string): Promise<void> {
    await this.#setKeys(accountId, this.#freshKeys());
  }

  async #named(name: string): Promise<Account> {
    for await (const account of everyEntry(this.#store.listAccounts, ({ id }) => id)) {
      if (account.name === name) return account;
    }
    throw new Error(`there is no account "${name}"`);
  }

  /** A rotation makes the next key the current one and sets a new next key, so two rotations replace both keys. */
  async #setKeys(accountId: string, { current, next }: SigningKeys): Promise<void> {
    for (const fresh of [current, next]) {
      const before = await this.#store.getSigningKeys(accountId);
      await this.#store.rotateSigningKeys(accountId, before!.next, fresh);
    }
  }
}

/** The cache key of a session. Its prefix makes it different from every token hash. */
function sessionKey(sessionId: string): string {
  return `session ${sessionId}`;
}
