// The outermost part: finds out who is signed in, and shows the sign-in page or the console.

import { QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import type { OwnAccount } from 'postrider-sdk';
import { useEffect, useMemo, useState } from 'react';
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
  | { readonly kind: 'signedIn'; readonly account: OwnAccount };

const EXPIRED = 'You were signed out: the token was revoked, or the session has ended.';

/**
 * Handles a link with a token. Anybody may have sent the link, so it neither changes a session nor signs a user in
 * without asking. The exception is development, where the printed link opens the console and everybody knows the token.
 */
async function followLink(token: string): Promise<State> {
  const [from, to] = await Promise.allSettled([signedInAccount(), accountOfToken(token)]);
  if (from.status === 'rejected') throw from.reason;
  const account = from.value;
  if (to.status === 'rejected') {
    if (account) return { kind: 'signedIn', account };
    throw to.reason;
  }
  if (account?.token.tokenId === to.value.token.tokenId) return { kind: 'signedIn', account };
  if (account || !to.value.service.isDev) return { kind: 'invited', token, to: to.value, from: account };
  return enter(token, false);
}

async function enter(token: string, isSwitch: boolean): Promise<State> {
  await signIn(token, isSwitch);
  return { kind: 'signedIn', account: await clientFor().getAccount() };
}

async function open(): Promise<State> {
  const token = takeTokenFromAddress();
  if (token !== null) return followLink(token);
  const account = await signedInAccount();
  return account ? { kind: 'signedIn', account } : { kind: 'signedOut', message: null };
}

export function App() {
  const [state, setState] = useState<State>({ kind: 'asking' });

  useEffect(() => {
    open().then(setState, (error: Error) => setState({ kind: 'signedOut', message: error.message }));
    return reloadForTokens();
  }, []);

  const signInAs = async (token: string) => setState(await enter(token, true));

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
          onDecline={() =>
            setState(state.from ? { kind: 'signedIn', account: state.from } : { kind: 'signedOut', message: null })
          }
        />
      );
    case 'signedIn':
      return <SignedIn account={state.account} onSignedOut={(message) => setState({ kind: 'signedOut', message })} />;
  }
}

function SignedIn({
  account,
  onSignedOut,
}: {
  readonly account: OwnAccount;
  readonly onSignedOut: (message: string | null) => void;
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
    }),
    [account, onSignedOut],
  );
  const queries = useMemo(
    () =>
      new QueryClient({
        queryCache: new QueryCache({ onError: (error) => isSignedOut(error) && onSignedOut(EXPIRED) }),
        defaultOptions: {
          queries: {
            retry: (count, error) => !isSignedOut(error) && !('status' in error) && count < 3,
            staleTime: 1000,
            networkMode: 'always',
          },
          mutations: { networkMode: 'always' },
        },
      }),
    [onSignedOut],
  );
  return (
    <SessionContext value={session}>
      <QueryClientProvider client={queries}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </SessionContext>
  );
}
