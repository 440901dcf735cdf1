// Hosts: how the attempts to each host went in the last hour, and how many messages wait for it.

import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { calls, type Host } from 'postrider-sdk';
import { useClient } from '../base/session.ts';
import { ActionButton } from '../ui/action.tsx';
import { countWithNoun, shownCount } from '../ui/count.ts';
import { EmptyState } from '../ui/empty-state.tsx';
import { PageBody, PageHead, ResponseState } from '../ui/page.tsx';
import { Segments } from '../ui/segments.tsx';
import { Ago, durationText } from '../ui/time.tsx';

export function HostsScreen() {
  const client = useClient();
  const { data: hosts, error } = useQuery({
    queryKey: ['hosts'],
    queryFn: () => client.listHosts(),
    refetchInterval: 3000,
  });
  return (
    <>
      <PageHead title="Hosts" />
      <PageBody>
        <ResponseState data={hosts} error={error} />
        {hosts?.length === 0 && (
          <EmptyState title="The health of your receivers">
            <p>After its first attempt, each host is listed here: how its attempts went, and what waits for it.</p>
          </EmptyState>
        )}
        <ul className="space-y-3">
          {hosts?.map((host) => (
            <li key={host.host}>
              <HostCard host={host} />
            </li>
          ))}
        </ul>
      </PageBody>
    </>
  );
}

const CHIPS: Readonly<Record<Host['state'], string>> = {
  well: 'bg-delivered-soft text-delivered',
  failing: 'bg-failed-soft text-failed',
  parked: 'bg-retrying-soft text-retrying',
};

function HostCard({ host }: { readonly host: Host }) {
  const { host: name, state, attempts, delivered, p50Ms, p95Ms, waiting, isWaitingCut } = host;
  return (
    <article className="card" aria-label={`Host ${name}`}>
      <div className="flex flex-wrap items-center gap-x-6 gap-y-3 px-4 py-3">
        <div className="min-w-40 grow basis-0">
          <p className="flex items-center gap-2 text-base font-medium">
            <Link to="/messages" search={{ host: [name] }} className="break-all hover:underline">
              {name}
            </Link>
            <span className={`chip border-transparent ${CHIPS[state]}`}>{state}</span>
          </p>
          <p className="num text-xs text-ink-3">
            {attempts === 0 ? 'no attempt in the last hour' : `${countWithNoun(attempts, 'attempt')} in the last hour`}
            <SinceWhen host={host} />
          </p>
        </div>
        <div className="w-full sm:w-56">
          <Segments
            nothing="Nothing sent lately"
            parts={[
              { label: 'delivered', count: delivered, tone: 'bg-delivered' },
              { label: 'not delivered', count: attempts - delivered, tone: 'bg-failed' },
            ]}
          />
        </div>
        {p50Ms !== undefined && p95Ms !== undefined && (
          <p className="num text-xs text-ink-2" title="How long half of the attempts took at most, and 95 of 100">
            {durationText(p50Ms)} / {durationText(p95Ms)}
          </p>
        )}
        <p className="num text-xs text-ink-2">{shownCount(waiting, isWaitingCut)} waiting</p>
        <ParkOrResume host={host} />
      </div>
      <LastFailure host={host} />
    </article>
  );
}

function SinceWhen({ host }: { readonly host: Host }) {
  const { parkedSince, isParkedByHand, nextProbeAt, opensWith, failingSince } = host;
  if (parkedSince !== undefined) {
    return (
      <>
        {' · parked '}
        <Ago at={parkedSince} />
        {isParkedByHand && ' by hand'}
        {nextProbeAt !== undefined && (
          <>
            {' · next probe '}
            <Ago at={nextProbeAt} />
          </>
        )}
      </>
    );
  }
  return (
    <>
      {opensWith !== undefined && ` · was parked, opens with ${opensWith} at once`}
      {failingSince !== undefined && (
        <>
          {' · failing since '}
          <Ago at={failingSince} />
        </>
      )}
    </>
  );
}

function ParkOrResume({ host: { host, state, opensWith } }: { readonly host: Host }) {
  return state === 'parked' || opensWith !== undefined ? (
    <ActionButton
      call={calls.resumeHost(host)}
      icon="play"
      className="btn btn-primary"
      done={`Host “${host}” is resumed`}
    >
      Resume
    </ActionButton>
  ) : (
    <ActionButton call={calls.parkHost(host)} icon="pause" done={`Host “${host}” is parked`}>
      Park
    </ActionButton>
  );
}

function LastFailure({ host: { lastFailure } }: { readonly host: Host }) {
  if (!lastFailure) return null;
  const { at, responseStatus, error } = lastFailure;
  return (
    <p className="border-t border-line px-4 py-2 text-xs break-words text-ink-2">
      Last failure <Ago at={at} />: {error ?? `the destination returned ${responseStatus}`}
    </p>
  );
}
