// The session of the console: a cookie with a secret whose hash is in the store, so that any node knows it and signing
// out ends it everywhere. A browser sends a cookie whichever page caused the request. So the cookie counts only for
// requests of our own page.

import type { IncomingHttpHeaders } from 'node:http';

const COOKIE = 'postrider_session';

/**
 * The header that the console sets on each of its requests. A page of another origin cannot set it without a CORS
 * preflight, and no preflight allows it (cross-origin.ts).
 */
export const CONSOLE_HEADER = 'x-postrider-console';

/** The secret of a session, or null when there is none or the request was not made by the console itself. */
export function sessionSecret(headers: IncomingHttpHeaders): string | null {
  if (headers.cookie === undefined || !isFromConsole(headers)) return null;
  for (const part of headers.cookie.split(';')) {
    const [name, value] = part.trim().split('=', 2);
    if (name === COOKIE && value) return value;
  }
  return null;
}

export function isFromConsole(headers: IncomingHttpHeaders): boolean {
  if (headers[CONSOLE_HEADER] !== '1') return false;
  // Browsers say in this header which page made the request. They omit it over plain HTTP to another machine.
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin';
  const { origin } = headers;
  if (origin === undefined) return true;
  const host = URL.canParse(origin) ? new URL(origin).host : null;
  // A proxy may put its own name into `Host`, and ours into `X-Forwarded-Host`. No page of another origin can set them.
  return host !== null && [headers.host, headers['x-forwarded-host']].includes(host);
}

/** The cookie of a session. It lasts until the browser is closed, and is `Secure` when the page came over HTTPS. */
export function sessionCookie(secret: string, { origin }: IncomingHttpHeaders): string {
  return `${COOKIE}=${secret}${attributes(origin)}`;
}

/** A cookie that makes the browser delete the cookie of a session. */
export function expiredSessionCookie({ origin }: IncomingHttpHeaders): string {
  return `${COOKIE}=${attributes(origin)}; Max-Age=0`;
}

function attributes(origin: string | undefined): string {
  return `; Path=/; HttpOnly; SameSite=Strict${origin?.startsWith('https:') ? '; Secure' : ''}`;
}
