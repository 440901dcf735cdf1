// For receivers of deliveries: checks that a request really comes from the service and that its body is unchanged, and
// makes the responses that forbid or delay a retry. It uses only WebCrypto, so that it runs on servers, on workers and
// in browsers.

import { joinBytes } from './join-bytes.ts';
import type { Duration } from './setting-options.ts';

export interface SignedRequest {
  /** The header `Service-Signature`, which is a JWT. */
  readonly signature: string;
  /** The body as it was received. */
  readonly body: string | Uint8Array;
  /** The account's signing keys. A receiver that accepts the current and the next key is not affected by a rotation. */
  readonly keys: readonly string[];
  /** The URL to which the request was sent. Requests meant for another URL are refused. */
  readonly url?: string | undefined;
  /** The current time in milliseconds since 1970. Default: this machine's clock. */
  readonly now?: number | undefined;
}

export type Verdict = { readonly isValid: true } | { readonly isValid: false; readonly reason: string };

/** A request that is signed as Standard Webhooks define: its body, and the values of its three headers. */
export interface WebhookRequest extends Omit<SignedRequest, 'signature' | 'url'> {
  readonly id: string;
  readonly timestamp: string;
  /** One or more signatures, separated by spaces. */
  readonly signature: string;
}

/** How far the clocks of the service and the receiver may differ. */
const LEEWAY_SECONDS = 30;
/** How old a signature of the Standard Webhooks may be. A JWT contains the time at which it expires. */
const LIFETIME_SECONDS = 300;
const SIGNATURES_MAX = 10;

export async function verifySignature(request: SignedRequest): Promise<Verdict> {
  const [head, claims, mac, ...more] = request.signature.split('.');
  if (!head || !claims || !mac || more.length > 0) return refused('the signature is not a JWT');
  if (parseJson(head)?.alg !== 'HS256') return refused('the signature is not HS256');
  const signed = new TextEncoder().encode(`${head}.${claims}`);
  if (!(await isSignedByOne(request.keys, signed, [fromBase64(mac)])))
    return refused('the signature does not match any key');
  const { exp, nbf, sub, body } = parseJson(claims) ?? {};
  const now = (request.now ?? Date.now()) / 1000;
  if (typeof exp !== 'number' || !(now <= exp + LEEWAY_SECONDS)) return refused('the signature has expired');
  if (typeof nbf === 'number' && now < nbf - LEEWAY_SECONDS) return refused('the signature is not valid yet');
  if (request.url !== undefined && sub !== request.url) return refused('the signature is for another URL');
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytesOf(request.body)));
  if (typeof body !== 'string' || body.replace(/=+$/, '') !== toBase64Url(digest))
    return refused('the signature is for another body');
  return VALID;
}

export async function verifyWebhook(request: WebhookRequest): Promise<Verdict> {
  const { id, timestamp, signature, keys, body } = request;
  if (!/^\d{1,12}$/.test(timestamp)) return refused('webhook-timestamp is not a valid time');
  const macs = signature
    .split(' ', SIGNATURES_MAX)
    .filter((each) => each.startsWith('v1,'))
    .map((each) => fromBase64(each.slice(3)));
  const start = new TextEncoder().encode(`${id}.${timestamp}.`);
  const bytes = bytesOf(body);
  const signed = new Uint8Array(start.length + bytes.length);
  signed.set(start);
  signed.set(bytes, start.length);
  if (!(await isSignedByOne(keys, signed, macs))) return refused('webhook-signature does not match any key');
  const age = (request.now ?? Date.now()) / 1000 - Number(timestamp);
  if (!(age <= LIFETIME_SECONDS + LEEWAY_SECONDS)) return refused('the signature has expired');
  return age < -LEEWAY_SECONDS ? refused('the signature is not valid yet') : VALID;
}

export interface VerifyOptions {
  /** The account's signing keys: the current and the next one, so that no delivery is refused after a rotation. */
  readonly keys: readonly string[];
  /** The prefix that the server was started with. Default: `Service-`. */
  readonly headerPrefix?: string | undefined;
  /**
   * The URL that the service sends to, as it was published. Requests that were signed for another URL are refused.
   * Requires the header `Service-Signature`, because the signature of the Standard Webhooks does not cover the URL.
   */
  readonly url?: string | undefined;
  /**
   * Which signatures a request must have. Default: `both`, as every delivery has. `jwt` also accepts requests of QStash
   * itself, whose `messageId` is not signed. `webhook` also accepts requests of other senders that follow the Standard
   * Webhooks. A signature that is present is checked in any case.
   */
  readonly signatures?: 'both' | 'jwt' | 'webhook' | undefined;
  /** Limit for the body. A larger body is refused before it is read. Default: 10 MiB. */
  readonly bodyBytesMax?: number | undefined;
  /** The current time in milliseconds since 1970. Default: this machine's clock. */
  readonly now?: number | undefined;
}

