// Signs a request, so that a receiver can check that it comes from us and is unchanged: with a JWT, and with the
// Standard Webhooks headers. The caller gives the key and the time.

import { hash } from 'node:crypto';
import { hmacSha256, hmacSha256OnThread, sha256OnThread } from './mac.ts';

const JWT_LIFETIME_S = 300;
const JWT_START = `${Buffer.from('{"alg":"HS256","typ":"JWT"}').toString('base64url')}.`;

export interface JwtInput {
  readonly key: string;
  readonly issuer: string;
  readonly url: string;
  readonly body: Uint8Array;
  readonly nowMs: number;
  readonly jti: string;
}

/**
 * Memory in which a token is built, because concatenating strings would take several times as long. It is shared by all
 * calls: no call waits while it uses this memory.
 */
const scratch = Buffer.alloc(8 * 1024);
/** A character of a JavaScript string takes at most this many bytes. */
const UTF8_BYTES_A_CHARACTER = 3;
/** Characters of base64 for each byte, rounded up. */
const BASE64_LENGTH_A_BYTE = 4 / 3;
/** Limit for the rest of a token beside its claims: the header, two dots, the signature, and what base64 rounds up. */
const BESIDE_CLAIMS_BYTES = 128;

/** A JWT with HS256 over the claims that receivers check: the issuer, the URL, the time, the SHA-256 of the body. */
export function signJwt(input: JwtInput): string {
  // The hash has no base64 padding. QStash's public clients accept that: they strip the padding before they compare.
  return jwtOf(input, hash('sha256', input.body, 'base64url'));
}

function jwtOf(input: Omit<JwtInput, 'body'>, bodyHash: string): string {
  const before = issuerClaim(input.issuer);
  const subject = subjectClaim(input.url);
  const between = timeClaims(Math.floor(input.nowMs / 1_000));
  const jti = JSON.stringify(input.jti);
  const length =
    before.length + subject.length + between.length + jti.length + BEFORE_BODY.length + bodyHash.length + 2;
  const bytesMax = Math.ceil(length * UTF8_BYTES_A_CHARACTER * BASE64_LENGTH_A_BYTE) + BESIDE_CLAIMS_BYTES;
  const memory = bytesMax <= scratch.length ? scratch : Buffer.allocUnsafe(bytesMax);

  let end = memory.write(before);
  end += memory.write(subject, end);
  end += memory.write(between, end);
  end += memory.write(jti, end);
  end += memory.write(BEFORE_BODY, end);
  end += memory.write(bodyHash, end, 'latin1');
  end += memory.write('"}', end, 'latin1');
  const payload = memory.toString('base64url', 0, end);

  end = memory.write(JWT_START, 0, 'latin1');
  end += memory.write(payload, end, 'latin1');
  end += memory.write('.', end, 'latin1');
  end += memory.write(hmacSha256(input.key, JWT_START, payload, null, 'base64url'), end, 'latin1');
  return memory.toString('latin1', 0, end);
}

const BEFORE_BODY = ',"body":"';

/** The start of the claims. It is the same for all tokens of a service. */
function issuerClaim(issuer: string): string {
  if (issuer !== lastIssuer) {
    lastIssuer = issuer;
    lastIssuerClaim = `{"iss":${JSON.stringify(issuer)},"sub":`;
  }
  return lastIssuerClaim;
}

/** The claim for the URL. The last one is cached, because many consecutive messages go to the same URL. */
function subjectClaim(url: string): string {
  if (url !== lastUrl) {
    lastUrl = url;
    lastSubjectClaim = JSON.stringify(url);
  }
  return lastSubjectClaim;
}

let lastUrl: string | null = null;
let lastSubjectClaim = '';

let lastIssuer: string | null = null;
let lastIssuerClaim = '';

/** The claims between the URL and the id. Cached, because many tokens are made in one second. */
function timeClaims(nowS: number): string {
  if (nowS !== lastS) {
    lastS = nowS;
    lastTimeClaims = `,"exp":${nowS + JWT_LIFETIME_S},"nbf":${nowS},"iat":${nowS},"jti":`;
  }
  return lastTimeClaims;
}

let lastS = Number.NaN;
let lastTimeClaims = '';

/** Encodes a few bytes. */
export function base64urlOfBytes(bytes: Uint8Array): string {
  scratch.set(bytes);
  return scratch.toString('base64url', 0, bytes.length);
}

export interface SignatureInput extends JwtInput {
  readonly messageId: string;
}

/**
 * The headers of both signatures: a name, its value, the next name, … The second signature is Standard Webhooks,
 * symmetric. Its secret is the UTF-8 bytes of the key, the same as for the JWT, so that an account has one key and not
 * two. Libraries that want base64 are given `whsec_` + base64(key).
 */
export function signatureHeaders(name: string, input: SignatureInput): string[] {
  const { key, messageId, body, nowMs } = input;
  const timestamp = timestampOf(nowMs);
  const mac = hmacSha256(key, messageId, `.${timestamp}.`, body, 'base64');
  return headersOf(name, signJwt(input), messageId, timestamp, mac);
}

/** Like `signatureHeaders`, but other threads read the body, so that the event loop continues. */
export async function signatureHeadersOnThreads(name: string, input: SignatureInput): Promise<string[]> {
  const { key, messageId, body, nowMs } = input;
  const timestamp = timestampOf(nowMs);
  const [bodyHash, mac] = await Promise.all([
    sha256OnThread(body, 'base64url'),
    hmacSha256OnThread(key, `${messageId}.${timestamp}.`, body, 'base64'),
  ]);
  return headersOf(name, jwtOf(input, bodyHash), messageId, timestamp, mac);
}

const timestampOf = (nowMs: number) => String(Math.floor(nowMs / 1_000));

function headersOf(name: string, jwt: string, messageId: string, timestamp: string, mac: string): string[] {
  // Written as one array literal: a list that grows by `push` would be copied several times.
  return [name, jwt, 'webhook-id', messageId, 'webhook-timestamp', timestamp, 'webhook-signature', `v1,${mac}`];
}
