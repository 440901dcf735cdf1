// The live results of messages that were just sent.

import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { Published } from 'postrider-sdk';
import { useClient } from '../base/session.ts';
import { ResponseState } from '../ui/page.tsx';
import { isOpen, StateLabel, StatusCode } from '../ui/state.tsx';

export function TestResult({ sent }: { readonly sent: readonly Published[] }) {
  const client = useClient();
  const messageIds = sent.map(({ messageId }) => messageId);
  const { data, error } = useQuery({
    queryKey: ['sent', messageIds],
    queryFn: () => client.listMessages({ messageIds, order: 'oldestFirst', count: 1000 }),
    refetchInterval: ({ state }) => (state.data?.messages.some(isOpen) === false ? false : 700),
  });
  if (!data) return <ResponseState data={data} error={error} />;
  return (
    <ul aria-label="What was sent" className="divide-y divide-line rounded-md border border-line">
      {data.messages.map(({ messageId, url, state, responseStatus }) => (
        <li key={messageId} className="flex items-center gap-3 px-3 py-2">
          <StateLabel state={state} />
          <span className="mono min-w-0 grow truncate text-ink-2">{url}</span>
          <StatusCode status={responseStatus} />
          <Link to="/messages/$messageId" params={{ messageId }} className="link text-xs">
            Open
          </Link>
        </li>
      ))}
    </ul>
  );
}
