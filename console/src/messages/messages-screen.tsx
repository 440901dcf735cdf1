// Messages: the live list, newest first, with its filters in the address.

import { Outlet, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useVirtualizer } from '@tanstack/react-virtual';
import { calls, type Message } from 'postrider-sdk';
import {
  type ComponentProps,
  type ReactNode,
  type RefObject,
  useEffect,
  useMemo,
  useRef,
  useState,
  useSyncExternalStore,
} from 'react';
import { API_URL } from '../base/address.ts';
import type { Search } from '../base/search.ts';
import { useSession } from '../base/session.ts';
import { isTyping } from '../base/typing.ts';
import { filterFromSearch } from '../parts/filter.ts';
import { shownCount } from '../ui/count.ts';
import { EmptyState } from '../ui/empty-state.tsx';
import { Icon } from '../ui/icon.tsx';
import { ProblemNotice, ResponseState } from '../ui/page.tsx';
import { FilterBar } from './filter-bar.tsx';
import { MessageFeed } from './message-feed.ts';
import { GRID, MessageRow, ROW_HEIGHT } from './message-row.tsx';

export function MessagesScreen() {
  const search = useSearch({ strict: false }) as Search;
  const { client } = useSession();
  const key = JSON.stringify(filterFromSearch(search));
  const feed = useMemo(() => new MessageFeed(client, JSON.parse(key)), [client, key]);
  useEffect(() => feed.start(), [feed]);
  return (
    <div className="flex min-h-0 grow">
      <div className="@container flex min-h-0 min-w-0 grow flex-col">
        <FilterBar search={search} feed={feed} />
        <List key={key} feed={feed} search={search} hasFilter={key !== '{}'} />
      </div>
      <Outlet />
    </div>
  );
}

interface ListProps {
  readonly feed: MessageFeed;
  readonly search: Search;
  readonly hasFilter: boolean;
}

function List({ feed, search, hasFilter }: ListProps) {
  const state = useSyncExternalStore(feed.subscribe, () => feed.state);
  const scroller = useRef<HTMLDivElement>(null);
  const [isOver, setIsOver] = useState(false);
  const [isFocused, setIsFocused] = useState(false);
  const { messageId: openId } = useParams({ strict: false }) as { messageId?: string };
  const { rows, hasMore, isLoading, isLoadingMore, newCount, burst } = state;
  const virtual = useShownRows(feed, state, scroller);
  const items = virtual.getVirtualItems();
  const isAtTop = (virtual.scrollOffset ?? 0) < 8;

  // The user is reading, so new messages are announced and do not move the rows.
  const isRead = isOver || isFocused || !isAtTop;
  useEffect(() => feed.hold(isRead), [feed, isRead]);
  useRowKeys(rows, openId, (index) => virtual.scrollToIndex(index), search);

  if (!isLoading && rows.length === 0 && !hasMore) {
    return <NoRows error={state.error}>{hasFilter ? <NothingFound /> : <FirstMessage />}</NoRows>;
  }
  // The button for new messages covers the first row. A mouse over the button is still over the list.
  const overList = { onMouseEnter: () => setIsOver(true), onMouseLeave: () => setIsOver(false) };
  return (
    <div className="relative flex min-h-0 grow flex-col">
      {newCount > 0 && (
        <NewMessages
          count={newCount}
          isCut={state.isNewCountCut}
          {...overList}
          onClick={() => {
            scroller.current?.scrollTo({ top: 0 });
            feed.showNew();
          }}
        />
      )}
      <div className={`px-4 md:px-6 ${isLoading || state.error ? 'py-2' : ''}`}>
        <ResponseState data={isLoading ? undefined : rows} error={state.error} />
      </div>
      {burst && newCount === 0 && <Burst perSecond={burst.perSecond} shown={rows.length} />}
      <div
        role="table"
        aria-label="Messages"
        aria-rowcount={isLoading || hasMore ? -1 : rows.length + 1}
        className="flex min-h-0 grow flex-col"
      >
        <ColumnNames />
        <div
          ref={scroller}
          role="rowgroup"
          tabIndex={0}
          className="min-h-0 grow overflow-y-auto outline-offset-[-2px]"
          {...overList}
          onFocus={() => setIsFocused(true)}
          onBlur={() => setIsFocused(false)}
        >
          <div className="relative" style={{ height: virtual.getTotalSize() }}>
            {items.map(({ index, key, start }) => (
              <MessageRow
                key={key}
                index={index}
                top={start}
                message={rows[index]!}
                isFresh={state.fresh.has(rows[index]!.messageId)}
                isOpen={rows[index]!.messageId === openId}
                search={search}
              />
            ))}
          </div>
          {(isLoadingMore || (hasMore && rows.length === 0)) && (
            <p className="p-4 text-center text-xs text-ink-3">Searching older messages…</p>
          )}
        </div>
      </div>
    </div>
  );
}

