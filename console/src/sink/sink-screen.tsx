// The sink, in development: the last requests of the built-in receiver, with their signatures checked, and presets for
// every kind of response.

import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { calls, type HeaderMap, type SinkRequest, verifySignature } from 'postrider-sdk';
import { useState } from 'react';
import { API_URL } from '../base/address.ts';
import { useClient, useHasScope, useSession } from '../base/session.ts';
import { Payload } from '../parts/payload.tsx';
import { ActionButton } from '../ui/action.tsx';
import { EmptyState } from '../ui/empty-state.tsx';
import { Icon } from '../ui/icon.tsx';
import { PageBody, PageHead, ResponseState, Section } from '../ui/page.tsx';
import { StatusCode } from '../ui/state.tsx';
import { Ago } from '../ui/time.tsx';

const PRESETS: readonly {
  readonly path: string;
  readonly title: string;
  readonly help: string;
  readonly retries?: string;
}[] = [
  { path: 'ok', title: '200', help: 'responds at once' },
  { path: 'status/500', title: '500', help: 'always fails; one retry, then a dead letter', retries: '1' },
  { path: 'slow?ms=5000', title: 'Slow', help: 'responds after five seconds' },
  { path: 'fail?times=2', title: 'Fails twice', help: 'then returns 200' },
];

export function SinkScreen() {
  const client = useClient();
  const { data, error } = useQuery({ queryKey: ['sink'], queryFn: () => client.sinkRequests(), refetchInterval: 800 });
  const requests = data?.requests ?? [];
  return (
    <>
      <PageHead title="Sink">
        {requests.length > 0 && (
          <ActionButton call={calls.forgetSinkRequests()} className="btn" done="Deleted">
            Clear
          </ActionButton>
        )}
      </PageHead>
      <PageBody>
        <Section title="Send a message that gets this response">
          <div className="grid grid-cols-2 gap-3 lg:grid-cols-4">
            {PRESETS.map(({ path, title, help, retries }) => (
              <div key={path} className="card flex flex-col gap-2 p-4">
                <p className="text-base font-semibold">{title}</p>
                <p className="grow text-xs text-ink-3">{help}</p>
                <ActionButton
                  call={calls.publish({
                    destination: `${API_URL}/dev/sink/${path}`,
                    body: JSON.stringify({ preset: title }),
                    contentType: 'application/json',
                    ...(retries !== undefined && { settings: { Retries: retries } }),
                  })}
                  scope="publish"
                  icon="send"
                  done="Sent"
                  label={`Send one: ${title}`}
                >
                  Send
                </ActionButton>
              </div>
            ))}
          </div>
        </Section>
        <Section title="Received requests">
          <ResponseState data={data} error={error} />
          {data && requests.length === 0 && (
            <EmptyState title="Nothing arrived yet">
              <p>
                Every request to <code className="mono">{API_URL}/dev/sink/…</code> is listed here, with its headers,
                its body and the check of its signature.
              </p>
            </EmptyState>
          )}
          {requests.length > 0 && (
            <ul className="card divide-y divide-line">
              {requests.map((request) => (
                <li key={request.id}>
                  <RequestRow request={request} />
                </li>
              ))}
            </ul>
          )}
        </Section>
      </PageBody>
    </>
  );
}

function RequestRow({ request }: { readonly request: SinkRequest }) {
  const [isUnfolded, setIsUnfolded] = useState(false);
  const { headerPrefix } = useSession().account.service;
  const messageId = headerOf(request.header, `${headerPrefix}Message-Id`);
  const retried = headerOf(request.header, `${headerPrefix}Retried`);
  return (
    <>
      <div className="flex flex-wrap items-center gap-x-4 gap-y-1 px-4 py-2.5">
        <button
          type="button"
          aria-expanded={isUnfolded}
          className="flex min-w-40 grow items-center gap-2 text-left"
          onClick={() => setIsUnfolded(!isUnfolded)}
        >
          <Icon name="right" className={`size-3.5 text-ink-3 ${isUnfolded ? 'rotate-90' : ''}`} />
          <span className="text-2xs font-semibold text-ink-3">{request.method}</span>
          <span className="mono min-w-0 break-all">{request.url}</span>
        </button>
        <Signature request={request} />
        {retried !== undefined && retried !== '0' && <span className="chip">retry {retried}</span>}
        {request.status === undefined ? (
          <span className="text-xs text-active">responding…</span>
        ) : (
          <StatusCode status={request.status} />
        )}
        {messageId !== undefined && (
          <Link to="/messages/$messageId" params={{ messageId }} className="link text-xs">
            Message
          </Link>
        )}
        <span className="w-16 text-right text-xs text-ink-3">
          <Ago at={request.at} isShort />
        </span>
      </div>
      {isUnfolded && (
        <div className="border-t border-line px-4 py-4">
          <Payload
            header={request.header}
            body={request.body}
            bodyBase64={request.bodyBase64}
            isCut={request.isBodyCut ?? false}
            name={`sink-${request.id}`}
            nothing="The request had no body."
          />
        </div>
      )}
    </>
  );
}

/** The result of checking the signature as a receiver does: with the SDK and the account's keys. */
function Signature({ request }: { readonly request: SinkRequest }) {
  const client = useClient();
  const { headerPrefix } = useSession().account.service;
  const signature = headerOf(request.header, `${headerPrefix}Signature`);
  const mayKnowKeys = useHasScope('manage');
  const keys = useQuery({ queryKey: ['keys'], queryFn: () => client.getKeys(), enabled: mayKnowKeys });
  const canCheck = mayKnowKeys && 'subtle' in crypto && !request.isBodyCut;
  const { data: verdict } = useQuery({
    queryKey: ['signature', request.id, keys.data],
    queryFn: () =>
      verifySignature({
        signature: signature!,
        body:
          request.bodyBase64 === undefined
            ? (request.body ?? '')
            : Uint8Array.from(atob(request.bodyBase64), (each) => each.charCodeAt(0)),
        keys: [keys.data!.current, keys.data!.next],
        now: request.at,
      }),
    enabled: signature !== undefined && keys.data !== undefined && canCheck,
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (signature === undefined) return <span className="text-xs text-ink-3">not signed</span>;
  if (!canCheck) return <span className="text-xs text-ink-3">signature not checked</span>;
  if (!verdict) return null;
  return verdict.isValid ? (
    <span className="inline-flex items-center gap-1 text-xs text-delivered">
      <Icon name="check" className="size-3.5" />
      signature verified
    </span>
  ) : (
    <span className="text-xs text-failed" title={verdict.reason}>
      signature: {verdict.reason}
    </span>
  );
}

function headerOf(header: HeaderMap, name: string): string | undefined {
  const wanted = name.toLowerCase();
  return Object.entries(header).find(([each]) => each.toLowerCase() === wanted)?.[1][0];
}
