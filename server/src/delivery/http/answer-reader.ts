// Reads the response to one request from the bytes of a connection (RFC 9112), after the guard has bounded them. It is
// strict: what two parsers could read in two ways is not HTTP, so that no receiver can pass off a part of this response
// as the response to another request.

import type { HeaderList } from '../../rules/delivery/message.ts';
import { eachMax } from '../../rules/limits/budgets.ts';
import { GuardedAnswer } from './answer-guard.ts';
import { ChunkReader } from './chunk-reader.ts';
import { NotHttpError } from './failure.ts';
import { type ExchangeListener, IDLE_MS_MAX } from './http-client.ts';

/** The reason phrase at the end of the line is ignored. */
const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: [^\r\n]*)?$/;
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const NOT_IN_A_VALUE = /[^\t\x20-\x7e\x80-\xff]/;
const DIGITS = /^\d{1,15}$/;
const HEAD_END_BYTES = 4;
const SWITCHING_PROTOCOLS = 101;
/** How much earlier than the receiver we close a connection that the receiver keeps open. */
const KEPT_SHORTER_MS = 2_000;

const NO_HEADERS: HeaderList = [];

export class AnswerReader {
  /** How long the connection may be kept after this response. 0: it must be closed. */
  reusableMs = 0;
  readonly #exchange: ExchangeListener;
  readonly #guard: GuardedAnswer;
  /** How many bytes of the body are still to come. Infinite when the body ends with the connection. */
  #leftBytes = 0;
  #chunks: ChunkReader | null = null;
  #isHeadRead = false;

  constructor(exchange: ExchangeListener) {
    this.#exchange = exchange;
    this.#guard = new GuardedAnswer((bytes) => exchange.takeMemory(bytes));
  }

  /** Whether the end of the connection is the end of the response. */
  get endsWithConnection(): boolean {
    return this.#isHeadRead && this.#leftBytes === Number.POSITIVE_INFINITY;
  }

  /**
   * Returns null while the response is not complete. When it is complete, returns how many bytes of `chunk` come after
   * it. Throws when the response is too large or not HTTP.
   */
  read(chunk: Buffer): number | null {
    let bytes = this.#guard.pass(chunk);
    if (bytes.length > 0) {
      if (!this.#isHeadRead) {
        const { head } = this.#guard;
        if (head === null) throw new NotHttpError('it does not begin with a status line');
        this.#readHead(head);
        bytes = bytes.subarray(head.length + HEAD_END_BYTES);
      }
      const leftOver = this.#readBody(bytes);
      if (leftOver !== null) return leftOver;
    }
    if (this.#guard.failure) throw this.#guard.failure;
    return null;
  }

  #readBody(bytes: Buffer): number | null {
    if (this.#chunks !== null) return this.#chunks.read(bytes, this.#exchange);
    const body = bytes.length > this.#leftBytes ? bytes.subarray(0, this.#leftBytes) : bytes;
    this.#leftBytes -= body.length;
    if (body.length > 0) this.#exchange.onBody(body);
    return this.#leftBytes === 0 ? bytes.length - body.length : null;
  }

  #readHead(head: string): void {
    let at = head.indexOf('\r\n');
    const [, version, statusText] = STATUS_LINE.exec(at === -1 ? head : head.slice(0, at)) ?? [];
    if (statusText === undefined) throw new NotHttpError('its status line is not valid');
    const status = Number(statusText);
    if (status === SWITCHING_PROTOCOLS)
      throw new NotHttpError('it switches protocols, which the request did not ask for');
    const found = new FramingHeaders(version === '1');
    const kept = at === -1 ? NO_HEADERS : [];
    let keptBytes = 0;
    while (at !== -1) {
      const from = at + 2;
      at = head.indexOf('\r\n', from);
      const header = readHeader(at === -1 ? head.slice(from) : head.slice(from, at));
      found.note(header[0], header[1]);
      const bytes = header[0].length + header[1].length;
      if (kept.length >= eachMax('keptHeaders') || keptBytes + bytes > eachMax('answerHeaderBytes')) continue;
      keptBytes += bytes;
      (kept as [string, string][]).push(header);
    }
    this.#expectBody(status, found);
    this.#isHeadRead = true;
    this.#exchange.onHead(status, kept);
  }

