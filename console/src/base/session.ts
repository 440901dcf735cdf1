// Who is signed in. The secret of the session is in a cookie that no script can read. This file knows only what the API
// says about it.

import { type Client, createClient, type OwnAccount, PostriderError, type Scope } from 'postrider-sdk';
import { createContext, use } from 'react';
import { API_URL } from './address.ts';

/** Marks a request as the console's own. The server accepts the cookie only together with this header. */
const OWN_HEADERS = { 'X-Postrider-Console': '1' };

export function clientFor(headerPrefix?: string): Client {
  // The page shows every failure at once and has its own retries, so the client makes none.
  return createClient({ baseUrl: API_URL, headers: OWN_HEADERS, headerPrefix, retries: 0 });
}

async function session(method: 'POST' | 'DELETE', body?: string): Promise<void> {
  const response = await fetch(`${API_URL}/console/session`, {
    method,
    headers: { ...OWN_HEADERS, 'Content-Type': 'application/json' },
    ...(body !== undefined && { body }),
  });
  if (response.ok) return;
  const { error, code } = (await response.json().catch(() => ({}))) as { error?: string; code?: string };
  throw new PostriderError(response.status, code ?? '', error ?? `the service returned ${response.status}`);
}

/** If another token is already signed in, this works only with `isSwitch`. */
export const signIn = (token: string, isSwitch: boolean) =>
  session('POST', JSON.stringify({ token, switch: isSwitch }));
export const signOut = () => session('DELETE');

/** The token of a link such as `…/console#t=…`. It is removed from the address bar and the history at once. */
export function takeTokenFromAddress(): string | null {
  const match = /^#t=([!-~]+)$/.exec(location.hash);
  if (!match) return null;
  history.replaceState(history.state, '', location.pathname + location.search);
  return decodeURIComponent(match[1]!);
}

/**
 * Reloads the page when its address gets a token. Otherwise a user who opens a link with a token while the page is open
 * would see nothing happen, and the token would stay in the address.
 */
export function reloadForTokens(): () => void {
  const onChange = () => location.hash.startsWith('#t=') && location.reload();
  addEventListener('hashchange', onChange);
  return () => removeEventListener('hashchange', onChange);
}

/** The account of a token, without signing in with it. */
export async function accountOfToken(token: string): Promise<OwnAccount> {
  try {
    return await createClient({ baseUrl: API_URL, token }).getAccount();
  } catch (error) {
    const mayNotRead = error instanceof PostriderError && error.status === 403;
    throw mayNotRead
      ? new Error('this token lacks the scope "read", which the console needs; sign in with another token')
      : error;
  }
}

/** The account that is signed in. Null when nobody is signed in. */
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
  /** The service does not know the session any more. What was typed is kept until the user has signed in again. */
  readonly expire: () => void;
}

export const SessionContext = createContext<Session | null>(null);

export function useSession(): Session {
  const session = use(SessionContext);
  if (!session) throw new Error('there is no session here');
  return session;
}

export const useClient = (): Client => useSession().client;

/** Whether the signed-in token may do something. */
export function useHasScope(scope: Scope): boolean {
  return useSession().account.token.scopes.includes(scope);
}

export function isSignedOut(error: unknown): boolean {
  return error instanceof PostriderError && error.status === 401;
}

/**
 * The token that commands show. In development everybody knows the token, so commands work as shown. Elsewhere it is
 * never shown.
 */
export function tokenForExamples({ token, service }: OwnAccount): string | null {
  return service.isDev && token.name === 'dev' ? 'dev_postrider' : null;
}
