// The web console: serves its files from memory, returns its page for every other path, and handles sign-in and
// sign-out. For everything else the console calls the API, like any client.

import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import type { Accounts } from '../../accounts/accounts.ts';
import type { Audit } from '../../audit/audit.ts';
import { type AuditFacts, SIGN_OUT } from '../../rules/accounts/audit.ts';
import { PROBLEMS, type ProblemCode } from '../../rules/requests/problem.ts';
import type { Principal } from '../../store/ports/access-store.ts';
import { auditFacts } from '../api/audit-facts.ts';
import { whyNotFromHere } from '../api/authenticate.ts';
import { ApiError } from '../api/errors.ts';
import type { BodyReader } from '../publish/body.ts';
import type { CallerAddresses } from '../server/caller.ts';
import { expiredSessionCookie, isFromConsole, sessionCookie, sessionSecret } from './session.ts';

const ROOT = '/console';
const SESSION = `${ROOT}/session`;
const PAGE = 'index.html';
const SIGN_IN_BYTES_MAX = 4096;
const SIGN_IN_LIMIT = {
  bytesMax: SIGN_IN_BYTES_MAX,
  error: () => new ApiError('request_too_large', 'this is too long to be a token'),
};
const DEPTH_MAX = 16;

const HEADERS = {
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
    "font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
};

const MEDIA_TYPES: ReadonlyMap<string, string> = new Map([
  ['html', 'text/html; charset=utf-8'],
  ['js', 'text/javascript; charset=utf-8'],
  ['css', 'text/css; charset=utf-8'],
  ['svg', 'image/svg+xml'],
]);

const NOT_BUILT = 'The console is not built yet. In the directory of Postrider, run: npm run build\n';

export interface ConsoleContext {
  readonly accounts: Accounts;
  readonly audit: Audit;
  readonly callers: CallerAddresses;
  readonly bodies: BodyReader;
}

interface StaticFile {
  readonly bytes: Buffer;
  readonly mediaType: string;
  readonly etag: string;
  gzipped: Buffer | null;
}

export class Console {
  readonly #accounts: Accounts;
  readonly #audit: Audit;
  readonly #callers: CallerAddresses;
  readonly #bodies: BodyReader;
  readonly #ownerOf: (request: IncomingMessage) => string;
  readonly #files: ReadonlyMap<string, StaticFile>;

  /**
   * If `files` is empty, the console was not built, and the page says so. `ownerOf` returns the owner that the body of
   * a sign-in is counted for, because the token in the body is not known yet.
   */
  constructor(
    { accounts, audit, callers, bodies }: ConsoleContext,
    ownerOf: (request: IncomingMessage) => string,
    files: ReadonlyMap<string, Buffer>,
  ) {
    this.#accounts = accounts;
    this.#audit = audit;
    this.#callers = callers;
    this.#bodies = bodies;
    this.#ownerOf = ownerOf;
    this.#files = new Map([...files].map(([name, bytes]) => [name, staticFile(name, bytes)]));
  }

  /** Returns null when the request is not for the console. */
  handle(request: IncomingMessage, response: ServerResponse): Promise<void> | null {
    const url = request.url ?? '';
    if (!url.startsWith(ROOT)) return null;
    const path = url.split('?', 1)[0]!;
    return path === ROOT || path.startsWith(`${ROOT}/`) ? this.#answer(path, request, response) : null;
  }

