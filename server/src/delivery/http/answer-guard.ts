// Filters the bytes between a socket and the response parser, and bounds the memory and work that a receiver can cause
// before its response has ended: interim responses, the head, chunks, their extensions, trailers. A head is passed on
// only when it is complete, so a head that comes byte by byte costs only its own bytes. Interim responses and trailers
// are dropped, because nothing uses them.

import type { Socket } from 'node:net';
import { eachMax } from '../../rules/limits/budgets.ts';
import { guardReads } from '../../runtime/node-internals/read-guard.ts';
import { ChunkFollower } from './chunk-follower.ts';

/** The response is larger than we accept. Users see the text of this error. */
export class AnswerTooLargeError extends Error {}

/** Takes memory for a part of a response. Returns false when none is left. */
export type TakeMemory = (bytes: number) => boolean;

const HEAD_END = Buffer.from('\r\n\r\n');
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
/** The start of a status line. A zero matches any digit. */
const START = Buffer.from('HTTP/0.0 ');
const ZERO = 0x30;
/** The name of the header, at the start of a line. */
const TRANSFER_ENCODING = '\r\ntransfer-encoding:';
const SWITCHING_PROTOCOLS = 101;

/**
 * The socket that undici shall use. Call `expectAnswer` before every request on the socket: the next byte that is read
 * then starts a new response.
 */
export interface GuardedSocket {
  readonly socket: Socket;
  expectAnswer(takeMemory: TakeMemory): void;
}

export function guardAnswer(given: Socket): GuardedSocket {
  let answer: GuardedAnswer | null = null;
  const socket = guardReads(given, {
    get failure() {
      return answer?.failure ?? null;
    },
    pass: (bytes) => {
      if (answer === null) return bytes;
      const passedOn = answer.pass(bytes);
      return passedOn.length === 0 && answer.failure === null ? null : passedOn;
    },
  });
  return {
    socket,
    expectAnswer: (takeMemory) => {
      answer = new GuardedAnswer(takeMemory);
    },
  };
}

/** Whether another head follows a head with this status. */
function isInterim(status: number): boolean {
  return status >= 100 && status < 200 && status !== SWITCHING_PROTOCOLS;
}

/** One response, from its first byte. */
export class GuardedAnswer {
  /** Why the rest of the response is not read: it is over a limit. Null while it is within the limits. */
  failure: AnswerTooLargeError | null = null;
  /**
   * The final head, without the empty line at its end. Null until the head was passed on. Stays null if the response
   * does not look like HTTP.
   */
  head: string | null = null;
  /** Whether a chunked body follows the head. */
  isChunked = false;
  readonly #takeMemory: TakeMemory;
  /** The bytes of a head that did not arrive in one piece. */
  #held: HeldBytes | null = null;
  #interimCount = 0;
  #headBytes = 0;
  /** Handles the bytes after the head. Null until the head has ended. */
  #rest: ((bytes: Buffer) => Buffer) | null = null;

  constructor(takeMemory: TakeMemory) {
    this.#takeMemory = takeMemory;
  }

  /** Returns the bytes that the parser may read now. Throws an AnswerTooLargeError if the head is over a limit. */
  pass(chunk: Buffer): Buffer {
    if (this.#rest !== null) return this.#rest(chunk);
    this.#headBytes += chunk.length;
    let bytes = this.#held?.with(chunk) ?? chunk;
    // The bytes held before this chunk were searched already, except the last few.
    let from = Math.max(0, bytes.length - chunk.length - HEAD_END.length);
    for (;;) {
      const start = firstNonBreak(bytes);
      if (start > 0) bytes = bytes.subarray(start);
      from = Math.max(0, from - start);
      const headEnd = bytes.indexOf(HEAD_END, from);
      if (!looksLikeAnswer(bytes) || (headEnd === -1 && hasBareLineFeed(bytes, from))) return this.#giveUp(bytes);
      if (headEnd === -1) return this.#hold(bytes);
      const restBytes = bytes.length - headEnd - HEAD_END.length;
      if (this.#headBytes - restBytes > eachMax('answerHeadBytes')) throw headTooLarge();
      if (!isInterim(statusOf(bytes))) return this.#passHead(bytes, headEnd);
      this.#countInterim();
      bytes = bytes.subarray(headEnd + HEAD_END.length);
      from = 0;
    }
  }

  #countInterim(): void {
    this.#interimCount += 1;
    if (this.#interimCount > eachMax('interimAnswers')) {
      throw new AnswerTooLargeError(`more than ${eachMax('interimAnswers')} interim responses`);
    }
  }

  #hold(bytes: Buffer): Buffer {
    if (this.#headBytes > eachMax('answerHeadBytes')) throw headTooLarge();
    this.#held ??= new HeldBytes(this.#takeMemory);
    this.#held.set(bytes);
    return NOTHING;
  }

  #passHead(bytes: Buffer, headEnd: number): Buffer {
    const head = bytes.toString('latin1', 0, headEnd);
    if (lineBreaks(head) > eachMax('answerHeaders')) {
      throw new AnswerTooLargeError(`response has more than ${eachMax('answerHeaders')} headers`);
    }
    this.#held = null;
    this.head = head;
    this.isChunked = isChunked(head);
    const bodyAt = headEnd + HEAD_END.length;
    if (!this.isChunked) {
      this.#rest = PASS_ON;
      return bytes;
    }
    const chunks = new ChunkFollower(eachMax('answerFramingBytes'), eachMax('answerChunks'));
    this.#rest = (rest) => {
      const passedOn = chunks.pass(rest);
      if (chunks.isOverLimit) {
        const words = chunks.hasTooManyChunks
          ? `response has more than ${eachMax('answerChunks')} chunks`
          : `chunk extensions and trailers are larger than ${kib('answerFramingBytes')}`;
        this.failure = new AnswerTooLargeError(words);
      }
      return passedOn;
    };
    const body = bytes.subarray(bodyAt);
    const passedOn = this.#rest(body);
    return passedOn === body ? bytes : Buffer.concat([bytes.subarray(0, bodyAt), passedOn]);
  }

  /**
   * Passes on bytes that are probably not HTTP, so that the parser refuses them. The parser gets no more of these bytes
   * than a head may have.
   */
  #giveUp(bytes: Buffer): Buffer {
    let leftBytes = eachMax('answerHeadBytes');
    this.#held = null;
    this.#rest = (rest) => {
      leftBytes -= rest.length;
      if (leftBytes < 0) throw headTooLarge();
      return rest;
    };
    return this.#rest(bytes);
  }
}

