// Asks before a link with a token signs a user in. Anybody can send a link, and a user who follows it might work in the
// sender's account without noticing.

import type { OwnAccount } from 'postrider-sdk';
import { useState } from 'react';
import { asSentence, SignInCard } from './sign-in.tsx';

interface InvitationProps {
  readonly to: OwnAccount;
  /** Who is signed in now. Null if nobody is. */
  readonly from: OwnAccount | null;
  readonly onAccept: () => Promise<void>;
  readonly onDecline: () => void;
}

export function Invitation({ to, from, onAccept, onDecline }: InvitationProps) {
  const [problem, setProblem] = useState<string | null>(null);
  const [isBusy, setIsBusy] = useState(false);

  const accept = async () => {
    setIsBusy(true);
    try {
      await onAccept();
    } catch (error) {
      setProblem(asSentence((error as Error).message));
      setIsBusy(false);
    }
  };

  return (
    <SignInCard>
      <h2 className="mb-2 text-sm font-semibold">
        {from ? 'Switch to another account or token?' : 'Sign in with this link?'}
      </h2>
      <dl className="grid grid-cols-[auto_1fr] gap-x-3 gap-y-1 text-sm">
        <dt className="text-ink-3">The link</dt>
        <dd>
          <Who account={to} />
        </dd>
        {from && (
          <>
            <dt className="text-ink-3">Now</dt>
            <dd>
              <Who account={from} />
            </dd>
          </>
        )}
      </dl>
      <p className="mt-3 text-xs text-ink-3">
        Continue only if you know where the link comes from. All messages that you then send and see belong to its
        account.
      </p>
      <p role="alert" className="mt-2 min-h-5 text-xs text-failed">
        {problem}
      </p>
      <div className="mt-2 flex gap-2">
        <button className="btn btn-primary grow" type="button" disabled={isBusy} onClick={accept}>
          {from ? 'Switch' : 'Sign in'}
        </button>
        <button className="btn grow" type="button" onClick={onDecline}>
          {from ? 'Stay signed in' : 'Cancel'}
        </button>
      </div>
    </SignInCard>
  );
}

function Who({ account: { name, token } }: { readonly account: OwnAccount }) {
  return (
    <>
      account <strong>{name}</strong>, token <strong>{token.name}</strong>
    </>
  );
}
