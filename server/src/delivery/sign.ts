// Signs a request, so that a receiver can check that it comes from us and is unchanged: a JWT of our own, and the
// Standard Webhooks headers. It is given the key and the time.

import { hash } from 'node:crypto';
import { hmacSha256 } from './mac.ts';

const JWT_LIFETIME_S = 300;
const JWT_START = `${Buffer.from('{"alg":"HS256","typ":"JWT"}').toString('base64url')}.`;

/** HS256 over the claims that receivers check: the issuer, the URL, the time, and the SHA-256 of the body. */
export function signJwt(input: {
  readonly key: string;
  readonly issuer: string;
  readonly url: string;
  readonly body: Uint8Array;
  readonly nowMs: number;
  readonly jti: string;
}): string {
  const nowS = Math.floor(input.nowMs / 1_000);
  // Written out: making an object of them first costs as much as the text.
  const claims =
    `{"iss":${JSON.stringify(input.issuer)},"sub":${JSON.stringify(input.url)},` +
    `"exp":${nowS + JWT_LIFETIME_S},"nbf":${nowS},"iat":${nowS},"jti":${JSON.stringify(input.jti)},` +
    // Unpadded. The public QStash clients strip the padding of both sides before they compare.
    `"body":"${hash('sha256', input.body, 'base64url')}"}`;
  const payload = Buffer.from(claims).toString('base64url');
  return `${JWT_START}${payload}.${hmacSha256(input.key, JWT_START, payload, null, 'base64url')}`;
}

/**
 * Standard Webhooks, symmetric. The secret is the UTF-8 bytes of the key, the same as for the JWT, so that an account
 * has one key and not two. Libraries that want base64 are given `whsec_` + base64(key). Appends to the list: a name,
 * its value, the next name, …
 */
export function putStandardWebhookHeaders(
  headers: string[],
  input: { readonly key: string; readonly messageId: string; readonly body: Uint8Array; readonly nowMs: number },
): void {
  const timestamp = String(Math.floor(input.nowMs / 1_000));
  const mac = hmacSha256(input.key, input.messageId, `.${timestamp}.`, input.body, 'base64');
  headers.push('webhook-id', input.messageId, 'webhook-timestamp', timestamp, 'webhook-signature', `v1,${mac}`);
}
