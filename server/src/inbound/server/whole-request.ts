// Reads a publish without node:http, whose parser and streams take as long as all the rest of a publish. Only a request
// that arrived in one piece and in the plainest form of HTTP/1.1 is read here. node:http reads every other one. It must
// read the same meaning, byte for byte, from a request that is read here, so it also gets every ambiguous request.

import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { HeaderList } from '../../rules/delivery/message.ts';
import { eachMax } from '../../rules/limits/budgets.ts';
import { isHostHeader } from '../../rules/requests/request-head.ts';
import type { Principal } from '../../store/ports/access-store.ts';
import { QSTASH_TOKEN_PARAMETER } from '../publish/qstash-request.ts';

/**
 * Size limit for a head that is read here; node:http reads larger ones. It is small because a message keeps its whole
 * head in memory: the body is a view of the same buffer, and texts of the message are slices of the head. It is far
 * below the limit of node:http, because node:http counts the bytes of a head in its own way.
 */
const HEAD_BYTES_MAX = eachMax('headBytes') / 8;
/** Only lines of a head up to this size are cached, because each cached line keeps its whole head in memory. */
const REMEMBERED_HEAD_MAX = eachMax('rememberedHead');
/** The maximum number of cached lines. The objects for many short lines would take more memory than their head. */
const REMEMBERED_LINES_MAX = eachMax('rememberedLines');
const HEAD_END = Buffer.from('\r\n\r\n');
const START = 'POST /v2/';
const VERSION = ' HTTP/1.1\r\n';
/** How the path of a publishing call continues after `/v2/`. */
const CALLS = ['publish/', 'enqueue/', 'batch ', 'batch?'] as const;

const TAB = 9;
const LF = 10;
const CR = 13;
const SPACE = 32;
const COLON = 58;

/** The headers that the publish handler looks up by name. A request with two of the same name is left to node:http. */
export type KnownHeaders = {
  host: string | undefined;
  authorization: string | undefined;
  'content-encoding': string | undefined;
  'x-forwarded-for': string | undefined;
  'x-request-id': string | undefined;
};

export class WholeRequest {
  readonly method = 'POST';
  url: string;
  readonly headers: KnownHeaders;
  readonly headerList: HeaderList;
  readonly body: Uint8Array;
  /** Whether the caller sent `Connection: close`, so that no other request follows on the connection. */
  readonly isLast: boolean;
  readonly socket: Socket;
  /** The id of the request, set before it is carried out. */
  requestId = '';
  /** The caller, once it is known. */
  principal: Principal | undefined = undefined;

  constructor(head: Head, body: Uint8Array, socket: Socket) {
    this.url = head.url;
    this.headers = head.known;
    this.headerList = head.list;
    this.body = body;
    this.isLast = head.isLast;
    this.socket = socket;
  }

  /** How many bytes the body keeps in memory: the whole buffer that it is a view of. */
  get heldBytes(): number {
    return this.body.buffer.byteLength;
  }
}

/** The headers in their original order and case, which the `headers` object of node:http does not keep. */
export function rawHeaders(request: IncomingMessage | WholeRequest): HeaderList {
  if (request instanceof WholeRequest) return request.headerList;
  const raw = request.rawHeaders;
  const headers: [string, string][] = [];
  for (let i = 0; i < raw.length; i += 2) headers.push([raw[i]!, raw[i + 1]!]);
  return headers;
}

interface Head {
  readonly url: string;
  readonly known: KnownHeaders;
  readonly list: HeaderList;
  readonly bodyBytes: number;
  readonly isLast: boolean;
}

interface FirstLine {
  readonly text: string;
  readonly url: string;
}

interface HeaderLine {
  readonly text: string;
  readonly header: HeaderList[number];
  readonly special: Special | undefined;
}

/**
 * Reads the requests of one connection. A publisher repeats most lines of its heads, so the lines of one head are
 * cached: a line that equals the cached line with the same index is not parsed again.
 */
