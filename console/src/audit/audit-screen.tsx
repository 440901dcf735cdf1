// The audit: who has changed what, and which calls were refused. What is shown of an entry leads to all entries that have
// the same.

import { useInfiniteQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import type { AuditEntry } from 'postrider-sdk';
import { useState } from 'react';
import { type Search, textOf } from '../base/search.ts';
import { useClient, useHasScope } from '../base/session.ts';
import { FilterChips } from '../parts/filter-chips.tsx';
import { countWithNoun } from '../ui/count.ts';
import { EmptyState } from '../ui/empty-state.tsx';
import { Icon } from '../ui/icon.tsx';
import { PageBody, PageHead, ResponseState } from '../ui/page.tsx';
import { Ago, clockTime } from '../ui/time.tsx';
import { auditChips, auditQuery, parseAuditBox, withFilterValue } from './audit-filter.ts';

const PAGE = 50;
const REFRESH_MS = 5000;

export function AuditScreen() {
  const isManager = useHasScope('manage');
  return (
    <>
      <PageHead title="Audit" />
      <PageBody>
        {isManager ? (
          <Audit />
        ) : (
          <EmptyState title="Who has changed what">
            <p>To see it you need a token with the scope “manage”.</p>
          </EmptyState>
        )}
      </PageBody>
    </>
  );
}

function useEntries(search: Search) {
  const client = useClient();
  const isOfAll = useIsOfAll(search);
  return useInfiniteQuery({
    queryKey: ['audit', isOfAll, search],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam: cursor }) => {
      const query = { ...auditQuery(search), count: PAGE, ...(cursor !== undefined && { cursor }) };
      return isOfAll ? client.listAllAudit(query) : client.listAudit(query);
    },
    getNextPageParam: ({ cursor }) => cursor,
    // Who has opened older pages reads: what is read does not move.
    refetchInterval: ({ state }) => ((state.data?.pages.length ?? 1) > 1 ? false : REFRESH_MS),
  });
}

/** Only with the scope admin can all accounts be shown. */
function useIsOfAll(search: Search): boolean {
  const isAdmin = useHasScope('admin');
  return isAdmin && (textOf(search.all) === 'true' || search.account !== undefined);
}

function Audit() {
  const search = useSearch({ strict: false }) as Search;
  const { data, error, hasNextPage, isFetchingNextPage, fetchNextPage } = useEntries(search);
  const entries = data?.pages.flatMap(({ audit }) => audit) ?? [];
  const isFiltered = auditChips(search).length > 0;
  return (
    <>
      <FilterBar search={search} />
      <ResponseState data={data} error={error} />
      {data && entries.length === 0 && (
        <EmptyState title={isFiltered ? 'No entry matches' : 'Nothing was changed yet'}>
          <p>
            Every call that changes queues, topics, schedules, tokens or accounts is listed here with its caller, and so
            is every call that was refused.
          </p>
        </EmptyState>
      )}
      <ul aria-label="Entries" className="card divide-y divide-line empty:hidden">
        {entries.map((entry) => (
          <Entry key={entry.auditId} entry={entry} search={search} />
        ))}
      </ul>
      {hasNextPage && (
        <button
          type="button"
          className="btn btn-quiet"
          disabled={isFetchingNextPage}
          onClick={() => void fetchNextPage()}
        >
          Show older entries
        </button>
      )}
    </>
  );
}

const RESULTS = [
  ['all', ''],
  ['done', 'done'],
  ['refused', 'refused'],
] as const;

