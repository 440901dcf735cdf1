// Who is signed in to the console, and whether an open stream may stay open.

import type { Session } from '../../../rules/accounts/account.ts';
import type { Credential, Principal } from '../../ports/access-store.ts';
import { type TokenRow, toToken } from '../../rows/rows.ts';
import { nullIfUnstorable } from '../messages/null-if-unstorable.ts';
import type { Database } from '../sessions/database.ts';
import { getAccount } from './accounts.ts';

/** Each sign-in deletes a few expired sessions. */
const EXPIRED_AT_ONCE = 100;

export async function createSession(database: Database, session: Session, keptMax: number): Promise<void> {
  await database.run(
    `DELETE FROM sessions WHERE id IN (SELECT id FROM sessions WHERE expires_at <= $1
       ORDER BY expires_at LIMIT ${EXPIRED_AT_ONCE} FOR UPDATE SKIP LOCKED)`,
    session.createdAt,
  );
  await database.run(
    `DELETE FROM sessions WHERE id IN (SELECT id FROM sessions WHERE token_id = $1
       ORDER BY created_at DESC, id DESC OFFSET $2 FOR UPDATE SKIP LOCKED)`,
    session.tokenId,
    keptMax - 1,
  );
  await database.run(
    'INSERT INTO sessions (id, token_id, created_at, expires_at) VALUES ($1, $2, $3, $4)',
    session.id,
    session.tokenId,
    session.createdAt,
    session.expiresAt,
  );
}

export async function findSession(database: Database, sessionId: string, now: number): Promise<Principal | null> {
  const row = await database.get<TokenRow>(
    `SELECT t.id, t.account_id, t.name, t.scopes, t.created_at, t.revoked_at, t.last_used_at
       FROM sessions s JOIN tokens t ON t.id = s.token_id
       WHERE s.id = $1 AND s.expires_at > $2 AND t.revoked_at IS NULL`,
    nullIfUnstorable(sessionId),
    now,
  );
  return row ? { token: toToken(row), account: (await getAccount(database, row.account_id))!, sessionId } : null;
}

export async function endSession(database: Database, sessionId: string): Promise<void> {
  await database.run('DELETE FROM sessions WHERE id = $1', nullIfUnstorable(sessionId));
}

export async function areAdmitted(
  database: Database,
  credentials: readonly Credential[],
  now: number,
): Promise<boolean[]> {
  const tokens = await database.all<{ id: string }>(
    'SELECT id FROM tokens WHERE id = ANY ($1) AND revoked_at IS NULL',
    credentials.map(({ tokenId }) => tokenId),
  );
  const sessions = await database.all<{ id: string }>(
    'SELECT id FROM sessions WHERE id = ANY ($1) AND expires_at > $2',
    credentials.flatMap(({ sessionId }) => sessionId ?? []),
    now,
  );
  const alive = new Set([...tokens, ...sessions].map(({ id }) => id));
  return credentials.map(
    ({ tokenId, sessionId }) => alive.has(tokenId) && (sessionId === null || alive.has(sessionId)),
  );
}