export class WholeRequestReader {
  #firstLine: FirstLine | null = null;
  /**
   * The cached lines. All are from one head, because each line keeps its whole head in memory. Null stands for the line
   * with the token, which is never cached: the time of a comparison could reveal a part of the token.
   */
  #lines: (HeaderLine | null)[] = [];

  /**
   * Returns the request in `bytes`. Returns `part` when only the end of its body is missing, and null when node:http
   * must read the bytes.
   */
  read(bytes: Buffer, socket: Socket): WholeRequest | 'part' | null {
    const headBytes = bytes.indexOf(HEAD_END);
    if (headBytes < 0 || headBytes > HEAD_BYTES_MAX) return null;
    // The text includes the CR LF of the last line, so that all lines end in the same way.
    const head = this.#readHead(bytes.toString('latin1', 0, headBytes + 2));
    if (head === null) return null;
    const bodyStart = headBytes + HEAD_END.length;
    const missing = bodyStart + head.bodyBytes - bytes.length;
    if (missing > 0) return 'part';
    // Bytes of a next request follow, so node:http reads both requests.
    if (missing < 0) return null;
    return new WholeRequest(head, new Uint8Array(bytes.buffer, bytes.byteOffset + bodyStart, head.bodyBytes), socket);
  }

  #readHead(text: string): Head | null {
    const isShort = text.length <= REMEMBERED_HEAD_MAX;
    const first = this.#readFirst(text, isShort);
    if (first === null) return null;
    const head = new HeadBuilder(first.url);
    const lines = this.#lines;
    const isRemembered = isShort && lines.length === 0;
    let place = 0;
    let unknown = 0;
    for (let at = first.text.length; at < text.length; place += 1) {
      const known = lineAt(lines, place, text, at);
      const line = known ?? readHeaderLine(text, at);
      if (line === null || !head.add(line)) return null;
      if (known === null && line.special !== 'authorization') unknown += 1;
      if (isRemembered) remember(lines, line);
      at += line.text.length;
    }
    // More than half of the lines are not in the cache: another publisher sends now, or the headers have changed. The
    // cache is emptied, and the lines of the next short head are cached.
    if (!isRemembered && 2 * unknown > place) this.#lines = [];
    return head.end();
  }

  #readFirst(text: string, isShort: boolean): FirstLine | null {
    const last = this.#firstLine;
    if (last !== null && text.startsWith(last.text)) return last;
    const first = readFirstLine(text);
    if (first !== null && isShort) this.#firstLine = mayHaveToken(first.url) ? null : first;
    return first;
  }
}

/** The cached line with the index `place`, if `text` has the same line at the offset `at`. Else null. */
function lineAt(lines: readonly (HeaderLine | null)[], place: number, text: string, at: number): HeaderLine | null {
  const line = lines[place] ?? null;
  return line !== null && text.startsWith(line.text, at) ? line : null;
}

function remember(lines: (HeaderLine | null)[], line: HeaderLine): void {
  if (lines.length < REMEMBERED_LINES_MAX) lines.push(line.special === 'authorization' ? null : line);
}

class HeadBuilder implements Head {
  readonly url: string;
  readonly known: KnownHeaders = {
    host: undefined,
    authorization: undefined,
    'content-encoding': undefined,
    'x-forwarded-for': undefined,
    'x-request-id': undefined,
  };
  readonly list: HeaderList[number][] = [];
  bodyBytes = -1;
  isLast = false;
  #hasConnection = false;

  constructor(url: string) {
    this.url = url;
  }

  #addConnection(wish: string): boolean {
    if (this.#hasConnection || (wish !== 'close' && wish !== 'keep-alive')) return false;
    this.#hasConnection = true;
    this.isLast = wish === 'close';
    return true;
  }

  /** Adds a header. Returns false when the request is left to node:http. */
  add({ header, special }: HeaderLine): boolean {
    this.list.push(header);
    if (special === undefined) return true;
    const value = header[1];
    if (special === 'content-length') {
      if (this.bodyBytes >= 0 || !/^\d{1,9}$/.test(value)) return false;
      this.bodyBytes = Number(value);
    } else if (special === 'connection') {
      return this.#addConnection(value.toLowerCase());
    } else {
      if (special === 'left to node' || this.known[special] !== undefined) return false;
      this.known[special] = value;
    }
    return true;
  }

