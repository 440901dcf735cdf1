// Resolves host names for all accounts: one look-up of a name at a time, with results kept for a few seconds. An
// account whose names never resolve leaves room for the others. A caller that must wait for room is called back when
// there is room, because this wait is not part of an attempt.

import { isIP } from 'node:net';
import { eachMax } from '../../rules/limits/budgets.ts';
import { Pool } from '../../runtime/collections/pool.ts';
import { laneMax } from '../../runtime/lane-part.ts';
import type { Clock } from '../../runtime/world.ts';
import { lookupErrorText } from '../http/failure.ts';

/** The destination cannot be reached now, and a retry may help. Users see the text of this error. */
export class UnreachableError extends Error {
  /** The text with addresses, for the operator. Null when there is nothing to add. */
  readonly detail: string | null;
  constructor(message: string, detail: string | null = null) {
    super(message);
    this.detail = detail;
  }
}

/** Nothing was looked up: the account already has its maximum of look-ups under way. */
export class NoLookupError extends Error {}

/** Returns addresses. For an unknown name it rejects or returns an empty list. */
export type LookUp = (hostname: string) => Promise<readonly string[]>;

/** How long callers wait for a look-up. Then they get an error, but the look-up continues: it cannot be cancelled. */
const SILENT_MS = 5_000;
/** How long a result is kept: long enough for many connections to one host, short enough for a change of address. */
const KEPT_MS = 5_000;

type Answer = readonly string[] | UnreachableError;

interface Running {
  /** The callers that wait. Null once the look-up took too long. */
  waiting: ((answer: Answer) => void)[] | null;
}

interface Kept {
  readonly answer: Answer;
  readonly untilMs: number;
}

interface Waiting {
  readonly accountId: string;
  readonly hostname: string;
  readonly go: () => void;
}

export class Lookups {
  readonly pool = new Pool(laneMax('lookups'));
  readonly #clock: Clock;
  readonly #lookUp: LookUp;
  readonly #running = new Map<string, Running>();
  /** The kept results, the oldest first. */
  readonly #kept = new Map<string, Kept>();
  readonly #waitingByAccount = new Map<string, Set<Waiting>>();
  readonly #waitingByName = new Map<string, Set<Waiting>>();

  constructor(clock: Clock, lookUp: LookUp) {
    this.#clock = clock;
    this.#lookUp = lookUp;
  }

  get keptCount(): number {
    return this.#kept.size;
  }

  /**
   * Calls `go` as soon as the name is known or is being looked up: at once, or when the account may start one more
   * look-up. Returns a function that cancels the wait.
   */
  whenFree(accountId: string, hostname: string, go: () => void): () => void {
    if (this.#isAsked(hostname) || this.#begin(accountId, hostname)) {
      go();
      return () => {};
    }
    const waiting: Waiting = { accountId, hostname, go };
    addTo(this.#waitingByAccount, accountId, waiting);
    addTo(this.#waitingByName, hostname, waiting);
    return () => this.#forget(waiting);
  }

  /** Rejects with an UnreachableError, or with a NoLookupError when there is no room for a look-up. */
  find(accountId: string, hostname: string): Promise<readonly string[]> {
    if (!this.#isAsked(hostname) && !this.#begin(accountId, hostname)) {
      return Promise.reject(new NoLookupError('the account has used up its share of name lookups'));
    }
    return new Promise((resolve, reject) => {
      const take = (answer: Answer) => (answer instanceof Error ? reject(answer) : resolve(answer));
      const known = this.#known(hostname);
      if (known !== null) return take(known);
      const { waiting } = this.#running.get(hostname)!;
      if (waiting === null) take(silence(hostname));
      else waiting.push(take);
    });
  }

  #isAsked(hostname: string): boolean {
    return this.#known(hostname) !== null || this.#running.has(hostname);
  }

  #known(hostname: string): Answer | null {
    // A literal address needs no look-up: it is its own result.
    if (isIP(hostname) !== 0) return [hostname];
    const kept = this.#kept.get(hostname);
    if (kept === undefined) return null;
    if (kept.untilMs > this.#clock.monotonicMs()) return kept.answer;
    this.#kept.delete(hostname);
    return null;
  }

  /** Starts a look-up. Returns false when the account has no room for one more. */
  #begin(accountId: string, hostname: string): boolean {
    if (this.pool.take(accountId, 1) !== null) return false;
    const running: Running = { waiting: [] };
    this.#running.set(hostname, running);
    const answerAll = (answer: Answer) => {
      for (const take of running.waiting ?? []) take(answer);
      running.waiting = null;
    };
    const cancelTimer = this.#clock.after(SILENT_MS, () => answerAll(silence(hostname)));
    const end = (answer: Answer) => {
      cancelTimer();
      this.#running.delete(hostname);
      this.#keep(hostname, answer);
      // The thread of the look-up is free only now, even if all callers stopped waiting long ago.
      this.pool.give(accountId, 1);
      answerAll(answer);
      this.#start();
    };
    this.#lookUp(hostname).then(
      (addresses) => end(addresses.length === 0 ? notFound(hostname) : addresses.slice(0, eachMax('lookupAddresses'))),
      (error: Error) => end(new UnreachableError(lookupErrorText(error, hostname))),
    );
    this.#goAll(hostname);
    return true;
  }

  #keep(hostname: string, answer: Answer): void {
    this.#kept.delete(hostname);
    this.#kept.set(hostname, { answer, untilMs: this.#clock.monotonicMs() + KEPT_MS });
    if (this.#kept.size > laneMax('lookupNames')) this.#kept.delete(this.#kept.keys().next().value!);
  }

  /** Starts waiting look-ups that now have room, one for each account in turn. */
  #start(): void {
    let hasBegun = true;
    while (hasBegun) {
      hasBegun = false;
      for (const [accountId, line] of [...this.#waitingByAccount]) {
        const [first] = line;
        if (first === undefined || this.pool.room(accountId) < 1) continue;
        if (this.#isAsked(first.hostname)) this.#goAll(first.hostname);
        else this.#begin(accountId, first.hostname);
        hasBegun = true;
      }
    }
  }

  /** Stops the wait of all callers of a name: the name is being looked up, so they need no room. */
  #goAll(hostname: string): void {
    const all = [...(this.#waitingByName.get(hostname) ?? [])];
    for (const waiting of all) this.#forget(waiting);
    for (const { go } of all) go();
  }

  #forget(waiting: Waiting): void {
    removeFrom(this.#waitingByAccount, waiting.accountId, waiting);
    removeFrom(this.#waitingByName, waiting.hostname, waiting);
  }
}

function silence(hostname: string): UnreachableError {
  return new UnreachableError(`name lookup took longer than ${SILENT_MS / 1_000} s: ${hostname}`);
}

function notFound(hostname: string): UnreachableError {
  return new UnreachableError(`name not found: ${hostname}`);
}

function addTo<T>(sets: Map<string, Set<T>>, key: string, value: T): void {
  const set = sets.get(key);
  if (set === undefined) sets.set(key, new Set([value]));
  else set.add(value);
}

function removeFrom<T>(sets: Map<string, Set<T>>, key: string, value: T): void {
  const set = sets.get(key);
  set?.delete(value);
  if (set?.size === 0) sets.delete(key);
}
