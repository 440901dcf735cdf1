// Limits the lists, searches and counts of all accounts: how many may run or wait on a node, and how much memory their
// responses hold until they are written. A read for which no memory is free waits. A read over the limit of their
// number is refused. A caller that does not read its response is disconnected.

import type { ServerResponse } from 'node:http';
import { eachMax } from '../../rules/limits/budgets.ts';
import { Pool } from '../../runtime/collections/pool.ts';
import { laneMax } from '../../runtime/lane-part.ts';
import type { Clock } from '../../runtime/world.ts';
import { ApiError, poolError } from './errors.ts';

/** How long a caller may take to read a piece of a response. */
const PATIENCE_MS = 30_000;
/** How much memory is reserved for a response whose size is not known yet. */
const RESERVED = eachMax('pageBytes');

export class ReadGate {
  readonly reads = new Pool(laneMax('reads'));
  readonly answers = new Pool(laneMax('answerBytes'));
  readonly #clock: Clock;
  /** Reads that wait for memory, by account. The account whose turn is next comes first. */
  readonly #waiting = new Map<string, Set<() => void>>();

  /** Needs a real-time clock, because sockets use real time. */
  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Resolves when the read may begin. The read counts until `done` is called and its response has ended in any way. */
  async enter(accountId: string, response: ServerResponse): Promise<AdmittedRead> {
    const why = this.reads.take(accountId, 1);
    if (why !== null) throw poolError(why, 'lists and searches');
    const visit = new AdmittedRead(this, accountId, response, this.#clock);
    if (this.#hasRoom(accountId)) visit.begin();
    else await this.#room(accountId, visit, response);
    return visit;
  }

  #hasRoom(accountId: string): boolean {
    return !this.#waiting.has(accountId) && this.answers.room(accountId) >= RESERVED;
  }

  #room(accountId: string, visit: AdmittedRead, response: ServerResponse): Promise<void> {
    return new Promise((resolve, reject) => {
      const line = this.#waiting.get(accountId) ?? new Set();
      this.#waiting.set(accountId, line);
      const leave = () => {
        line.delete(start);
        visit.done();
        if (line.size === 0 && this.#waiting.get(accountId) === line) this.#waiting.delete(accountId);
        reject(new ApiError('bad_request', 'the connection was closed'));
      };
      const start = () => {
        response.off('close', leave);
        visit.begin();
        resolve();
      };
      line.add(start);
      response.once('close', leave);
    });
  }

  /** Starts reads that wait. Called when memory was released. */
  admit(): void {
    for (const [accountId, line] of this.#waiting) {
      if (this.answers.room(accountId) < RESERVED) continue;
      const [start] = line;
      line.delete(start!);
      // The account goes to the end of the line, behind all other accounts.
      this.#waiting.delete(accountId);
      if (line.size > 0) this.#waiting.set(accountId, line);
      start!();
    }
  }
}

/** One read, from its admission until the store has finished it and its response has ended. */
export class AdmittedRead {
  readonly #gate: ReadGate;
  readonly #accountId: string;
  readonly #response: ServerResponse;
  readonly #clock: Clock;
  #held = 0;
  #isOver = false;
  #isDone = false;
  #isClosed: boolean;
  #cancelPatience: (() => void) | null = null;

  constructor(gate: ReadGate, accountId: string, response: ServerResponse, clock: Clock) {
    this.#gate = gate;
    this.#accountId = accountId;
    this.#response = response;
    this.#clock = clock;
    this.#isClosed = response.destroyed;
    response.once('close', () => {
      this.#isClosed = true;
      this.#endIfDone();
    });
  }

  /**
   * The store has finished this read. A read continues in the store after its caller has disconnected, and counts until
   * it is finished there. Otherwise a caller that calls and disconnects repeatedly could have any number of reads
   * running.
   */
  done(): void {
    this.#isDone = true;
    this.#endIfDone();
  }

  #endIfDone(): void {
    if (this.#isDone && this.#isClosed) this.#end();
  }

  begin(): void {
    if (this.#isOver) return;
    this.#gate.answers.take(this.#accountId, RESERVED);
    this.#held = RESERVED;
  }

  /** The response is known and has this size. From now on the caller must read it. */
  keep(bytes: number): void {
    if (this.#isOver) return;
    const { answers } = this.#gate;
    // A response larger than the share of an account counts as one share. Otherwise it could never be sent.
    const more = Math.min(bytes, Math.floor(answers.max / 2)) - this.#held;
    if (more > 0) {
      const why = answers.take(this.#accountId, more);
      if (why !== null) throw poolError(why, 'bytes of list responses');
      this.#held += more;
    } else if (more < 0) {
      answers.give(this.#accountId, -more);
      this.#held += more;
      this.#gate.admit();
    }
    this.hasProgressed();
  }

  /** The caller read a piece of the response. */
  hasProgressed(): void {
    this.#cancelPatience?.();
    this.#cancelPatience = this.#isOver ? null : this.#clock.after(PATIENCE_MS, () => this.#response.destroy());
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#cancelPatience?.();
    this.#gate.reads.give(this.#accountId, 1);
    if (this.#held > 0) this.#gate.answers.give(this.#accountId, this.#held);
    this.#held = 0;
    this.#gate.admit();
  }
}