  end(): Head | null {
    return this.bodyBytes < 0 || this.known.host === undefined ? null : this;
  }
}

function readFirstLine(text: string): FirstLine | null {
  if (!text.startsWith(START) || !CALLS.some((call) => text.startsWith(call, START.length))) return null;
  const start = START.length - '/v2/'.length;
  const end = text.indexOf(VERSION);
  for (let at = start; at < end; at += 1) if ((MAY_STAND[text.charCodeAt(at)]! & TARGET) === 0) return null;
  return end < 0 ? null : { text: text.slice(0, end + VERSION.length), url: text.slice(start, end) };
}

/** Whether the URL may hold a token: the public QStash clients may send it as a parameter with an encoded name. */
function mayHaveToken(url: string): boolean {
  const query = url.indexOf('?');
  return query >= 0 && (url.includes(QSTASH_TOKEN_PARAMETER, query) || url.includes('%', query));
}

/** Reads one header. Returns null when node:http would read it differently, or not at all. */
function readHeaderLine(text: string, start: number): HeaderLine | null {
  let at = start;
  while ((MAY_STAND[text.charCodeAt(at)]! & NAME) !== 0) at += 1;
  if (at === start || text.charCodeAt(at) !== COLON) return null;
  const name = text.slice(start, at);
  at += 1;
  while (text.charCodeAt(at) === SPACE) at += 1;
  const valueStart = at;
  while ((MAY_STAND[text.charCodeAt(at)]! & VALUE) !== 0) at += 1;
  if (text.charCodeAt(at) !== CR || text.charCodeAt(at + 1) !== LF) return null;
  // A tab before a value, or blanks after it, are left to node:http.
  if (at > valueStart && (text.charCodeAt(valueStart) === TAB || text.charCodeAt(at - 1) <= SPACE)) return null;
  const special = SPECIAL_LENGTHS[name.length] === 1 ? SPECIAL.get(name.toLowerCase()) : undefined;
  if (special === 'host' && !isHostHeader(text.slice(valueStart, at))) return null;
  return { text: text.slice(start, at + 2), header: [name, text.slice(valueStart, at)], special };
}

type Special = keyof KnownHeaders | 'content-length' | 'connection' | 'left to node';

/** Headers with a rule of their own. `left to node`: it can change the framing or the caller, so node:http reads it. */
const SPECIAL: ReadonlyMap<string, Special> = new Map([
  ['host', 'host'],
  ['authorization', 'authorization'],
  ['content-encoding', 'content-encoding'],
  ['x-forwarded-for', 'x-forwarded-for'],
  ['x-request-id', 'x-request-id'],
  ['content-length', 'content-length'],
  ['connection', 'connection'],
  ['proxy-connection', 'left to node'],
  ['keep-alive', 'left to node'],
  ['transfer-encoding', 'left to node'],
  ['trailer', 'left to node'],
  ['te', 'left to node'],
  ['upgrade', 'left to node'],
  ['expect', 'left to node'],
  ['origin', 'left to node'],
  ['cookie', 'left to node'],
]);
/** For each length: 1 if a name in `SPECIAL` has this length, else 0. So most headers need no look-up in `SPECIAL`. */
const SPECIAL_LENGTHS = new Uint8Array(64);
for (const name of SPECIAL.keys()) SPECIAL_LENGTHS[name.length] = 1;

const NAME = 1;
const TARGET = 2;
const VALUE = 4;
/** For each character code, flags: is the character allowed in a name, a target, a value? Only ASCII has flags. */
const MAY_STAND = new Uint8Array(256);
for (let code = SPACE + 1; code < 0x7f; code += 1) {
  MAY_STAND[code] = VALUE | TARGET | (/[!#$%&'*+.^_`|~0-9A-Za-z-]/.test(String.fromCharCode(code)) ? NAME : 0);
}
MAY_STAND[SPACE] = VALUE;
MAY_STAND[TAB] = VALUE;