  async #answer(path: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value);
    if (path === SESSION) await this.#session(request, response);
    else if (request.method === 'GET' || request.method === 'HEAD') this.#serve(path, request, response);
    else {
      response.setHeader('Allow', 'GET, HEAD');
      throw new ApiError('method_not_allowed', `${request.method} is not allowed here; use GET`);
    }
  }

  async #session(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.setHeader('Cache-Control', 'no-store');
    if (request.method !== 'POST' && request.method !== 'DELETE') {
      response.setHeader('Allow', 'POST, DELETE');
      throw new ApiError('method_not_allowed', `${request.method} is not allowed here; use POST or DELETE`);
    }
    if (!isFromConsole(request.headers)) {
      throw new ApiError('forbidden', 'only the console can use sessions; other programs send an Authorization header');
    }
    const before = sessionSecret(request.headers);
    if (request.method === 'DELETE') {
      if (before !== null) await this.#signOut(request, before);
      response.setHeader('Set-Cookie', expiredSessionCookie(request.headers));
    } else {
      const secret = await this.#signIn(request, signInOf(await this.#readText(request)), before);
      response.setHeader('Set-Cookie', sessionCookie(secret, request.headers));
    }
    sendNothing(response);
  }

  /** What the audit says of a sign-in or sign-out. */
  #facts(request: IncomingMessage, principal: Principal | undefined, code: ProblemCode | null): AuditFacts {
    const { method, requestId } = request;
    const status = code === null ? 204 : PROBLEMS[code][0];
    const address = this.#callers.ipOf(request);
    return auditFacts({ principal, address, call: `${method} ${SESSION}`, target: null, status, code, requestId });
  }

  async #signOut(request: IncomingMessage, secret: string): Promise<void> {
    const principal = await this.#accounts.authenticateSession(secret);
    await this.#accounts.endSession(secret);
    if (principal) this.#audit.count({ ...this.#facts(request, principal, null), call: SIGN_OUT });
  }

  /** An error for the caller, which the audit counts. */
  #refusal(request: IncomingMessage, principal: Principal | undefined, code: ProblemCode, message: string): ApiError {
    this.#audit.refused(() => this.#facts(request, principal, code), 'change', code);
    return new ApiError(code, message);
  }

  async #readText(request: IncomingMessage): Promise<string> {
    const body = await this.#bodies.receive(request, this.#ownerOf(request), SIGN_IN_LIMIT);
    const text = Buffer.from(body.bytes).toString('utf8');
    body.release();
    return text;
  }

  /** Returns the secret of the new session. If the caller has confirmed the switch, the previous session ends. */
  async #signIn(request: IncomingMessage, { token, isSwitch }: SignIn, before: string | null): Promise<string> {
    const principal = (await this.#accounts.authenticate(token)) ?? undefined;
    const refusal = (code: ProblemCode, text: string) => this.#refusal(request, principal, code, text);
    if (!principal) throw refusal('unauthorized', 'the token is not known, has expired or was revoked');
    const elsewhere = whyNotFromHere(principal, this.#callers, request);
    if (elsewhere !== null) throw refusal('forbidden', elsewhere);
    if (!principal.token.scopes.includes('read')) {
      throw refusal(
        'forbidden',
        'this token lacks the scope "read", which the console needs; sign in with another token',
      );
    }
    const current = before === null ? null : await this.#accounts.authenticateSession(before);
    if (current && current.token.id !== principal.token.id && !isSwitch) {
      throw refusal(
        'session_active',
        `the console is signed in with the token "${current.token.name}" of the account "${current.account.name}"; ` +
          'sign out first, or send {"switch": true}',
      );
    }
    const secret = await this.#accounts.createSession(principal.token);
    // Counted: a token may sign in as often as it likes, and must not take the place of changes.
    this.#audit.count(this.#facts(request, principal, null));
    if (before !== null) await this.#signOut(request, before);
    return secret;
  }

  #serve(path: string, request: IncomingMessage, response: ServerResponse): void {
    // The redirect is relative, so that it is correct behind a proxy that adds a path.
    if (path === ROOT) {
      response.writeHead(308, { Location: 'console/' }).end();
      return;
    }
    const name = path.slice(ROOT.length + 1);
    const file = this.#files.get(name);
    if (file && name !== PAGE) {
      const isHashed = name.startsWith('assets/');
      response.setHeader('Cache-Control', isHashed ? 'public, max-age=31536000, immutable' : 'no-cache');
      sendFile(file, request, response);
      return;
    }
    // No screen has such a deep path. The limit exists because a page is made for each depth.
    if (name.startsWith('assets/') || name.split('/').length > DEPTH_MAX)
      throw new ApiError('not_found', `there is nothing at ${path}`);
    const page = this.#files.get(PAGE);
    response.setHeader('Cache-Control', 'no-cache');
    if (!page) {
      response.writeHead(503, { 'Content-Type': 'text/plain; charset=utf-8' }).end(NOT_BUILT);
      return;
    }
    sendFile(pageAt(page, name), request, response);
  }
}

/**
 * The page refers to its files by relative paths, adjusted to its depth. So the service need not know under which path
 * a proxy shows the console.
 */
function pageAt(page: StaticFile, name: string): StaticFile {
  const depth = name.split('/').length - 1;
  if (depth === 0) return page;
  const text = page.bytes.toString('utf8').replaceAll(/(src|href)="\.\//g, `$1="${'../'.repeat(depth)}`);
  return staticFile(PAGE, Buffer.from(text));
}

function sendFile(file: StaticFile, request: IncomingMessage, response: ServerResponse): void {
  response.setHeader('ETag', file.etag);
  response.setHeader('Vary', 'Accept-Encoding');
  if (request.headers['if-none-match'] === file.etag) {
    response.writeHead(304).end();
    return;
  }
  const isGzip = /\bgzip\b/.test(String(request.headers['accept-encoding'] ?? ''));
  if (isGzip) file.gzipped ??= gzipSync(file.bytes, { level: 9 });
  const bytes = isGzip ? file.gzipped! : file.bytes;
  response.writeHead(200, {
    'Content-Type': file.mediaType,
    'Content-Length': bytes.length,
    ...(isGzip && { 'Content-Encoding': 'gzip' }),
  });
  response.end(request.method === 'HEAD' ? undefined : bytes);
}

function staticFile(name: string, bytes: Buffer): StaticFile {
  const mediaType = MEDIA_TYPES.get(name.split('.').at(-1)!) ?? 'application/octet-stream';
  const etag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`;
  return { bytes, mediaType, etag, gzipped: null };
}

interface SignIn {
  readonly token: string;
  /** The caller has confirmed that the new session replaces an existing one. */
  readonly isSwitch: boolean;
}

function signInOf(text: string): SignIn {
  try {
    const body = JSON.parse(text) as { token?: unknown; switch?: unknown };
    const { token, switch: isSwitch = false } = body;
    if (typeof token === 'string' && /^[!-~]+$/.test(token) && typeof isSwitch === 'boolean')
      return { token, isSwitch };
  } catch {}
  throw new ApiError('bad_body', 'send {"token": "…"}; add "switch": true to replace the token that is signed in');
}

function sendNothing(response: ServerResponse): void {
  response.writeHead(204).end();
}