/** A delivery that is known to come from the service. */
export interface Delivery {
  /**
   * The id is the same on every attempt: a receiver that remembers it handles no message twice. It is signed, except
   * with `signatures: 'jwt'`.
   */
  readonly messageId: string;
  /** 0 on the first attempt, then 1, 2, … This field and the following ones are not signed, except for the body. */
  readonly retried: number;
  readonly topicName: string | null;
  readonly queueName: string | null;
  readonly scheduleId: string | null;
  /** Where to report how the work has ended, after a response with 202: see `acknowledge`. Null without `awaitAck`. */
  readonly ackUrl: string | null;
  readonly headers: Headers;
  /** The raw body. */
  readonly body: Uint8Array;
  text(): string;
  json<T = unknown>(): T;
}

/** The request is not a delivery of the service, or it has changed on its way. */
export class SignatureError extends Error {
  override readonly name = 'SignatureError';
  /** The status to respond with: 401, or 413 for a body that is too large. */
  readonly status: number;

  constructor(message: string, status = 401) {
    super(message);
    this.status = status;
  }
}

/** The parts of a request, for runtimes without `Request`. */
export interface RequestParts {
  readonly headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: string | Uint8Array;
}

export const BODY_BYTES_MAX = 10 * 1024 * 1024;

/** Throws a SignatureError unless the service has signed this request with one of the keys. */
export async function verify(request: Request | RequestParts, options: VerifyOptions): Promise<Delivery> {
  const { headerPrefix = 'Service-', keys, bodyBytesMax = BODY_BYTES_MAX } = options;
  const used = [keys].flat().filter(Boolean);
  if (used.length === 0) throw new TypeError('keys: no signing key is set; give the signing keys of the account');
  const headers = headersFrom(request.headers);
  const raw = 'arrayBuffer' in request ? await readBody(request, bodyBytesMax) : bytesOf(request.body);
  if (raw.length > bodyBytesMax) throw new SignatureError('the body is too large', 413);
  const part = (name: string) => headers.get(headerPrefix + name);
  const verdict = await verdictOf(headers, headerPrefix, { ...options, keys: used }, raw);
  if (!verdict.isValid) throw new SignatureError(verdict.reason);
  const text = () => new TextDecoder().decode(raw);
  return {
    // The signed id is used if there is one.
    messageId: headers.get(headers.has('webhook-signature') ? 'webhook-id' : `${headerPrefix}Message-Id`) ?? '',
    retried: Number.parseInt(part('Retried') ?? '', 10) || 0,
    topicName: part('Topic-Name'),
    queueName: part('Queue-Name'),
    scheduleId: part('Schedule-Id'),
    ackUrl: part('Ack-Url'),
    headers,
    body: raw,
    text,
    json: <T>() => JSON.parse(text()) as T,
  };
}

/**
 * Each signature covers what the other does not: the JWT covers the URL, the webhook signature covers the id of the
 * message. If one of them could be left out, whoever has seen a delivery could send the body again under another id, or
 * to another receiver.
 */
async function verdictOf(
  headers: Headers,
  headerPrefix: string,
  { keys, url, now, signatures = 'both' }: VerifyOptions,
  body: Uint8Array,
): Promise<Verdict> {
  const jwt = headers.get(`${headerPrefix}Signature`);
  const webhook = headers.get('webhook-signature');
  const [id, timestamp] = [headers.get('webhook-id') ?? '', headers.get('webhook-timestamp') ?? ''];
  if (jwt === null && webhook === null) return refused('the request is not signed');
  if (jwt === null && (signatures !== 'webhook' || url !== undefined))
    return refused(`${headerPrefix}Signature is missing`);
  if (webhook === null && signatures !== 'jwt') return refused('webhook-signature is missing');
  const signed = { keys, now, body };
  if (jwt !== null) {
    const verdict = await verifySignature({ ...signed, signature: jwt, url });
    if (!verdict.isValid) return verdict;
  }
  if (webhook === null) return VALID;
  const verdict = await verifyWebhook({ ...signed, signature: webhook, id, timestamp });
  // Without this check, the two signatures could come from two deliveries with the same body.
  const isOfOne = jwt === null || parseJson(jwt.split('.')[1]!)?.iat === Number(timestamp);
  return verdict.isValid && !isOfOne ? refused('the two signatures belong to different requests') : verdict;
}

