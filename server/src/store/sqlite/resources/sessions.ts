// Who is signed in to the console, and whether an open stream may stay open.

import type { Session } from '../../../rules/accounts/account.ts';
import type { Credential, Principal } from '../../ports/access-store.ts';
import { type TokenRow, toToken } from '../../rows/rows.ts';
import type { Database } from '../thread/database.ts';
import { getAccount } from './accounts.ts';

/** Each sign-in deletes a few expired sessions. */
const EXPIRED_AT_ONCE = 100;

export function createSession(database: Database, session: Session, keptMax: number): void {
  database.run(
    `DELETE FROM sessions WHERE id IN
       (SELECT id FROM sessions WHERE expires_at <= ? ORDER BY expires_at LIMIT ${EXPIRED_AT_ONCE})`,
    session.createdAt,
  );
  database.run(
    `DELETE FROM sessions WHERE id IN
       (SELECT id FROM sessions WHERE token_id = ? ORDER BY created_at DESC, id DESC LIMIT -1 OFFSET ?)`,
    session.tokenId,
    keptMax - 1,
  );
  database.run(
    'INSERT INTO sessions (id, token_id, created_at, expires_at) VALUES (?, ?, ?, ?)',
    session.id,
    session.tokenId,
    session.createdAt,
    session.expiresAt,
  );
}

export function findSession(database: Database, sessionId: string, now: number): Principal | null {
  const row = database.get<TokenRow>(
    `SELECT t.id, t.account_id, t.name, t.scopes, t.created_at, t.revoked_at, t.last_used_at
       FROM sessions s JOIN tokens t ON t.id = s.token_id
       WHERE s.id = ? AND s.expires_at > ? AND t.revoked_at IS NULL`,
    sessionId,
    now,
  );
  return row ? { token: toToken(row), account: getAccount(database, row.account_id)!, sessionId } : null;
}

export function endSession(database: Database, sessionId: string): void {
  database.run('DELETE FROM sessions WHERE id = ?', sessionId);
}

export function areAdmitted(database: Database, credentials: readonly Credential[], now: number): boolean[] {
  return credentials.map(({ tokenId, sessionId }) => {
    const token = database.get('SELECT 1 FROM tokens WHERE id = ? AND revoked_at IS NULL', tokenId);
    if (!token || sessionId === null) return token !== undefined;
    return database.get('SELECT 1 FROM sessions WHERE id = ? AND expires_at > ?', sessionId, now) !== undefined;
  });
}