  #expectBody(status: number, { contentLength, hasTransferEncoding, keepsMs }: FramingHeaders): void {
    if (hasTransferEncoding && contentLength !== null)
      throw new NotHttpError('it has both Content-Length and Transfer-Encoding');
    this.reusableMs = keepsMs;
    if (status === 204 || status === 304) return;
    if (this.#guard.isChunked) this.#chunks = new ChunkReader();
    else if (contentLength !== null) this.#leftBytes = contentLength;
    else {
      this.#leftBytes = Number.POSITIVE_INFINITY;
      this.reusableMs = 0;
    }
  }
}

function readHeader(line: string): [string, string] {
  const colon = line.indexOf(':');
  const name = colon === -1 ? line : line.slice(0, colon);
  if (colon === -1 || !NAME.test(name)) throw new NotHttpError('one of its header lines is not valid');
  const value = withoutBlanks(line, colon + 1);
  if (NOT_IN_A_VALUE.test(value)) throw new NotHttpError('one of its headers has a control character');
  return [name, value];
}

function withoutBlanks(line: string, from: number): string {
  let start = from;
  let end = line.length;
  while (start < end && isBlank(line.charCodeAt(start))) start += 1;
  while (end > start && isBlank(line.charCodeAt(end - 1))) end -= 1;
  return line.slice(start, end);
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09;
}

/** The headers that say where a response ends and whether the connection is kept. */
class FramingHeaders {
  contentLength: number | null = null;
  hasTransferEncoding = false;
  readonly #isLatest: boolean;
  #closes = false;
  #keeps = false;
  #hintMs = Number.POSITIVE_INFINITY;

  constructor(isLatest: boolean) {
    this.#isLatest = isLatest;
  }

  /** For how long the connection may be kept. 0: it must be closed. */
  get keepsMs(): number {
    if (this.#closes || !(this.#isLatest || this.#keeps)) return 0;
    // HTTP/1.0 knows no encodings, so the bytes after the head may be anything.
    if (this.hasTransferEncoding && !this.#isLatest) return 0;
    return Math.max(0, Math.min(IDLE_MS_MAX, this.#hintMs - KEPT_SHORTER_MS));
  }

  note(name: string, value: string): void {
    // The length of a name distinguishes most of the headers.
    switch (name.length) {
      case 10:
        if (isNamed(name, 'connection')) this.#noteConnection(value);
        else if (isNamed(name, 'keep-alive')) this.#noteHint(value);
        break;
      case 14:
        if (isNamed(name, 'content-length')) this.#noteLength(value);
        break;
      case 17:
        if (isNamed(name, 'transfer-encoding')) this.hasTransferEncoding = true;
        break;
    }
  }

  #noteConnection(value: string): void {
    for (const each of value.toLowerCase().split(',')) {
      const option = each.trim();
      if (option === 'close') this.#closes = true;
      else if (option === 'keep-alive') this.#keeps = true;
    }
  }

  #noteHint(value: string): void {
    const seconds = /(?:^|[,;\s])timeout=(\d{1,9})/i.exec(value)?.[1];
    if (seconds !== undefined) this.#hintMs = 1000 * Number(seconds);
  }

  #noteLength(value: string): void {
    if (this.contentLength !== null) throw new NotHttpError('it has more than one Content-Length');
    if (!DIGITS.test(value)) throw new NotHttpError('its Content-Length is not a number');
    this.contentLength = Number(value);
  }
}

function isNamed(name: string, lowerName: string): boolean {
  return name.toLowerCase() === lowerName;
}
