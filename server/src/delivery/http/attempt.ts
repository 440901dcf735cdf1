// One HTTP exchange, from connecting to the last byte of the response, turned into an Outcome. It never throws, follows
// no redirect, decompresses nothing and retries nothing. It does not decide whether the outcome is a success or what
// comes next.

import type { HeaderList, Outcome } from '../../rules/delivery/message.ts';
import { eachMax, UNCOUNTED_BODY_BYTES_MAX } from '../../rules/limits/budgets.ts';
import type { TargetUrl } from '../../rules/publish/destination.ts';
import type { Pool } from '../../runtime/collections/pool.ts';
import { DeadlineMember, type Deadlines } from '../../runtime/deadlines.ts';
import { RefusedError } from '../egress/dial.ts';
import { NoLookupError, UnreachableError } from '../egress/lookups.ts';
import type { WireWindow } from '../engine/wire-window.ts';
import { AnswerTooLargeError } from './answer-guard.ts';
import type { Connection, Connections, ConnectionTaker, ExchangeEnd } from './connections.ts';
import { exchangeErrorText, NotHttpError, UnwrittenError } from './failure.ts';
import { TooLateError } from './first-write.ts';
import type { ExchangeListener, HttpRequest } from './http-client.ts';
import { LargeBody } from './large-body.ts';

export interface AttemptRequest extends HttpRequest {
  readonly accountId: string;
  readonly target: TargetUrl;
  readonly body: Uint8Array;
  readonly timeoutMs: number;
}

/** undici's error codes for a request that can never be sent. */
const UNSENDABLE: ReadonlySet<string> = new Set([
  'UND_ERR_INVALID_ARG',
  'UND_ERR_NOT_SUPPORTED',
  'UND_ERR_REQ_CONTENT_LENGTH_MISMATCH',
]);

const NOTHING = Buffer.alloc(0);
const NO_HEADERS: HeaderList = [];
const NOTHING_TO_CANCEL = () => {};
/** Limit for the part of a response's body that is kept. The rest is not read. */
const BODY_BYTES_MAX = eachMax('answerBodyBytes');

export interface AttemptWorld {
  readonly connections: Connections;
  readonly deadlines: Deadlines;
  readonly wire: WireWindow;
  /** The pool of memory for responses. */
  readonly answers: Pool;
}

/** What an attempt reports to. One owner serves all attempts, so each call names the attempt by its lease. */
export interface AttemptOwner {
  attemptEnded(lease: string, startedAt: number, outcome: Outcome | 'unsent'): void;
  bodyWritten(lease: string): void;
}

export class NetworkAttempt extends DeadlineMember implements ExchangeListener, ConnectionTaker {
  readonly #world: AttemptWorld;
  readonly #owner: AttemptOwner;
  readonly #lease: string;
  readonly #startedAt: number;
  #timeoutMs = 0;
  #mustStartBefore: number | null = null;
  /** The request, until it is given to a connection. */
  #request: HttpRequest | null = null;
  #cancelWaiting = NOTHING_TO_CANCEL;
  #connection: Connection | null = null;
  #isSent = false;
  #isOver = false;
  #status: number | null = null;
  #headers: HeaderList = NO_HEADERS;
  #accountId = '';
  /** Bytes taken from the pool for responses. */
  #takenBytes = 0;
  #body: Buffer = NOTHING;
  #bodyBytes = 0;

  constructor(world: AttemptWorld, owner: AttemptOwner, lease: string, startedAt: number) {
    super();
    this.#world = world;
    this.#owner = owner;
    this.#lease = lease;
    this.#startedAt = startedAt;
  }

