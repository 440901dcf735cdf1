// A call as a command to paste into a terminal. When the page does not know the token, it says where to get one.

import { Link } from '@tanstack/react-router';
import type { Call } from 'postrider-sdk';
import { API_URL } from '../base/address.ts';
import { tokenForExamples, useSession } from '../base/session.ts';
import { useCurl } from './action.tsx';
import { Code } from './code.tsx';

export function Command({ call }: { readonly call: Call<unknown> }) {
  const toCurl = useCurl();
  return (
    <>
      <Code text={toCurl(call)} label="command" />
      <TokenHint />
    </>
  );
}

/** The session is a cookie that no script can read, so the page cannot put the token of the user into a command. */
export function TokenHint() {
  const { account } = useSession();
  if (tokenForExamples(account) !== null) return null;
  return (
    <p className="text-xs text-ink-3">
      <code className="mono text-ink-2">TOKEN</code> is the token you signed in with; this page does not keep it. First
      run <code className="mono text-ink-2">export TOKEN=…</code> in that terminal. If you lost it, create one in{' '}
      <Link to="/settings" className="link">
        Settings
      </Link>{' '}
      or with <code className="mono text-ink-2">postrider token create</code>.
    </p>
  );
}

/** Makes a URL for an example. In development it is a URL of the sink, which responds. */
export function useExampleUrl(): (name: string) => string {
  const { isDev } = useSession().account.service;
  return (name) => (isDev ? `${API_URL}/dev/sink/ok?${name}` : `https://example.com/${name}`);
}
