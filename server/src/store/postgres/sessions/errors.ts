// What an error of the driver or the server means: retry, report as unavailable, or a bug.

import { StoreUnavailable } from '../../ports/store.ts';

/** SQLSTATEs of a conflict between two transactions: one of them is run again. */
const CONFLICTS: ReadonlySet<string> = new Set(['40001', '40P01']);

/** The server responds but cannot serve us now: it starts, stops, has no connection left, or a wait timed out. */
const UNAVAILABLE: ReadonlySet<string> = new Set([
  '53300',
  '53400',
  '55P03',
  '57014',
  '57P01',
  '57P02',
  '57P03',
  '57P05',
  '25P03',
  '25006',
]);

/** A prepared statement is missing or belongs to another client: a pooler shares this session between connections. */
const NOT_OURS: ReadonlySet<string> = new Set(['26000', '42P05']);

const DISK_FULL = '53100';
/**
 * A new session writes a file of the catalogue if it is missing, which is so after a vacuum. If the disk has no space
 * for that, the server reports an internal error of one of these functions. The text depends on the server's language.
 */
const INTERNAL_ERROR = 'XX000';
const SESSION_FILE_WRITERS: ReadonlySet<unknown> = new Set(['write_item', 'write_relcache_init_file']);

const NOT_SUPPORTED = '0A000';
/** The server's function that reports an outdated plan. The text of the error depends on the server's language. */
const PLAN_CHECK = 'RevalidateCachedQuery';

/** Only errors of the server have a severity. System error codes, such as EPIPE, may look like an SQLSTATE. */
function sqlState(error: unknown): string | null {
  const { code, severity } = error as { code?: unknown; severity?: unknown };
  return typeof code === 'string' && typeof severity === 'string' ? code : null;
}

/** Nothing was written, and the same work may succeed now. */
export function mayRunAgain(error: unknown): boolean {
  return CONFLICTS.has(sqlState(error) ?? '') || isOutdated(error);
}

/** The session is not only ours: a pooler has given it to another connection too. */
export function isSharedSession(error: unknown): boolean {
  return NOT_OURS.has(sqlState(error) ?? '');
}

/** The database user of this node lacks a permission. */
export function isForbidden(error: unknown): boolean {
  return sqlState(error) === '42501';
}

export function isDiskFull(error: unknown): boolean {
  return sqlState(error) === DISK_FULL || isNoSessionPossible(error);
}

/** No new session can start, because the disk is full. The sessions that exist still work. */
export function isNoSessionPossible(error: unknown): boolean {
  return sqlState(error) === INTERNAL_ERROR && SESSION_FILE_WRITERS.has((error as { routine?: unknown }).routine);
}

/** The tables do not exist, or were moved. */
const MISSING: ReadonlySet<string> = new Set(['42P01', '3F000', '3D000']);

export function areTablesMissing(error: unknown): boolean {
  return MISSING.has(sqlState(error) ?? '');
}

export function isReadOnly(error: unknown): boolean {
  return sqlState(error) === '25006';
}

export function isLockTimeout(error: unknown): boolean {
  return sqlState(error) === '55P03';
}

/** Since a statement was prepared, a newer node has changed what it returns. Nothing was written. */
export function isOutdated(error: unknown): boolean {
  return sqlState(error) === NOT_SUPPORTED && (error as { routine?: unknown }).routine === PLAN_CHECK;
}

/** The connection is lost: it broke, or the server has reported that it closes the connection. */
export function isLost(error: unknown): boolean {
  const state = sqlState(error);
  return state === null || state.startsWith('08') || state.startsWith('57P') || state === '25P03';
}

/** The error for the rest of the program. An error about our own statement stays unchanged. */
export function toStoreError(error: unknown): Error {
  if (error instanceof StoreUnavailable) return error;
  const state = sqlState(error);
  const { message } = error as Error;
  if (state !== null && MISSING.has(state)) return new StoreUnavailable('gone', message);
  if (isDiskFull(error)) return new StoreUnavailable('full', message);
  const isPassing = state === null || [UNAVAILABLE, CONFLICTS, NOT_OURS].some((states) => states.has(state));
  const isOurs = !isPassing && !state.startsWith('08');
  return isOurs ? (error as Error) : new StoreUnavailable('unavailable', message);
}

/** No reply in the time that a caller can wait. The connection was closed, so that nothing more is sent on it. */
export class ReplyTooLate extends Error {
  constructor(ms: number) {
    super(`no reply within ${Math.round(ms)} ms`);
  }
}

/** The connection was lost before the commit was confirmed: the outcome is unknown and may still change. */
export class CommitInDoubt extends StoreUnavailable {
  /** The server process that received the commit, if known. */
  session: number | null = null;

  constructor(cause: unknown) {
    super('doubtful', (cause as Error).message);
    this.cause = cause;
  }
}

/**
 * For the statement that commits. If the connection is lost before the reply, the outcome is unknown. An error reported
 * by the server means that nothing was written, unless it reports that it shuts down.
 */
export async function committing<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    throw isLost(error) ? new CommitInDoubt(error) : error;
  }
}

/** The connection was lost while reading or in the middle of a transaction, so it is certain that nothing was written. */
export class ConnectionCutOff extends Error {
  constructor(cause: unknown) {
    super('cut off before the commit', { cause });
  }
}

/** Throws the error unless work was cut off for the first time: only then may it run again. */
export function requireFirstCutOff(error: unknown, tries: number): void {
  if (!(error instanceof ConnectionCutOff)) throw error;
  if (tries > 1) throw error.cause;
}

/** Rethrows an error from before the commit. A lost connection becomes `ConnectionCutOff`: nothing was written. */
export function throwCutOff(error: unknown): never {
  // Work that took too long is not run again, because its caller has waited long enough.
  if (error instanceof ReplyTooLate) throw new StoreUnavailable('unavailable', error.message);
  throw isLost(error) ? new ConnectionCutOff(error) : error;
}

/** Turns every failure into an error of the store. */
export async function toStoreErrors<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw toStoreError(error);
  }
}
