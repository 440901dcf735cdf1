// Failures: dead letters grouped by host and reason, so that one broken receiver appears as one problem.

import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { calls, type FailureGroup } from 'postrider-sdk';
import { useState } from 'react';
import { API_URL } from '../base/address.ts';
import { useClient, useSession } from '../base/session.ts';
import { Payload } from '../parts/payload.tsx';
import { ActionButton } from '../ui/action.tsx';
import { ConfirmButton } from '../ui/confirm.tsx';
import { countWithNoun, shownCount } from '../ui/count.ts';
import { shownHost } from '../ui/destination.tsx';
import { EmptyState } from '../ui/empty-state.tsx';
import { Icon } from '../ui/icon.tsx';
import { PageBody, PageHead, ResponseState } from '../ui/page.tsx';
import { Ago, clockTime, exactTime } from '../ui/time.tsx';

/**
 * How many messages are retried in a second: fast enough to see progress, slow enough for a receiver that has just come
 * back.
 */
const RETRIES_PER_SECOND = 100;

export function FailuresScreen() {
  const client = useClient();
  const { data, error } = useQuery({
    queryKey: ['failure-groups'],
    queryFn: () => client.failureGroups(),
    refetchInterval: 3000,
  });
  const groups = data?.groups ?? [];
  const total = groups.reduce((sum, { count }) => sum + count, 0);
  return (
    <>
      <PageHead title="Failures">
        {total > 0 && (
          <span className="num text-xs text-ink-3">
            {countWithNoun(total, 'dead letter')} in {countWithNoun(groups.length, 'group')}
          </span>
        )}
      </PageHead>
      <PageBody>
        <ResponseState data={data} error={error} />
        <p className="text-xs text-ink-3">
          Dead letters that were sent again are not listed here. They stay{' '}
          <Link to="/messages" search={{ state: 'FAILED', retried: 'true' }} className="link">
            among the messages
          </Link>{' '}
          until their retention ends.
        </p>
        {data && groups.length === 0 && <NoFailures />}
        <ul className="space-y-3">
          {groups.map((group) => (
            <li key={`${group.host} ${group.failure}`}>
              <Group group={group} />
            </li>
          ))}
        </ul>
        {data && total >= data.groupedMax && (
          <p className="text-xs text-ink-3">
            Only the newest {data.groupedMax.toLocaleString('en')} dead letters are grouped here. Use{' '}
            <Link to="/bulk" className="link">
              bulk operations
            </Link>{' '}
            to reach all of them.
          </p>
        )}
      </PageBody>
    </>
  );
}

function Group({ group }: { readonly group: FailureGroup }) {
  const [isUnfolded, setIsUnfolded] = useState(false);
  const { host, failure, count, responseStatus } = group;
  const filter = { host: [host], failure: [failure] };
  const name = shownHost(host);
  const many = countWithNoun(count, 'message');
  return (
    <article className="card" aria-label={`${many} to ${name}: ${failure}`}>
      <div className="flex flex-wrap items-center gap-x-4 gap-y-3 px-4 py-3">
        <span className="num w-14 shrink-0 text-right text-2xl leading-8 font-semibold tracking-tight text-failed">
          {count.toLocaleString('en')}
        </span>
        <div className="min-w-48 grow basis-0">
          <p className="flex items-baseline gap-2 text-base font-medium">
            <span className="min-w-0 break-all">{name}</span>
            {responseStatus !== undefined && (
              <span className="mono rounded bg-failed-soft px-1.5 text-failed">{responseStatus}</span>
            )}
          </p>
          <p className="text-xs break-words text-ink-2">{failure}</p>
          <p className="text-xs text-ink-3">
            since <span title={exactTime(group.firstAt)}>{clockTime(group.firstAt)}</span>, last{' '}
            <Ago at={group.lastAt} />
          </p>
        </div>
        <div className="flex flex-wrap gap-2">
          <button
            type="button"
            className="btn btn-quiet"
            aria-expanded={isUnfolded}
            onClick={() => setIsUnfolded(!isUnfolded)}
          >
            Sample
          </button>
          <Link to="/messages" search={{ state: 'FAILED', retried: 'false', ...filter }} className="btn btn-quiet">
            List
          </Link>
          <ConfirmButton
            title={`Delete ${many} to ${name}?`}
            verb={`Delete ${many}`}
            typed={String(count)}
            call={calls.startBulk('delete', filter, RETRIES_PER_SECOND * 10)}
            icon="trash"
            label={`Delete all messages to ${name}`}
            done="Deleting, in the background"
            link={() => <BulkLink />}
          >
            <p>Messages, bodies and attempts are deleted permanently.</p>
          </ConfirmButton>
          <RetrySince group={group} />
          <ActionButton
            call={calls.startBulk('retry', filter, RETRIES_PER_SECOND)}
            icon="retry"
            className="btn btn-primary"
            done={({ matched, isMatchedCut }) =>
              `Sending ${shownCount(matched, isMatchedCut)} again, ${RETRIES_PER_SECOND} per second`
            }
            link={() => <BulkLink />}
          >
            Retry all
          </ActionButton>
        </div>
      </div>
      {isUnfolded && <Sample group={group} />}
    </article>
  );
}

