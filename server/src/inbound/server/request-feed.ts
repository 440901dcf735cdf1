// Passes the bytes of a connection to node:http, one request at a time, and refuses request lines for which node:http
// is too lenient. When too many requests wait for their responses, no more is read. The parser of node:http finds the
// end of a request; this code only makes sure that no byte of the next request is parsed before its turn.

import type { Socket } from 'node:net';
import { eachMax } from '../../rules/limits/budgets.ts';
import type { Problem } from '../../rules/requests/problem.ts';
import { requestLineProblem, tooLargeHead } from '../../rules/requests/request-head.ts';

import type { LoopTurns } from '../../runtime/loop-turns.ts';
import { keepsAlive, preventDirectReads, replaceClose } from '../../runtime/node-internals/http-connection.ts';
import { pushToStream, resumeReading, takeBytes } from '../../runtime/node-internals/socket-bytes.ts';
import type { CallerConnections } from './caller-connections.ts';
import type { Connection, Exchange } from './connection.ts';
import { CountedRequest, tooSlowError } from './counted-request.ts';
import { GrowingBytes } from './growing-bytes.ts';

export interface RequestFeedOptions {
  readonly connections: CallerConnections;
  /** The length of a period. In each period `BODY_BYTES_MIN` bytes of a body must arrive, or its end. */
  readonly bodyMs: number;
  readonly turns: LoopTurns;
  /** Makes node:http read the connection. */
  readonly giveToNode: (socket: Socket) => void;
  /** Responds to a request that node:http must not see. */
  readonly refuse: (problem: Problem, socket: Socket) => void;
}

const HEAD_BYTES_MAX = eachMax('headBytes');
const OPEN_MAX = eachMax('pipelined');
const DROPPED_BYTES_MAX = eachMax('refusedBytes');
/** How many bytes of a body must arrive in each period of `bodyMs`, on every route. */
const BODY_BYTES_MIN = eachMax('bodyBytesMin');
/** A body counts as long if more bytes than this are missing, or if more than half as many have arrived at once. */
const LONG_BODY_BYTES = 64 * 1024;
const CR = 13;
const LF = 10;
const HEAD_END = Buffer.from('\r\n\r\n');

/** What the next byte belongs to. `nothing`: it is dropped. */
type Part = 'line' | 'headers' | 'sized body' | 'chunked body' | 'nothing';

export class RequestFeed {
  readonly #options: RequestFeedOptions;
  readonly #connection: Connection;
  readonly #socket: Socket;
  #part: Part = 'line';
  /** The start of an incomplete request line. node:http has its first byte, so that its time limit for a head runs. */
  readonly #line = new GrowingBytes();
  /** How many of the last bytes match the start of CR LF CR LF, which ends the headers or a chunked body. */
  #matched = 0;
  #bodyLeft = 0;
  /** How long we waited for the caller in the current period, and how much of the body arrived in it. */
  #bodyWaitedMs = 0;
  #bodyBytes = 0;
  #droppedBytes = 0;
  /** Bytes that were read and wait to be passed on. They are at most those of two reads. */
  #held: Buffer | null = null;
  #isStopped = false;
  #hasCallerEnded = false;
  /** Whether so many bytes were dropped that no more are read. */
  #isFull = false;
  #isGiving = false;
  /** Whether the feed has bytes that wait for their turn in the event loop. */
  #waitsForTurn = false;

