// Overview: the health of the service. Each number links to the messages behind it.

import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { Activity, FailureGroup, Overview } from 'postrider-sdk';
import type { ReactNode } from 'react';
import { countText, useOverview } from '../base/overview-query.ts';
import type { Search } from '../base/search.ts';
import { useClient } from '../base/session.ts';
import { TimeChart } from '../ui/chart.tsx';
import { shownHost } from '../ui/destination.tsx';
import { PageBody, PageHead, ResponseState, Section } from '../ui/page.tsx';
import { Ago, durationText, useNow } from '../ui/time.tsx';
import { Nodes } from './nodes.tsx';

const HOSTS_SHOWN = 5;

export function OverviewScreen() {
  const client = useClient();
  const { data: overview, error } = useOverview(2000);
  const activity = useQuery({ queryKey: ['activity'], queryFn: () => client.activity(), refetchInterval: 5000 });
  const failures = useQuery({
    queryKey: ['failure-groups'],
    queryFn: () => client.failureGroups(),
    refetchInterval: 5000,
  });
  return (
    <>
      <PageHead title="Overview" />
      <PageBody>
        <ResponseState data={overview && activity.data} error={error ?? activity.error} />
        {overview && <Numbers overview={overview} activity={activity.data} />}
        {activity.data && <Throughput activity={activity.data} />}
        <div className="grid gap-6 md:grid-cols-2">
          {activity.data && <Lag activity={activity.data} />}
          <Section title="Top failing hosts">
            <ResponseState data={failures.data} error={failures.error} />
            {failures.data && <FailingHosts groups={failures.data.groups} />}
          </Section>
        </div>
        <Nodes />
      </PageBody>
    </>
  );
}

/** The rate per second, over the last whole minute and the current one. */
function rate({ buckets, bucketMs, now }: Activity, name: 'accepted' | 'delivered'): string {
  const last = buckets.slice(-2);
  const ms = now - (last[0]?.at ?? now - bucketMs);
  const perSecond = (last.reduce((sum, bucket) => sum + bucket[name], 0) / Math.max(1, ms)) * 1000;
  return perSecond === 0
    ? '0'
    : perSecond < 10
      ? perSecond.toFixed(perSecond < 1 ? 2 : 1)
      : Math.round(perSecond).toLocaleString('en');
}

function Numbers({ overview, activity }: { readonly overview: Overview; readonly activity: Activity | undefined }) {
  const now = useNow();
  const text = (count: number) => countText(count, overview.countedMax);
  const late = overview.oldestDueAt === undefined ? null : Math.max(0, now - overview.oldestDueAt);
  return (
    <>
      {overview.held > 0 && <HeldNotice held={overview.held} text={text(overview.held)} />}
      <div className="grid grid-cols-2 gap-px overflow-hidden rounded-lg border border-line bg-line sm:grid-cols-4">
        <Tile label="Accepted" unit="/s" value={activity ? rate(activity, 'accepted') : '–'} search={{}} />
        <Tile
          label="Delivered"
          unit="/s"
          value={activity ? rate(activity, 'delivered') : '–'}
          search={{ state: 'DELIVERED' }}
          dot="bg-delivered"
        />
        <Tile label="In flight" value={text(overview.active)} search={{ state: 'ACTIVE' }} dot="bg-active" />
        <Tile label="Waiting" value={text(overview.waiting)} search={{ state: 'CREATED' }} dot="bg-waiting" />
        <Tile label="Scheduled" value={text(overview.scheduled)} search={{ state: 'CREATED' }} dot="bg-waiting" />
        <Tile label="Retrying" value={text(overview.retrying)} search={{ state: 'RETRY' }} dot="bg-retrying" />
        <Tile label="Failed" value={text(overview.failed)} to="/failures" dot="bg-failed" isBad={overview.failed > 0} />
        <Tile
          label="Oldest due"
          value={late === null ? 'none late' : durationText(late)}
          search={{ state: ['CREATED', 'RETRY'] }}
          isBad={late !== null && late > 60_000}
        />
      </div>
    </>
  );
}

function HeldNotice({ held, text }: { readonly held: number; readonly text: string }) {
  return (
    <Link
      to="/messages"
      search={{ state: 'HELD' }}
      className="flex items-center gap-2 rounded-lg border border-line bg-held-soft px-4 py-3 text-sm text-held hover:underline"
    >
      <span className="size-2 shrink-0 rounded-full bg-held" />
      {held === 1 ? '1 message is held: it' : `${text} messages are held: each`} was the only message in flight when the
      server crashed. Release or cancel {held === 1 ? 'it' : 'them'}.
    </Link>
  );
}

