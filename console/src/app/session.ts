// Who is signed in. The token itself lives in a cookie that no script can read; here is only what the API says of it.

import { type Client, createClient, type OwnAccount, PostriderError, type Scope } from 'postrider-sdk';
import { createContext, use } from 'react';
import { API_URL } from './place.ts';

/** Says that a request is the console's own; the server takes the cookie with it only. */
const OWN_HEADERS = { 'X-Postrider-Console': '1' };

export function clientFor(headerPrefix?: string): Client {
  return createClient({ baseUrl: API_URL, headers: OWN_HEADERS, ...(headerPrefix !== undefined && { headerPrefix }) });
}

async function session(method: 'POST' | 'DELETE', body?: string): Promise<void> {
  const response = await fetch(`${API_URL}/console/session`, {
    method,
    headers: { ...OWN_HEADERS, 'Content-Type': 'application/json' },
    ...(body !== undefined && { body }),
  });
  if (response.ok) return;
  const { error, code } = (await response.json().catch(() => ({}))) as { error?: string; code?: string };
  throw new PostriderError(response.status, code ?? '', error ?? `the service answered ${response.status}`);
}

export const signIn = (token: string) => session('POST', JSON.stringify({ token }));
export const signOut = () => session('DELETE');

/** The token of a link such as `…/console#t=…`; it is taken out of the address bar and the history at once. */
export function takeTokenFromAddress(): string | null {
  const match = /^#t=([!-~]+)$/.exec(location.hash);
  if (!match) return null;
  history.replaceState(history.state, '', location.pathname + location.search);
  return decodeURIComponent(match[1]!);
}

export interface Session {
  readonly account: OwnAccount;
  readonly client: Client;
  readonly leave: () => void;
}

export const SessionContext = createContext<Session | null>(null);

export function useSession(): Session {
  const session = use(SessionContext);
  if (!session) throw new Error('there is no session here');
  return session;
}

export const useClient = (): Client => useSession().client;

/** Whether the signed-in token may do something. */
export function useMay(scope: Scope): boolean {
  return useSession().account.token.scopes.includes(scope);
}

export function isSignedOut(error: unknown): boolean {
  return error instanceof PostriderError && error.status === 401;
}

/** In development the token is known to everybody, and commands work as they are shown; elsewhere it is never shown. */
export function shownToken({ token, service }: OwnAccount): string | null {
  return service.isDev && token.name === 'dev' ? 'dev_postrider' : null;
}