function BulkLink() {
  return (
    <Link to="/bulk" className="link">
      Watch it
    </Link>
  );
}

/** Retries only the messages that were accepted since a given time, because older messages may be out of date. */
function RetrySince({ group }: { readonly group: FailureGroup }) {
  const [isOpen, setIsOpen] = useState(false);
  const [since, setSince] = useState(() => localInput(Math.max(group.createdAtMin, group.lastAt - 3_600_000)));
  if (group.count < 2) return null;
  if (!isOpen) {
    return (
      <button type="button" className="btn" onClick={() => setIsOpen(true)}>
        Retry since…
      </button>
    );
  }
  const fromDate = new Date(since).getTime();
  return (
    <span className="flex gap-2">
      <input
        type="datetime-local"
        step={1}
        className="input w-52"
        aria-label="Accepted since"
        value={since}
        onChange={(event) => setSince(event.target.value)}
      />
      <ActionButton
        call={() =>
          calls.startBulk(
            'retry',
            { host: [group.host], failure: [group.failure], fromDate: String(fromDate) },
            RETRIES_PER_SECOND,
          )
        }
        isDisabled={Number.isNaN(fromDate)}
        done={({ matched, isMatchedCut }) => `Sending ${shownCount(matched, isMatchedCut)} again`}
        link={() => <BulkLink />}
        onDone={() => setIsOpen(false)}
      >
        Retry these
      </ActionButton>
    </span>
  );
}

function localInput(at: number): string {
  const date = new Date(at - new Date(at).getTimezoneOffset() * 60_000);
  return date.toISOString().slice(0, 19);
}

function Sample({ group }: { readonly group: FailureGroup }) {
  const client = useClient();
  const { dlqId, messageId, url } = group.sample;
  const { data, error } = useQuery({ queryKey: ['dead-letter', dlqId], queryFn: () => client.getDeadLetter(dlqId) });
  return (
    <div className="space-y-3 border-t border-line px-4 py-4">
      <p className="flex flex-wrap items-center gap-2 text-xs text-ink-2">
        The last failed message, to <span className="mono break-all text-ink">{url}</span>
        <Link to="/messages/$messageId" params={{ messageId }} className="link">
          Open it
        </Link>
      </p>
      <ResponseState data={data} error={error} />
      {data && (
        <Payload
          header={data.responseHeader}
          body={data.responseBody}
          bodyBase64={data.responseBodyBase64}
          isCut={data.isResponseBodyCut ?? false}
          name={`${messageId}-answer`}
          nothing={data.error ?? 'The response had no body.'}
        />
      )}
    </div>
  );
}

function NoFailures() {
  const { isDev } = useSession().account.service;
  const call = calls.publish({ destination: `${API_URL}/dev/sink/status/503`, settings: { Retries: '1' } });
  return (
    <EmptyState title="Nothing has failed" {...(isDev && { call })}>
      <p>
        <Icon name="check" className="mr-1 inline size-4 text-delivered" />A message that fails after its last retry is
        kept and listed here, grouped with messages that failed in the same way.
      </p>
      {isDev && <p>To see one, use this destination: it always responds with 503.</p>}
    </EmptyState>
  );
}