const NOTHING = Buffer.alloc(0);
const PASS_ON = (rest: Buffer) => rest;

/** Holds bytes in one growing buffer. A list of one-byte chunks would need a hundred times the memory. */
class HeldBytes {
  readonly #takeMemory: TakeMemory;
  #buffer: Buffer = NOTHING;
  #length = 0;

  constructor(takeMemory: TakeMemory) {
    this.#takeMemory = takeMemory;
  }

  /** Returns all held bytes, followed by the chunk. */
  with(chunk: Buffer): Buffer {
    if (this.#length === 0) return chunk;
    this.#append(chunk);
    return this.#buffer.subarray(0, this.#length);
  }

  /** Holds only the given bytes. They may be the end of the bytes that are held now. */
  set(bytes: Buffer): void {
    if (bytes.buffer === this.#buffer.buffer) {
      this.#buffer.copyWithin(0, this.#length - bytes.length, this.#length);
      this.#length = bytes.length;
      return;
    }
    this.#length = 0;
    this.#append(bytes);
  }

  #append(bytes: Buffer): void {
    const neededBytes = this.#length + bytes.length;
    if (neededBytes > this.#buffer.length) {
      const size = Math.max(neededBytes, 2 * this.#buffer.length, 512);
      if (!this.#takeMemory(size - this.#buffer.length)) {
        throw new AnswerTooLargeError('this server has no room for more unfinished responses');
      }
      const grown = Buffer.allocUnsafeSlow(size);
      this.#buffer.copy(grown, 0, 0, this.#length);
      this.#buffer = grown;
    }
    bytes.copy(this.#buffer, this.#length);
    this.#length = neededBytes;
  }
}

/** Skips line breaks before a response, as parsers do. */
function firstNonBreak(bytes: Buffer): number {
  let at = 0;
  while (at < bytes.length && (bytes[at] === CARRIAGE_RETURN || bytes[at] === LINE_FEED)) at += 1;
  return at;
}

/** Whether the bytes so far look like the start of a response. */
function looksLikeAnswer(bytes: Buffer): boolean {
  const length = Math.min(bytes.length, START.length);
  for (let at = 0; at < length; at += 1) {
    if (START[at] === ZERO ? !isDigit(bytes[at]!) : bytes[at] !== START[at]) return false;
  }
  return true;
}

/** The status of a head, or zero if it has none. */
function statusOf(bytes: Buffer): number {
  let status = 0;
  for (let at = START.length; at < START.length + 3; at += 1) {
    const digit = bytes[at] ?? 0;
    if (!isDigit(digit)) return 0;
    status = 10 * status + digit - ZERO;
  }
  return status;
}

function isDigit(byte: number): boolean {
  return byte >= ZERO && byte <= ZERO + 9;
}

/**
 * Whether there is a line feed without a carriage return before it. A head that contains one is not HTTP, and the parser
 * refuses it at once. Its end may never come, so it must not be held until then.
 */
function hasBareLineFeed(bytes: Buffer, from: number): boolean {
  for (let at = bytes.indexOf(LINE_FEED, from); at !== -1; at = bytes.indexOf(LINE_FEED, at + 1)) {
    if (at === 0 || bytes[at - 1] !== CARRIAGE_RETURN) return true;
  }
  return false;
}

function lineBreaks(head: string): number {
  let count = 0;
  for (let at = head.indexOf('\r\n'); at !== -1; at = head.indexOf('\r\n', at + 2)) count += 1;
  return count;
}

/** Whether a chunked body follows. The last coding of the last Transfer-Encoding header decides. */
function isChunked(head: string): boolean {
  const lowerHead = head.toLowerCase();
  const at = lowerHead.lastIndexOf(TRANSFER_ENCODING);
  if (at === -1) return false;
  const end = lowerHead.indexOf('\r\n', at + 2);
  return /[:,\s]chunked\s*$/.test(lowerHead.slice(at, end === -1 ? undefined : end));
}

function headTooLarge(): AnswerTooLargeError {
  return new AnswerTooLargeError(`response headers are larger than ${kib('answerHeadBytes')}`);
}

function kib(key: 'answerHeadBytes' | 'answerFramingBytes'): string {
  return `${eachMax(key) / 1_024} KiB`;
}