  constructor(options: RequestFeedOptions, connection: Connection) {
    this.#options = options;
    this.#connection = connection;
    this.#socket = connection.socket;
    const socket = this.#socket;
    options.giveToNode(socket);
    preventDirectReads(socket);
    takeBytes(socket, (bytes) => (bytes === null ? this.#takeEnd() : this.take(bytes)));
    replaceClose(socket, () => options.connections.close(connection));
    socket.on('resume', this.next);
    socket.on('end', this.#end);
    connection.feed = this;
  }

  /** Takes bytes that were read. Returns false when no more should be read for now. */
  take(chunk: Buffer): boolean {
    this.#held = this.#held === null ? chunk : Buffer.concat([this.#held, chunk]);
    this.#isStopped = true;
    this.next();
    return !this.#isStopped;
  }

  /** Passes on the bytes that wait. Called when something has changed that the feed may have waited for. */
  readonly next = (): void => {
    if (this.#isGiving || this.#waitsForTurn || this.#connection.isClosing) return;
    if (this.#held !== null) {
      if (this.#options.turns.mustWait(this.#connection.owner)) {
        this.#waitForTurn();
        return;
      }
      this.#giveHeld();
    }
    this.#goOn();
  };

  stop(): void {
    this.#takeTurn();
  }

  readonly #takeTurn = (): void => {
    // The bytes may have been passed on before this turn came, because the service is stopping.
    if (!this.#waitsForTurn) return;
    this.#waitsForTurn = false;
    if (this.#connection.isClosing || this.#socket.destroyed) return;
    this.#giveHeld();
    this.#goOn();
  };

  /** Passes on the bytes that wait. Charges the time to the owner that is known afterwards: a token may have come. */
  #giveHeld(): void {
    const { turns } = this.#options;
    const sinceMs = turns.nowMs();
    this.#isGiving = true;
    const isInLongBody = this.#isInBody() && Math.max(this.#bodyLeft, 2 * this.#held!.length) > LONG_BODY_BYTES;
    while (this.#held !== null && !this.#mustWait()) {
      this.#give(this.#held);
      // The owner may have become known with the head. If that owner has used much time, a long body waits for its
      // turn. A complete body does not wait: if its request is refused, the body must be read before the response is
      // sent, or the connection is closed.
      if (this.#held !== null && this.#isLongBody(this.#held) && turns.mustWait(this.#connection.owner)) {
        this.#waitForTurn();
        break;
      }
    }
    this.#isGiving = false;
    turns.charge(this.#connection.owner, sinceMs);
    if (isInLongBody) turns.restAfter(this.#connection.owner, sinceMs);
  }

  #waitForTurn(): void {
    const { owner } = this.#connection;
    this.#waitsForTurn = true;
    this.#options.turns.wait(owner, this.#takeTurn);
  }

  #goOn(): void {
    if (this.#isFull && this.#connection.open.length === 0) this.#socket.destroy();
    if (this.#held !== null || this.#isFull || !this.#isStopped) return;
    this.#isStopped = false;
    if (this.#hasCallerEnded) pushToStream(this.#socket, null);
    else resumeReading(this.#socket);
  }

  look(sinceMs: number): void {
    // The time counts only while the body waits for the caller.
    if (!this.#isInBody() || this.#isStopped || this.#socket.isPaused() || this.#connection.isClosing) return;
    this.#bodyWaitedMs += sinceMs;
    if (this.#bodyWaitedMs < this.#options.bodyMs) return;
    const isSlow = this.#bodyBytes < BODY_BYTES_MIN;
    this.#beginWait();
    if (!isSlow) return;
    const { request } = this.#connection.latest!;
    if (request instanceof CountedRequest) request.cutShort(tooSlowError(this.#options.bodyMs));
    this.#cutShort();
  }

  #beginWait(): void {
    this.#bodyWaitedMs = 0;
    this.#bodyBytes = 0;
  }

  /** The caller has closed its side. The stream gets this end only after all bytes that arrived before it. */
  #takeEnd(): boolean {
    this.#hasCallerEnded = true;
    this.#isStopped = true;
    this.next();
    return false;
  }

  #mustWait(): boolean {
    const { socket, open, isLast } = this.#connection;
    if (isLast && !this.#isInBody()) return false;
    if (socket.isPaused()) return true;
    return this.#part === 'line' && this.#line.length === 0 && open.length >= OPEN_MAX;
  }

  #isInBody(): boolean {
    return this.#part === 'sized body' || this.#part === 'chunked body';
  }

  #isLongBody(held: Buffer): boolean {
    return this.#part === 'sized body' && this.#bodyLeft > held.length;
  }

  /** Does one step: passes on bytes up to the end of one part of a request. */
  #give(bytes: Buffer): void {
    if (this.#socket.destroyed || (this.#connection.isLast && !this.#isInBody())) this.#part = 'nothing';
    if (this.#part === 'line') this.#giveLine(bytes);
    else if (this.#part === 'headers') this.#giveHeaders(bytes, 0, 0);
    else if (this.#part === 'nothing') this.#drop(bytes);
    else this.#giveBody(bytes);
  }

  /** Passes on the line only when it is complete and allowed: node:http would send its own error for a bad line. */
  #giveLine(bytes: Buffer): void {
    const end = bytes.indexOf(LF) + 1;
    if (end === 0) this.#keepLine(bytes);
    else if (this.#line.length === 0) this.#giveWholeLine(bytes, end, 0);
    else {
      const start = this.#line.length;
      const whole = Buffer.concat([this.#line.view(), bytes]);
      this.#line.clear();
      this.#giveWholeLine(whole, start + end, 1);
    }
  }

  #keepLine(bytes: Buffer): void {
    const isStart = this.#line.length === 0;
    this.#line.add(bytes);
    if (isStart) this.#pass(bytes, 0, 1, 'more');
    this.#held = null;
    if (this.#line.length > HEAD_BYTES_MAX) this.#refuse(tooLargeHead());
  }

  /** Passes on a complete line. `from` is the number of its bytes that node:http already has. */
  #giveWholeLine(bytes: Buffer, end: number, from: number): void {
    const line = bytes.toString('latin1', 0, end);
    // An empty line before a request is not part of it (RFC 9112, 2.2).
    if (line === '\r\n') {
      this.#keep(bytes, end);
      return;
    }
    const refused = requestLineProblem(line.endsWith('\r\n') ? line.slice(0, -2) : line);
    if (refused === null) {
      this.#part = 'headers';
      this.#matched = 2;
      this.#giveHeaders(bytes, from, end);
      return;
    }
    this.#refuse(refused);
  }

  #refuse({ problem }: { readonly problem: Problem }): void {
    this.#part = 'nothing';
    this.#options.refuse(problem, this.#socket);
  }

  #giveHeaders(bytes: Buffer, from: number, start: number): void {
    const end = this.#endOfEmptyLine(bytes, start);
    const isEnd = this.#matched === HEAD_END.length;
    this.#pass(bytes, from, end, isEnd ? 'request' : 'more');
    if (isEnd && !this.#isOver()) this.#beginBody(this.#connection.latest!);
  }

  #beginBody({ request, response }: Exchange): void {
    this.#options.turns.chargeRequest(this.#connection.owner);
    this.#droppedBytes = 0;
    this.#beginWait();
    this.#matched = 0;
    const length = request.headers['content-length'];
    this.#bodyLeft = Number(length ?? 0);
    this.#part = length === undefined ? 'chunked body' : 'sized body';
    // No response could be sent to a further request, so no further request may be carried out (RFC 9112, 9.6).
    if (!keepsAlive(request, response)) this.#connection.isLast = true;
    this.#endBody(request);
  }

  #giveBody(bytes: Buffer): void {
    const isSized = this.#part === 'sized body';
    const end = isSized ? Math.min(bytes.length, this.#bodyLeft) : this.#endOfEmptyLine(bytes, 0);
    const isEnd = isSized ? end === this.#bodyLeft : this.#matched === HEAD_END.length;
    this.#bodyBytes += end;
    if (isSized) this.#bodyLeft -= end;
    else if (isEnd) this.#matched = 0;
    const { request, response } = this.#connection.latest!;
    this.#pass(bytes, 0, end, 'more');
    if (this.#isOver()) return;
    // node:http must find the end where it is expected. Otherwise a part of the next request was parsed with this body.
    if (request.complete ? !isEnd : isSized && isEnd) this.#disagree();
    else if (request.complete) this.#endBody(request);
    else if (request instanceof CountedRequest && request.isCutShort) this.#cutShort();
    else if (response.writableEnded) this.#countDropped(end);
  }

  /** Passes on no more of this body: its request was refused, so the rest is dropped. */
  #cutShort(): void {
    this.#part = 'nothing';
    this.#options.connections.closeAfterLatest(this.#connection);
  }

  #isOver(): boolean {
    return this.#part === 'nothing';
  }

  #endBody({ complete }: Exchange['request']): void {
    if (complete) this.#part = this.#connection.isLast ? 'nothing' : 'line';
  }

  /** Passes on the bytes from `from` to `end`, and keeps the later ones. `request`: they complete a request's head. */
  #pass(bytes: Buffer, from: number, end: number, brings: 'request' | 'more'): void {
    const connection = this.#connection;
    const before = connection.latest;
    this.#keep(bytes, end);
    this.#socket.emit('data', from > 0 || end < bytes.length ? bytes.subarray(from, end) : bytes);
    if (this.#socket.destroyed || connection.isUnreadable || connection.isClosing) this.#part = 'nothing';
    else if ((connection.latest !== before) !== (brings === 'request')) this.#disagree();
  }

  #keep(bytes: Buffer, end: number): void {
    this.#held = end < bytes.length ? bytes.subarray(end) : null;
  }

  #drop(bytes: Buffer): void {
    this.#held = null;
    this.#countDropped(bytes.length);
  }

  /** Counts dropped bytes. Over the limit, no more are read, and a caller without an open response is disconnected. */
  #countDropped(bytes: number): void {
    this.#droppedBytes += bytes;
    if (this.#droppedBytes > DROPPED_BYTES_MAX) this.#isFull = true;
  }

  /** node:http has found another end of the body than this code. The bytes that follow could be part of a body. */
  #disagree(): void {
    // These bytes must not be carried out as a request.
    this.#part = 'nothing';
    this.#socket.destroy();
  }

  /** Continues to match an empty line that began in earlier bytes. Returns where the match ends. */
  #goOnMatching(bytes: Buffer, from: number): number {
    let at = from;
    while (this.#matched > 0 && this.#matched < HEAD_END.length && at < bytes.length) {
      const byte = bytes[at]!;
      if (byte === HEAD_END[this.#matched]) this.#matched += 1;
      else this.#matched = byte === CR ? 1 : 0;
      at += 1;
    }
    return at;
  }

  /** The end of the empty line after the headers or a chunked body. If it has not arrived, the length of `bytes`. */
  #endOfEmptyLine(bytes: Buffer, from: number): number {
    const at = this.#goOnMatching(bytes, from);
    if (this.#matched > 0) return at;
    const found = bytes.indexOf(HEAD_END, at);
    if (found >= 0) {
      this.#matched = HEAD_END.length;
      return found + HEAD_END.length;
    }
    for (let count = Math.min(HEAD_END.length - 1, bytes.length - at); count > 0 && this.#matched === 0; count -= 1) {
      if (bytes.subarray(-count).equals(HEAD_END.subarray(0, count))) this.#matched = count;
    }
    return bytes.length;
  }

  /** The caller sends nothing more. If it still waits for responses, it gets them before the connection is closed. */
  readonly #end = (): void => {
    const { latest, open } = this.#connection;
    if (latest !== null && open.length > 0) this.#options.connections.closeAfterLatest(this.#connection);
  };
}
