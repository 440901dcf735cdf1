// The outermost part: finds out who is asking, and shows the sign-in page or the console.

import { QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import type { OwnAccount } from 'postrider-sdk';
import { useEffect, useMemo, useState } from 'react';
import { createConsoleRouter } from './router.tsx';
import {
  clientFor,
  isSignedOut,
  type Session,
  SessionContext,
  signIn,
  signOut,
  takeTokenFromAddress,
} from './session.ts';
import { SignIn } from './sign-in.tsx';

type State =
  | { readonly kind: 'asking' }
  | { readonly kind: 'signedOut'; readonly message: string | null }
  | { readonly kind: 'signedIn'; readonly account: OwnAccount };

const EXPIRED = 'You were signed out: the token was revoked, or the session has ended.';

export function App() {
  const [state, setState] = useState<State>({ kind: 'asking' });

  const enter = async (token: string | null) => {
    if (token !== null) await signIn(token);
    setState({ kind: 'signedIn', account: await clientFor().getAccount() });
  };

  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when the page opens
  useEffect(() => {
    const token = takeTokenFromAddress();
    enter(token).catch((error: Error) => {
      setState({ kind: 'signedOut', message: token === null && isSignedOut(error) ? null : error.message });
    });
  }, []);

  if (state.kind === 'asking') return null;
  if (state.kind === 'signedOut') return <SignIn message={state.message} onToken={enter} />;
  return <SignedIn account={state.account} onSignedOut={(message) => setState({ kind: 'signedOut', message })} />;
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
