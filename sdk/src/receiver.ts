// For receivers of deliveries: checks that a request really comes from the service and that its body is unchanged.
// WebCrypto only, so that it runs on servers, workers and in browsers.

export interface SignedRequest {
  /** The header `Service-Signature`: a JWT. */
  readonly signature: string;
  /** The body as it came. */
  readonly body: string | Uint8Array;
  /** The account's keys. A receiver that accepts both is not affected by a rotation. */
  readonly keys: readonly string[];
  /** The URL it was sent to. Requests meant for another URL are refused. */
  readonly url?: string;
  /** Milliseconds since 1970. Default: this machine's clock. */
  readonly now?: number;
}

export type Verdict = { readonly isValid: true } | { readonly isValid: false; readonly reason: string };

/** Clocks differ a little. */
const LEEWAY_SECONDS = 30;

export async function verifySignature(request: SignedRequest): Promise<Verdict> {
  const [head, claims, mac, ...more] = request.signature.split('.');
  if (!head || !claims || !mac || more.length > 0) return refused('the signature is not a JWT');
  const parsed = parseJson(head);
  if (parsed?.alg !== 'HS256') return refused('the signature is not HS256');
  const signed = new TextEncoder().encode(`${head}.${claims}`);
  if (!(await isSignedByOne(request.keys, signed, fromBase64Url(mac))))
    return refused('the signature does not match any key');
  const { exp, nbf, sub, body } = parseJson(claims) ?? {};
  const now = (request.now ?? Date.now()) / 1000;
  if (typeof exp !== 'number' || now > exp + LEEWAY_SECONDS) return refused('the signature has expired');
  if (typeof nbf === 'number' && now < nbf - LEEWAY_SECONDS) return refused('the signature is not valid yet');
  if (request.url !== undefined && sub !== request.url) return refused('the signature is for another URL');
  const bytes = typeof request.body === 'string' ? new TextEncoder().encode(request.body) : request.body;
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', new Uint8Array(bytes)));
  if (typeof body !== 'string' || body.replace(/=+$/, '') !== toBase64Url(digest))
    return refused('the signature is for another body');
  return { isValid: true };
}

async function isSignedByOne(
  keys: readonly string[],
  signed: Uint8Array<ArrayBuffer>,
  mac: Uint8Array<ArrayBuffer>,
): Promise<boolean> {
  for (const key of keys) {
    const secret = new TextEncoder().encode(key);
    const hmac = await crypto.subtle.importKey('raw', secret, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']);
    if (await crypto.subtle.verify('HMAC', hmac, mac, signed)) return true;
  }
  return false;
}

function refused(reason: string): Verdict {
  return { isValid: false, reason };
}

function parseJson(base64Url: string): Record<string, unknown> | null {
  try {
    return JSON.parse(new TextDecoder().decode(fromBase64Url(base64Url))) as Record<string, unknown>;
  } catch {
    return null;
  }
}

function fromBase64Url(text: string): Uint8Array<ArrayBuffer> {
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
