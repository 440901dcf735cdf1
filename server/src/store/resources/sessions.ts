// Who is signed in to the console, and whether an open stream may stay open.

import { hasExpired, type Session } from '../../rules/accounts/account.ts';
import type { Credential, Principal } from '../ports/access-store.ts';
import { type TokenRow, toToken } from '../rows/rows.ts';
import { getAccount } from './accounts.ts';
import { all, get, run, type Steps } from './steps.ts';

/** Limit for the expired sessions that each sign-in deletes. */
const EXPIRED_AT_ONCE = 100;
/** A limit that is never reached: SQLite allows an OFFSET only after a LIMIT. */
const ALL_OTHERS = Number.MAX_SAFE_INTEGER;

export function* createSession({ id, tokenId, createdAt, expiresAt }: Session, keptMax: number): Steps<void> {
  yield* run(
    `DELETE FROM sessions WHERE id IN
       (SELECT id FROM sessions WHERE expires_at <= ? ORDER BY expires_at LIMIT ${EXPIRED_AT_ONCE} FOR UPDATE SKIP LOCKED)`,
    [createdAt],
  );
  yield* run(
    `DELETE FROM sessions WHERE id IN
       (SELECT id FROM sessions WHERE token_id = ?
          ORDER BY created_at DESC, id DESC LIMIT ${ALL_OTHERS} OFFSET ? FOR UPDATE SKIP LOCKED)`,
    [tokenId, keptMax - 1],
  );
  const sql = 'INSERT INTO sessions (id, token_id, created_at, expires_at) VALUES (?, ?, ?, ?)';
  yield* run(sql, [id, tokenId, createdAt, expiresAt]);
}

export function* findSession(sessionId: string, now: number): Steps<Principal | null> {
  const row = yield* get<TokenRow>(
    `SELECT t.id, t.account_id, t.name, t.scopes, t.created_at, t.revoked_at, t.last_used_at, t.expires_at, t.addresses
       FROM sessions s JOIN tokens t ON t.id = s.token_id
       WHERE s.id = ? AND s.expires_at > ? AND t.revoked_at IS NULL`,
    [sessionId, now],
  );
  if (!row) return null;
  const token = toToken(row);
  return hasExpired(token, now) ? null : { token, account: (yield* getAccount(row.account_id))!, sessionId };
}

export function* endSession(sessionId: string): Steps<void> {
  yield* run('DELETE FROM sessions WHERE id = ?', [sessionId]);
}

export function* areAdmitted(credentials: readonly Credential[], now: number): Steps<boolean[]> {
  const tokens = yield* all<{ id: string }>(
    'SELECT id FROM tokens WHERE id = ANY (?) AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?)',
    [credentials.map(({ tokenId }) => tokenId), now],
  );
  const sessions = yield* all<{ id: string }>('SELECT id FROM sessions WHERE id = ANY (?) AND expires_at > ?', [
    credentials.flatMap(({ sessionId }) => sessionId ?? []),
    now,
  ]);
  const alive = new Set([...tokens, ...sessions].map(({ id }) => id));
  return credentials.map(
    ({ tokenId, sessionId }) => alive.has(tokenId) && (sessionId === null || alive.has(sessionId)),
  );
}