function FilterBar({ search }: { readonly search: Search }) {
  const navigate = useNavigate();
  const [typed, setTyped] = useState('');
  const isAdmin = useHasScope('admin');
  const isOfAll = useIsOfAll(search);
  const change = (to: Search) => void navigate({ to: '/audit', search: to });
  return (
    <div className="space-y-3">
      <form
        className="flex flex-wrap items-center gap-2"
        onSubmit={(event) => {
          event.preventDefault();
          const found = Object.entries(parseAuditBox(typed)) as [string, readonly string[]][];
          change(
            found.reduce(
              (all, [name, values]) => values.reduce((each, value) => withFilterValue(each, name, value), all),
              search,
            ),
          );
          setTyped('');
        }}
      >
        <input
          type="search"
          className="input min-w-48 grow"
          aria-label="Filter the audit"
          placeholder="orders by:ci result:403 from:203.0.113.7 since:2026-01-31 call:POST /v2/queues"
          value={typed}
          onChange={({ target }) => setTyped(target.value)}
        />
        <fieldset className="flex gap-1" aria-label="Result">
          {RESULTS.map(([label, value]) => (
            <button
              key={label}
              type="button"
              className="btn btn-quiet aria-pressed:bg-line aria-pressed:text-ink"
              aria-pressed={textOf(search.result) === value}
              onClick={() => change({ ...search, result: value })}
            >
              {label}
            </button>
          ))}
        </fieldset>
        {isAdmin && (
          <button
            type="button"
            className="btn btn-quiet aria-pressed:bg-line aria-pressed:text-ink"
            aria-pressed={isOfAll}
            onClick={() => change({ ...search, all: isOfAll ? '' : 'true', account: '' })}
          >
            All accounts
          </button>
        )}
      </form>
      <FilterChips chips={auditChips(search)} search={search} onChange={change} className="empty:hidden">
        {null}
      </FilterChips>
    </div>
  );
}

/** A part of an entry: a click shows all entries that have the same. */
function Part({
  search,
  name,
  value,
  text = value,
  className = '',
}: {
  readonly search: Search;
  readonly name: string;
  readonly value: string;
  readonly text?: string;
  readonly className?: string;
}) {
  return (
    <Link to="/audit" search={withFilterValue(search, name, value)} className={`hover:underline ${className}`}>
      {text}
    </Link>
  );
}

function Entry({ entry, search }: { readonly entry: AuditEntry; readonly search: Search }) {
  const { time, count, call, target } = entry;
  return (
    <li className="flex flex-wrap items-baseline gap-x-4 gap-y-1 px-4 py-2.5">
      <span className="w-20 shrink-0 text-xs text-ink-3">
        <Ago at={time} />
      </span>
      <div className="min-w-48 grow basis-0">
        <p className="text-sm break-words">
          <Part search={search} name="call" value={call} className="font-medium" />
          {target !== undefined && (
            <>
              {' '}
              <Part search={search} name="target" value={target} className="mono break-all text-ink-2" />
            </>
          )}
        </p>
        <p className="text-xs text-ink-3">
          <Who entry={entry} search={search} />
          <RequestName entry={entry} />
        </p>
      </div>
      {count !== undefined && (
        <span className="num text-xs text-ink-3" title={`until ${clockTime(entry.lastTime ?? time)}`}>
          {countWithNoun(count, 'time')}
        </span>
      )}
      <Result entry={entry} search={search} />
    </li>
  );
}

function Who({ entry, search }: { readonly entry: AuditEntry; readonly search: Search }) {
  const { via, tokenId, tokenName, address, accountId } = entry;
  const isAdmin = useHasScope('admin');
  return (
    <>
      {via === 'command' && 'a command on the machine'}
      {via === 'none' && (tokenId === undefined ? 'without a valid token' : '')}
      {tokenId !== undefined && (
        <>
          {via === 'session' ? 'in the console, with ' : 'with '}
          <Part search={search} name="token" value={tokenId} text={tokenName ?? tokenId} />
        </>
      )}
      {address !== undefined && (
        <>
          {' from '}
          <Part search={search} name="address" value={address} className="mono" />
        </>
      )}
      {isAdmin && accountId !== undefined && (
        <>
          {' · account '}
          <Part search={search} name="account" value={accountId} className="mono" />
        </>
      )}
    </>
  );
}

function RequestName({ entry: { requestId } }: { readonly entry: AuditEntry }) {
  if (requestId === undefined) return null;
  return (
    <>
      {' · request '}
      <span className="mono break-all">{requestId}</span>
    </>
  );
}

function Result({ entry, search }: { readonly entry: AuditEntry; readonly search: Search }) {
  const { result, status, code } = entry;
  const tone = result === 'done' ? 'bg-delivered-soft text-delivered' : 'bg-failed-soft text-failed';
  const text = [status, code].filter((each) => each !== undefined).join(' ') || result;
  return (
    <span className={`chip border-transparent ${tone}`}>
      <Icon name={result === 'done' ? 'check' : 'close'} className="size-3" />
      <Part search={search} name="result" value={code ?? String(status ?? result)} text={text} />
    </span>
  );
}