function Tile({
  label,
  value,
  unit,
  dot,
  search = {},
  to = '/messages',
  isBad = false,
}: {
  readonly label: string;
  readonly value: ReactNode;
  readonly unit?: string;
  readonly dot?: string;
  readonly search?: Search;
  readonly to?: '/messages' | '/failures';
  readonly isBad?: boolean;
}) {
  return (
    <Link to={to} search={search} className="bg-raised px-4 py-3 hover:bg-hover focus-visible:outline-offset-[-2px]">
      <p className="flex items-center gap-1.5 text-xs text-ink-3">
        {dot !== undefined && <span className={`size-2 rounded-full ${dot}`} />}
        {label}
      </p>
      <p className={`num mt-1 text-2xl leading-8 font-semibold tracking-tight ${isBad ? 'text-failed' : ''}`}>
        {value}
        {unit !== undefined && <span className="ml-0.5 text-sm font-normal text-ink-3">{unit}</span>}
      </p>
    </Link>
  );
}

const SERIES = [
  ['accepted', 'Accepted', 'ink-3'],
  ['delivered', 'Delivered', 'delivered'],
  ['retried', 'Retried', 'retrying'],
  ['failed', 'Failed', 'failed'],
] as const;

/** The order of the bars from bottom to top. */
const CHART_ORDER = ['delivered', 'retried', 'failed', 'accepted'] as const;

const DOTS: ReadonlyMap<string, string> = new Map([
  ['ink-3', 'bg-ink-3'],
  ['delivered', 'bg-delivered'],
  ['retrying', 'bg-retrying'],
  ['failed', 'bg-failed'],
]);

function Throughput({ activity: { buckets } }: { readonly activity: Activity }) {
  const total = (name: (typeof SERIES)[number][0]) => buckets.reduce((sum, bucket) => sum + bucket[name], 0);
  return (
    <Section
      title="Last hour, by minute"
      aside={
        <ul className="flex flex-wrap gap-x-4 text-xs text-ink-2">
          {SERIES.map(([name, label, tone]) => (
            <li key={name} className="num flex items-center gap-1.5">
              <span className={`size-2 rounded-full ${DOTS.get(tone)}`} />
              {label} {total(name).toLocaleString('en')}
            </li>
          ))}
        </ul>
      }
    >
      <div className="card p-3">
        <TimeChart
          label={`Messages by minute: ${SERIES.map(([name, label]) => `${total(name)} ${label.toLowerCase()}`).join(', ')}`}
          at={buckets.map(({ at }) => at)}
          series={CHART_ORDER.map((wanted) => SERIES.find(([name]) => name === wanted)!).map(([name, label, tone]) => ({
            label,
            tone,
            kind: name === 'accepted' ? ('line' as const) : ('bar' as const),
            values: buckets.map((bucket) => bucket[name]),
          }))}
        />
      </div>
    </Section>
  );
}

function Lag({ activity: { lag } }: { readonly activity: Activity }) {
  const shown = [
    ['p50', lag.p50Ms],
    ['p95', lag.p95Ms],
    ['p99', lag.p99Ms],
  ] as const;
  const longest = Math.max(1, ...shown.map(([, ms]) => ms ?? 0));
  return (
    <Section title="Delivery lag, last hour">
      <div className="card space-y-3 p-4">
        {shown.map(([name, ms]) => (
          <div key={name} className="flex items-center gap-3 text-sm">
            <span className="num w-8 text-xs text-ink-3">{name}</span>
            <div className="h-1.5 grow overflow-hidden rounded-full bg-sunken">
              <div className="h-full rounded-full bg-accent" style={{ width: `${((ms ?? 0) / longest) * 100}%` }} />
            </div>
            <span className="num w-16 text-right font-medium">{ms === undefined ? '–' : durationText(ms)}</span>
          </div>
        ))}
        <p className="num text-xs text-ink-3">
          Time from the moment a message could start until its delivery, retries included. Deliveries:{' '}
          {lag.count.toLocaleString('en')}.
        </p>
      </div>
    </Section>
  );
}

function FailingHosts({ groups }: { readonly groups: readonly FailureGroup[] }) {
  const hosts = new Map<string, { count: number; lastAt: number }>();
  for (const { host, count, lastAt } of groups) {
    const before = hosts.get(host);
    hosts.set(host, { count: (before?.count ?? 0) + count, lastAt: Math.max(before?.lastAt ?? 0, lastAt) });
  }
  const shown = [...hosts].sort(([, a], [, b]) => b.count - a.count).slice(0, HOSTS_SHOWN);
  return (
    <div className="card divide-y divide-line">
      {shown.length === 0 && <p className="p-4 text-sm text-ink-3">No host has dead letters.</p>}
      {shown.map(([host, { count, lastAt }]) => (
        <Link
          key={host}
          to="/messages"
          search={{ state: 'FAILED', host, retried: 'false' }}
          className="flex items-center gap-3 px-4 py-2.5 hover:bg-hover"
        >
          <span className="min-w-0 grow truncate text-sm font-medium">{shownHost(host)}</span>
          <span className="text-xs text-ink-3">
            <Ago at={lastAt} />
          </span>
          <span className="num w-12 text-right text-sm font-semibold text-failed">{count.toLocaleString('en')}</span>
        </Link>
      ))}
    </div>
  );
}
