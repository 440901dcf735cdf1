// The sign-in page: asks for a token.

import { type FormEvent, type ReactNode, useState } from 'react';
import { Logo } from '../ui/icon.tsx';

export function SignIn({
  message,
  onToken,
}: {
  readonly message: string | null;
  readonly onToken: (token: string) => Promise<void>;
}) {
  const [token, setToken] = useState('');
  const [problem, setProblem] = useState(message);
  const [isBusy, setIsBusy] = useState(false);

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setIsBusy(true);
    try {
      await onToken(token.trim());
    } catch (error) {
      setProblem(asSentence((error as Error).message));
      setIsBusy(false);
    }
  };

  return (
    <SignInCard>
      <form onSubmit={submit}>
        <label className="label" htmlFor="token">
          Token
        </label>
        <input
          id="token"
          className="input mono"
          type="password"
          autoComplete="current-password"
          // biome-ignore lint/a11y/noAutofocus: there is nothing else to do here
          autoFocus
          required
          value={token}
          onChange={(event) => setToken(event.target.value)}
          aria-describedby="sign-in-problem"
        />
        <p id="sign-in-problem" role="alert" className="mt-2 min-h-5 text-xs text-failed">
          {problem}
        </p>
        <button className="btn btn-primary mt-2 w-full" type="submit" disabled={isBusy}>
          {isBusy ? 'Signing in…' : 'Sign in'}
        </button>
        <p className="mt-6 border-t border-line pt-4 text-xs text-ink-3">
          In development the token is <code className="mono text-ink-2">dev_postrider</code>. In production the first
          start prints a token, and <code className="mono text-ink-2">postrider token create</code> on the machine of
          the service makes another one.
        </p>
      </form>
    </SignInCard>
  );
}

/** The card that is shown in place of the console. */
export function SignInCard({ children }: { readonly children: ReactNode }) {
  return (
    <main className="grid h-full place-items-center overflow-auto bg-side p-4">
      <div className="card w-full max-w-sm p-6">
        <div className="mb-6 flex items-center gap-2.5">
          <Logo className="size-7" />
          <h1 className="text-base font-semibold">Postrider</h1>
        </div>
        {children}
      </div>
    </main>
  );
}

export function asSentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${text.endsWith('.') ? '' : '.'}`;
}
