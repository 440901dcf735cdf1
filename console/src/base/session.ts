// Who is signed in. The secret of the session lives in a cookie that no script can read; here is only what the API says
// of it.

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

/** Where somebody is signed in with another token already, only with `isSwitch`. */
export const signIn = (token: string, isSwitch: boolean) =>
  session('POST', JSON.stringify({ token, switch: isSwitch }));
export const signOut = () => session('DELETE');

/** The token of a link such as `…/console#t=…`; it is taken out of the address bar and the history at once. */
export function takeTokenFromAddress(): string | null {
  const match = /^#t=([!-~]+)$/.exec(location.hash);
  if (!match) return null;
  history.replaceState(history.state, '', location.pathname + location.search);
  return decodeURIComponent(match[1]!);
}

/** Whoever opens such a link while the page is open would see nothing happen, and the token would stay in the address. */
export function reloadForTokens(): () => void {
  const onChange = () => location.hash.startsWith('#t=') && location.reload();
  addEventListener('hashchange', onChange);
  return () => removeEventListener('hashchange', onChange);
}

/** Whom a token stands for, without signing in with it. */
export async function accountOfToken(token: string): Promise<OwnAccount> {
  try {
    return await createClient({ baseUrl: API_URL, token }).getAccount();
  } catch (error) {
    const mayNotRead = error instanceof PostriderError && error.status === 403;
    throw mayNotRead ? new Error('this token may not read, and the console shows; sign in with one that may') : error;
  }
}

/** Null when nobody is signed in. */
export async function signedInAccount(): Promise<OwnAccount | null> {
  try {
    return await clientFor().getAccount();
  } catch (error) {
    if (isSignedOut(error)) return null;
    throw error;
  }
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
