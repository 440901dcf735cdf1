// The outermost component: finds out who is signed in, and shows the sign-in page or the console.

import { QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import type { OwnAccount } from 'postrider-sdk';
import { Activity, useCallback, useEffect, useMemo, useState } from 'react';
import {
  accountOfToken,
  clientFor,
  isSignedOut,
  reloadForTokens,
  type Session,
  SessionContext,
  signedInAccount,
  signIn,
  signOut,
  takeTokenFromAddress,
} from '../base/session.ts';
import { Invitation } from './invitation.tsx';
import { createConsoleRouter } from './router.tsx';
import { SignIn } from './sign-in.tsx';

type State =
  | { readonly kind: 'asking' }
  | { readonly kind: 'signedOut'; readonly message: string | null }
  | { readonly kind: 'invited'; readonly token: string; readonly to: OwnAccount; readonly from: OwnAccount | null }
  | SignedInState
  /** The session has expired. The screens are hidden and do not update, but keep what was typed in them. */
  | (Omit<SignedInState, 'kind'> & { readonly kind: 'expired' });

interface SignedInState {
  readonly kind: 'signedIn';
  readonly account: OwnAccount;
  /** The key of the screens. Every sign-in gets a new number, unless it continues an expired session. */
  readonly visit: number;
}

let visits = 0;
function signedInAs(account: OwnAccount): SignedInState {
  visits += 1;
  return { kind: 'signedIn', account, visit: visits };
}

const EXPIRED =
  'You were signed out: the token was revoked, or the session has ended. What you entered is kept in this tab.';

/**
 * Whether the new user may continue on the screens of an expired session: the account is the same, and the new rights
 * include the old ones.
 */
function mayGoOn(before: OwnAccount, now: OwnAccount): boolean {
  return before.accountId === now.accountId && before.token.scopes.every((scope) => now.token.scopes.includes(scope));
}

/**
 * Handles a link with a token. Anybody may have sent the link, so it neither changes a session nor signs a user in
 * without asking. In development it does sign in: there the printed link opens the console, and everybody knows the
 * token.
 */
async function followLink(token: string): Promise<State> {
  const [from, to] = await Promise.allSettled([signedInAccount(), accountOfToken(token)]);
  if (from.status === 'rejected') throw from.reason;
  const account = from.value;
  if (to.status === 'rejected') {
    if (account) return signedInAs(account);
    throw to.reason;
  }
  if (account?.token.tokenId === to.value.token.tokenId) return signedInAs(account);
  if (account || !to.value.service.isDev) return { kind: 'invited', token, to: to.value, from: account };
  return enter(token, false);
}

async function enter(token: string, isSwitch: boolean): Promise<SignedInState> {
  await signIn(token, isSwitch);
  return signedInAs(await clientFor().getAccount());
}

async function open(): Promise<State> {
  const token = takeTokenFromAddress();
  if (token !== null) return followLink(token);
  const account = await signedInAccount();
  return account ? signedInAs(account) : { kind: 'signedOut', message: null };
}

export function App() {
  const [state, setState] = useState<State>({ kind: 'asking' });

  useEffect(() => {
    open().then(setState, (error: Error) => setState({ kind: 'signedOut', message: error.message }));
    return reloadForTokens();
  }, []);

  const signInAs = async (token: string) => {
    const entered = await enter(token, true);
    setState((before) =>
      before.kind === 'expired' && mayGoOn(before.account, entered.account)
        ? { ...entered, visit: before.visit }
        : entered,
    );
  };
  const onSignedOut = useCallback((message: string | null) => setState({ kind: 'signedOut', message }), []);
  const onExpired = useCallback(
    () => setState((now) => (now.kind === 'signedIn' ? { ...now, kind: 'expired' } : now)),
    [],
  );

  switch (state.kind) {
    case 'asking':
      return null;
    case 'signedOut':
      return <SignIn message={state.message} onToken={signInAs} />;
    case 'invited':
      return (
        <Invitation
          to={state.to}
          from={state.from}
          onAccept={() => signInAs(state.token)}
          onDecline={() => setState(state.from ? signedInAs(state.from) : { kind: 'signedOut', message: null })}
        />
      );
    case 'signedIn':
    case 'expired':
      return (
        <>
          {state.kind === 'expired' && <SignIn message={EXPIRED} onToken={signInAs} />}
          <Activity mode={state.kind === 'expired' ? 'hidden' : 'visible'}>
            <SignedIn key={state.visit} account={state.account} onSignedOut={onSignedOut} onExpired={onExpired} />
          </Activity>
        </>
      );
  }
}

function SignedIn({
  account,
  onSignedOut,
  onExpired,
}: {
  readonly account: OwnAccount;
  readonly onSignedOut: (message: string | null) => void;
  readonly onExpired: () => void;
}) {
  const router = useMemo(createConsoleRouter, []);
  const session = useMemo<Session>(
    () => ({
      account,
      client: clientFor(account.service.headerPrefix),
      leave: () => {
        signOut().then(
          () => onSignedOut(null),
          (error: Error) => onSignedOut(error.message),
        );
      },
      expire: onExpired,
    }),
    [account, onSignedOut, onExpired],
  );
  const queries = useMemo(
    () =>
      new QueryClient({
        queryCache: new QueryCache({ onError: (error) => isSignedOut(error) && onExpired() }),
        defaultOptions: {
          queries: {
            retry: (count, error) => !isSignedOut(error) && !('status' in error) && count < 3,
            staleTime: 1000,
            networkMode: 'always',
          },
          mutations: { networkMode: 'always' },
        },
      }),
    [onExpired],
  );
  return (
    <SessionContext value={session}>
      <QueryClientProvider client={queries}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </SessionContext>
  );
}