/** The response to a delivery that failed and that no retry can deliver. The message becomes a dead letter at once. */
export function doNotRetry(reason = 'no retry can help', headerPrefix = 'Service-'): Response {
  return new Response(reason, { status: 489, headers: { [`${headerPrefix}NonRetryable-Error`]: 'true' } });
}

/** The response to a delivery that failed and should be retried after `wait`. The service waits at most one day. */
export function retryAfter(wait: Duration, reason = 'not now'): Response {
  return new Response(reason, { status: 503, headers: { 'Retry-After': String(secondsOf(wait)) } });
}

const UNIT_SECONDS: ReadonlyMap<string, number> = new Map([
  ['ms', 0.001],
  ['s', 1],
  ['m', 60],
  ['h', 3600],
  ['d', 86_400],
]);

/** The duration in whole seconds, rounded up, so that no attempt comes sooner than requested. */
function secondsOf(wait: Duration): number {
  const parts = typeof wait === 'number' ? [] : [...wait.matchAll(/(\d+(?:\.\d+)?)(ms|[smhd])/g)];
  const isRead =
    typeof wait === 'number'
      ? wait >= 0 && wait < Infinity
      : parts.length > 0 && parts.map(([all]) => all).join('') === wait;
  if (!isRead)
    throw new TypeError(`${JSON.stringify(wait)} is not a duration such as 90s, 1h30m or a number of seconds`);
  const sum = parts.reduce((seconds, [, count, unit]) => seconds + Number(count) * UNIT_SECONDS.get(unit!)!, 0);
  return Math.ceil(typeof wait === 'number' ? wait : sum);
}

/** Reads the body. It stops as soon as the body is too large, because the sender has not been verified yet. */
async function readBody(request: Request, bytesMax: number): Promise<Uint8Array<ArrayBuffer>> {
  if (request.bodyUsed) throw new TypeError('the body was read before: give the request to verify() first');
  const tooLarge = () => new SignatureError('the body is too large', 413);
  if (Number(request.headers.get('Content-Length') ?? 0) > bytesMax) throw tooLarge();
  const reader = request.body?.getReader();
  const pieces: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
    if (done || !value) break;
    length += value.length;
    if (length > bytesMax) {
      await reader?.cancel().catch(() => {});
      throw tooLarge();
    }
    pieces.push(value);
  }
  return joinBytes(pieces, length);
}

function headersFrom(given: RequestParts['headers']): Headers {
  if (given instanceof Headers) return given;
  const headers = new Headers();
  for (const [name, value] of Object.entries(given)) {
    // Names that begin with a colon come from HTTP/2 and are no headers.
    if (value === undefined || name.startsWith(':')) continue;
    for (const each of typeof value === 'string' ? [value] : value) headers.append(name, each);
  }
  return headers;
}

const VALID: Verdict = { isValid: true };

async function isSignedByOne(
  keys: readonly string[],
  signed: Uint8Array<ArrayBuffer>,
  macs: readonly Uint8Array<ArrayBuffer>[],
): Promise<boolean> {
  // An unset key would be the empty key, which everybody knows.
  for (const key of keys.filter(Boolean)) {
    const secret = new TextEncoder().encode(key);
    const hmac = await crypto.subtle.importKey('raw', secret, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']);
    for (const mac of macs) if (await crypto.subtle.verify('HMAC', hmac, mac, signed)) return true;
  }
  return false;
}

function refused(reason: string): Verdict {
  return { isValid: false, reason };
}

function bytesOf(body: string | Uint8Array): Uint8Array<ArrayBuffer> {
  // Without this check, an object that a parser has made would be treated as an empty body.
  if (body && !('byteLength' in Object(body)) && typeof body !== 'string')
    throw new TypeError('body: must be the received bytes or text, not a parsed object');
  return typeof body === 'string' ? new TextEncoder().encode(body) : new Uint8Array(body);
}

function parseJson(base64Url: string): Record<string, unknown> | null {
  try {
    return JSON.parse(new TextDecoder().decode(fromBase64(base64Url))) as Record<string, unknown>;
  } catch {
    return null;
  }
}

/** Decodes base64, with the standard alphabet or the one for URLs. */
function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  try {
    return Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (character) =>
      character.charCodeAt(0),
    );
  } catch {
    return new Uint8Array(0);
  }
}

function toBase64Url(bytes: Uint8Array): string {
  const text = btoa(String.fromCharCode(...bytes));
  return text.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
}