  /**
   * Call this once. The owner is notified exactly once that the attempt ended, possibly before this returns. Before
   * that, the owner is notified when a large body is written and the attempt no longer holds it.
   */
  start(request: AttemptRequest): void {
    const { accountId, target, body, timeoutMs } = request;
    this.#accountId = accountId;
    this.#timeoutMs = timeoutMs;
    this.#mustStartBefore = request.mustStartBefore;
    const isLarge = body.length > UNCOUNTED_BODY_BYTES_MAX;
    this.#request = isLarge
      ? { ...request, body: new LargeBody(body, () => this.#owner.bodyWritten(this.#lease)) }
      : request;
    // The deadline includes the wait for a connection, because the attempt counts as started from here.
    this.#world.deadlines.start(this, timeoutMs);
    this.#cancelWaiting = this.#world.connections.acquire(target, accountId, this);
  }

  onConnection(connection: Connection): void {
    const request = this.#request!;
    // From here on only the connection holds the body.
    this.#request = null;
    this.#connection = connection;
    connection.client.send(request, this);
  }

  onDeadline(): void {
    this.#end({ kind: 'timedOut', timeoutMs: this.#timeoutMs });
  }

  /** Ends the attempt now, at any stage: the process is shutting down. */
  interrupt(reason: string): void {
    this.#end(this.#isSent ? { kind: 'interrupted', reason, cause: 'drain' } : 'unsent');
  }

  /** Ends the attempt now, unless it is already being sent. Returns whether it was ended. */
  dropUnsent(): boolean {
    if (this.#isSent || this.#isOver) return false;
    this.#end('unsent');
    return true;
  }

  onStart(): boolean {
    if (this.#isOver) return false;
    if (!this.#world.wire.mayWrite(this.#mustStartBefore)) {
      this.#end('unsent');
      return false;
    }
    this.#isSent = true;
    return true;
  }

  onHead(status: number, headers: HeaderList): void {
    this.#status = status;
    this.#headers = headers;
  }

  onBody(bytes: Buffer): void {
    if (this.#isOver) return;
    const kept = bytes.subarray(0, BODY_BYTES_MAX - this.#bodyBytes);
    if (!this.#append(kept) || kept.length < bytes.length) this.#endAnswered(true);
  }

  onEnd(): void {
    this.#endAnswered(false);
  }

  onError(error: Error & { readonly code?: string }): void {
    if (error instanceof AnswerTooLargeError && this.#status !== null) {
      this.#endAnswered(true);
    } else if (error instanceof TooLateError || error instanceof NoLookupError || error instanceof UnwrittenError) {
      this.#end('unsent');
    } else if (error instanceof RefusedError) {
      this.#end({ kind: 'refusedByPolicy', reason: error.message, ...detailOf(error) });
    } else if (UNSENDABLE.has(error.code ?? '')) {
      this.#end({ kind: 'refusedByPolicy', reason: `the request cannot be sent: ${error.message}` });
    } else {
      this.#end({ kind: 'unreachable', reason: this.#reasonOf(error), ...detailOf(error) });
    }
  }

  #reasonOf(error: Error & { code?: string }): string {
    if (error instanceof UnreachableError || error instanceof AnswerTooLargeError) return error.message;
    if (error instanceof NotHttpError) return `response is not HTTP: ${error.message}`;
    return exchangeErrorText(error, this.#status !== null);
  }

  takeMemory(bytes: number): boolean {
    if (this.#isOver || this.#world.answers.take(this.#accountId, bytes) !== null) return false;
    this.#takenBytes += bytes;
    return true;
  }

  /**
   * Appends to one growing buffer: a list of one-byte chunks would need a hundred times the memory. Returns false when
   * no memory is left.
   */
  #append(bytes: Buffer): boolean {
    const needed = this.#bodyBytes + bytes.length;
    if (needed > this.#body.length) {
      const size = Math.min(Math.max(needed, 2 * this.#body.length), BODY_BYTES_MAX);
      if (!this.takeMemory(size - this.#body.length)) return false;
      const grown = Buffer.alloc(size);
      this.#body.copy(grown, 0, 0, this.#bodyBytes);
      this.#body = grown;
    }
    bytes.copy(this.#body, this.#bodyBytes);
    this.#bodyBytes = needed;
    return true;
  }

  #endAnswered(isBodyCut: boolean): void {
    const body = this.#body.subarray(0, this.#bodyBytes);
    this.#end({ kind: 'answered', status: this.#status ?? 0, headers: this.#headers, body, isBodyCut });
  }

  /**
   * A connection is reused only after a complete response. Dropping a connection also cancels the exchange that still
   * runs on it.
   */
  #end(outcome: Outcome | 'unsent'): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#request = null;
    this.#world.deadlines.cancel(this, this.#timeoutMs);
    this.#cancelWaiting();
    this.#world.answers.give(this.#accountId, this.#takenBytes);
    // The outcome has the headers and the body now. undici's connection keeps this attempt until its next request, so
    // this attempt must not keep them.
    this.#headers = NO_HEADERS;
    this.#body = NOTHING;
    if (this.#connection !== null) {
      this.#world.connections.release(this.#connection, this.#exchangeEnd(outcome));
    }
    this.#owner.attemptEnded(this.#lease, this.#startedAt, outcome);
  }

  #exchangeEnd(outcome: Outcome | 'unsent'): ExchangeEnd {
    if (outcome === 'unsent') return 'cut';
    if (outcome.kind === 'answered' && !outcome.isBodyCut) return 'whole';
    return outcome.kind === 'unreachable' && this.#status === null ? 'lost' : 'cut';
  }
}

function detailOf(error: Error): { readonly detail: string } | null {
  const isDialled = error instanceof RefusedError || error instanceof UnreachableError;
  return isDialled && error.detail !== null ? { detail: error.detail } : null;
}
