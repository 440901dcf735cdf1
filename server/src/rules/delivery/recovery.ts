// What happens to a message whose attempt was cut off because this service was stopped or crashed. Such a message never
// fails: its attempt is made again. A message that seems to cause the crashes is held for a person.

import { takeInTurn } from '../limits/take-in-turn.ts';
import { backoffMs } from './backoff.ts';

/** After this many crashes without a known result between them, a message is a suspect: it starts later, and alone. */
export const SUSPECT_INTERRUPTIONS = 3;

/** A message is held after this many crashes, without a known result between them, while only it was in flight. */
export const CRASHES_ALONE_MAX = 3;

/**
 * How long other messages wait at most for a message that starts alone. They wait twice: until the attempts in flight
 * have ended, and until the message itself has ended. This is long enough for a fault that kills a process at once, and
 * short enough that nobody notices the wait.
 */
export const ALONE_MS = 2000;

/** A time that never comes: the largest that a Date can hold. */
export const NEVER_AT = 8_640_000_000_000_000;

/**
 * What cut an attempt off: a shutdown, a crash, or a crash while no other attempt was in flight. After a crash, nobody
 * knows whether the first byte of the request was written: we assume that it was.
 */
export type CutOff = 'drain' | 'crash' | 'crashAlone';

export interface Interruptions {
  /** How many crashes interrupted the message since its last known result. */
  readonly interrupted: number;
  /** At how many of the crashes counted in `interrupted` no other attempt was in flight. */
  readonly aloneAtCrash: number;
}

export const NO_INTERRUPTIONS: Interruptions = { interrupted: 0, aloneAtCrash: 0 };

export interface AfterCutOff {
  readonly counts: Interruptions;
  readonly next: { readonly kind: 'again'; readonly afterMs: number; readonly startsAlone: boolean } | { kind: 'held' };
}

export function afterCutOff(before: Interruptions, cause: CutOff): AfterCutOff {
  if (cause === 'drain') return { counts: before, next: again(before.interrupted) };
  const counts = {
    interrupted: before.interrupted + 1,
    aloneAtCrash: before.aloneAtCrash + (cause === 'crashAlone' ? 1 : 0),
  };
  if (counts.aloneAtCrash >= CRASHES_ALONE_MAX) return { counts, next: { kind: 'held' } };
  return { counts, next: { ...again(counts.interrupted), afterMs: pauseMs(counts.interrupted) } };
}

/** What follows a drain: the message starts again without a wait, and alone if it is a suspect. */
function again(interrupted: number): { kind: 'again'; afterMs: number; startsAlone: boolean } {
  return { kind: 'again', afterMs: 0, startsAlone: isSuspect({ interrupted }) };
}

export function isSuspect({ interrupted }: Pick<Interruptions, 'interrupted'>): boolean {
  return interrupted >= SUSPECT_INTERRUPTIONS;
}

/** The pause after this many crashes: none after the first two, then the built-in backoff: 1 s, 7.4 s, 54.6 s … */
export function pauseMs(interrupted: number): number {
  return interrupted < SUSPECT_INTERRUPTIONS ? 0 : backoffMs(interrupted - SUSPECT_INTERRUPTIONS);
}

/** An attempt that a dead node had claimed. */
export interface Orphan {
  readonly claimedAt: number | null;
  readonly interrupted: number;
}

/**
 * The index of the attempt that was in flight alone when its node died; -1 if there is none. The attempt of a suspect
 * counts as alone too if all others were claimed at least ALONE_MS before it: in that time, none of them had crashed
 * the node.
 */
export function indexOfLoneAttempt(orphans: readonly Orphan[]): number {
  if (orphans.length === 1) return 0;
  const claimedAt = orphans.map((orphan) => orphan.claimedAt ?? 0);
  const last = claimedAt.indexOf(Math.max(...claimedAt));
  const isApart = claimedAt.every((at, index) => index === last || at + ALONE_MS <= claimedAt[last]!);
  return last >= 0 && isApart && isSuspect(orphans[last]!) ? last : -1;
}

/** Why a message is held, as text. */
export function heldReason({ aloneAtCrash }: Pick<Interruptions, 'aloneAtCrash'>): string {
  return (
    `the server crashed ${aloneAtCrash} times in a row while only this message was in flight, so it may be the cause; ` +
    'release it to try again, or cancel it'
  );
}

/** To find one message that may start alone: how many suspects are read at most, and how many of them are tried. */
export const SUSPECTS_READ_MAX = 1000;
const SUSPECTS_TRIED_MAX = 50;

/**
 * Which of the suspects that wait to start alone are tried. Of each flow key only the first is tried, because a key
 * that blocks its first message blocks its others too. Accounts take turns.
 */
export function chooseStartingAlone<S extends { readonly account_id: string; readonly flow_key: string | null }>(
  suspects: readonly S[],
): readonly S[] {
  const lines = new Set<string>();
  const firsts = suspects.filter(({ account_id, flow_key }) => {
    const line = JSON.stringify([account_id, flow_key]);
    if (lines.has(line)) return false;
    lines.add(line);
    return true;
  });
  return takeInTurn(firsts, SUSPECTS_TRIED_MAX, ({ account_id }) => account_id).taken;
}