/** A button over the list that shows the new messages. */
function NewMessages({
  count,
  isCut,
  ...events
}: { readonly count: number; readonly isCut: boolean } & ComponentProps<'button'>) {
  return (
    <button
      type="button"
      {...events}
      className="appear btn btn-primary absolute top-11 left-1/2 z-10 h-7 -translate-x-1/2 rounded-full px-3.5 text-xs"
    >
      <Icon name="up" className="size-3" />
      {shownCount(count, isCut)} new
    </button>
  );
}

/** A note that messages come faster than anybody can read. */
function Burst({ perSecond, shown }: { readonly perSecond: number; readonly shown: number }) {
  return (
    <p role="status" className="num border-b border-line bg-sunken px-4 py-1 text-xs text-ink-2 md:px-6">
      {perSecond.toLocaleString('en')}/s, showing the newest {shown}. Scroll down for older ones.
    </p>
  );
}

function NoRows({ error, children }: { readonly error: Error | null; readonly children: ReactNode }) {
  return (
    <div className="min-h-0 grow overflow-y-auto">
      <div className="px-4 pt-4">
        <ProblemNotice error={error} />
      </div>
      {!error && children}
    </div>
  );
}

function ColumnNames() {
  return (
    <div role="rowgroup" className="hidden border-b border-line px-6 @2xl:block">
      <div role="row" className={`${GRID} th h-8 items-center`}>
        <span role="columnheader">State</span>
        <span role="columnheader">Destination</span>
        <span role="columnheader">Queue, topic</span>
        <span role="columnheader" className="text-right">
          Retries
        </span>
        <span role="columnheader" className="text-right">
          Response
        </span>
        <span role="columnheader" className="text-right">
          Age
        </span>
      </div>
    </div>
  );
}

/** Tells the feed which rows are on the screen. The feed loads older rows before the user reaches them. */
function useShownRows(
  feed: MessageFeed,
  { rows, hasMore, isLoadingMore }: MessageFeed['state'],
  scroller: RefObject<HTMLDivElement | null>,
) {
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_HEIGHT,
    overscan: 10,
    getItemKey: (index) => rows[index]!.messageId,
  });
  const items = virtual.getVirtualItems();
  const last = items.at(-1)?.index ?? -1;
  useEffect(() => {
    feed.view(items.map(({ index }) => rows[index]!.messageId));
  });
  useEffect(() => {
    if (hasMore && !isLoadingMore && last >= rows.length - 20) void feed.loadMore();
  }, [feed, hasMore, isLoadingMore, last, rows.length]);
  return virtual;
}

/** The keys `j` and `k` open the next and the previous message of the list. */
function useRowKeys(
  rows: readonly Message[],
  openId: string | undefined,
  show: (index: number) => void,
  search: Search,
): void {
  const navigate = useNavigate();
  const latest = useRef({ rows, openId, show, search });
  latest.current = { rows, openId, show, search };
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (isTyping(event.target) || event.metaKey || event.ctrlKey || event.altKey) return;
      const step = event.key === 'j' ? 1 : event.key === 'k' ? -1 : 0;
      const { rows: all, openId: id, show: showRow, search: kept } = latest.current;
      if (step === 0 || all.length === 0) return;
      const open = all.findIndex(({ messageId }) => messageId === id);
      const at = id === undefined ? (step > 0 ? 0 : all.length - 1) : open + step;
      const messageId = all[at]?.messageId;
      if (messageId === undefined) return;
      showRow(at);
      void navigate({ to: '/messages/$messageId', params: { messageId }, search: kept });
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, [navigate]);
}

function NothingFound() {
  return (
    <EmptyState title="No message matches">
      <p>
        Remove a filter, or search for something else: an id, a part of a URL, a queue, a topic, a label, or text in a
        body.
      </p>
      <p>
        <code className="mono">queue:orders</code>, <code className="mono">topic:news</code>,{' '}
        <code className="mono">host:api.example.com</code>, <code className="mono">label:invoice</code>,{' '}
        <code className="mono">since:2h</code> and <code className="mono">status:503</code> are useful filters.
      </p>
    </EmptyState>
  );
}

function FirstMessage() {
  const { isDev } = useSession().account.service;
  const destination = isDev ? `${API_URL}/dev/sink/ok` : 'https://example.com/webhook';
  const call = calls.enqueue('hello', { destination, contentType: 'application/json', body: '{"hello":"world"}' });
  return (
    <EmptyState title="Send your first message" call={call}>
      <p>Paste this into a terminal. The message appears here within a second, with the response of its destination.</p>
    </EmptyState>
  );
}
