// What an error of the driver or the server means to us: tried again, told as unavailable, or a fault of ours.

import { StoreUnavailable } from '../store.ts';

/** By SQLSTATE: two transactions that could not both go on; one of them goes again. */
const CONFLICTS: ReadonlySet<string> = new Set(['40001', '40P01']);

/** The server is there, but not for us now: it starts, stops, has no connection left, or gave up waiting. */
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

/** A statement that we prepared is not there, or one of another: the session is not ours, but lent by a pooler. */
const NOT_OURS: ReadonlySet<string> = new Set(['26000', '42P05']);

const DISK_FULL = '53100';

/** Only what the server reports has a severity; the system's own codes, such as EPIPE, may look like one of its states. */
function sqlState(error: unknown): string | null {
  const { code, severity } = error as { code?: unknown; severity?: unknown };
  return typeof code === 'string' && typeof severity === 'string' ? code : null;
}

export function isConflict(error: unknown): boolean {
  return CONFLICTS.has(sqlState(error) ?? '');
}

export function isNotOurs(error: unknown): boolean {
  return NOT_OURS.has(sqlState(error) ?? '');
}

/** There is no connection any more; for a reason of its own, or because the server said that it ends it. */
export function isLost(error: unknown): boolean {
  const state = sqlState(error);
  return state === null || state.startsWith('08') || state.startsWith('57P') || state === '25P03';
}

/** What the rest of the program is told. An error that says something about our own statement stays as it is. */
export function toStoreError(error: unknown): Error {
  if (error instanceof StoreUnavailable) return error;
  const state = sqlState(error);
  const { message } = error as Error;
  if (state === DISK_FULL) return new StoreUnavailable('full', message);
  const isPassing = state === null || [UNAVAILABLE, CONFLICTS, NOT_OURS].some((states) => states.has(state));
  const isOurs = !isPassing && !state.startsWith('08');
  return isOurs ? (error as Error) : new StoreUnavailable('unavailable', message);
}

/** The connection was lost before a commit was answered: nobody knows what became of it, or what will. */
export class CommitInDoubt extends StoreUnavailable {
  /** The database's process that was asked, if it is known. */
  session: number | null = null;

  constructor(message: string) {
    super('doubtful', message);
  }
}

/**
 * For the statement that commits: when the connection is lost before it is answered, nobody knows what became of it. An
 * error that the server itself reports says that nothing did, unless it reports that it goes away.
 */
export async function committing<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    throw isLost(error) ? new CommitInDoubt((error as Error).message) : error;
  }
}
