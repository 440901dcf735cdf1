// The search box, the state chips with their counts, the active filters, and the live switch.

import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import type { MessageState, Overview } from 'postrider-sdk';
import { type FormEvent, useEffect, useState, useSyncExternalStore } from 'react';
import { countText, useOverview } from '../base/overview-query.ts';
import { listOf, type Search, textOf } from '../base/search.ts';
import { useClient } from '../base/session.ts';
import { chipsOf, filterFromSearch, parseBox, withoutFilterValue } from '../parts/filter.ts';
import { FilterChips } from '../parts/filter-chips.tsx';
import { Icon } from '../ui/icon.tsx';
import { STATE_NAMES, STATES } from '../ui/state.tsx';
import { clockTime } from '../ui/time.tsx';
import type { FeedState } from './feed-state.ts';
import type { MessageFeed } from './message-feed.ts';

/** How often filtered messages are counted. They are counted one by one, which is slow. */
const NARROWED_MS = 5000;

export function FilterBar({ search, feed }: { readonly search: Search; readonly feed: MessageFeed }) {
  const navigate = useNavigate();
  const show = (next: Search) => void navigate({ to: '/messages', search: next });
  const { data: overview } = useOverview();
  const states = listOf(search.state);
  const chips = chipsOf(search);
  const { state: _state, ...filter } = filterFromSearch(search);
  const isNarrowed = Object.keys(filter).length > 0;
  const client = useClient();
  const { data: narrowed } = useQuery({
    queryKey: ['counts', filter],
    queryFn: () => client.countMessages(filter),
    enabled: isNarrowed,
    refetchInterval: NARROWED_MS,
  });
  const shownCount = (state: MessageState) => {
    if (!isNarrowed) return overview && countOf(state, overview);
    return narrowed && `${narrowed.states[state].toLocaleString('en')}${narrowed.isCut ? '+' : ''}`;
  };
  // Some states are rare: their chips are shown only if there are such messages, or if the state is selected.
  const isShown = (state: MessageState) => {
    if (states.includes(state)) return true;
    if (state === 'HELD') return (overview?.held ?? 0) > 0;
    return state !== 'CANCEL_REQUESTED' || (narrowed?.states[state] ?? 0) > 0;
  };
  const toggle = (state: MessageState) =>
    show(
      states.includes(state) ? withoutFilterValue(search, 'state', state) : { ...search, state: [...states, state] },
    );
  return (
    <div className="shrink-0 border-b border-line">
      <div className="flex items-center gap-2 px-4 pt-3 md:px-6">
        <h1 className="sr-only">Messages</h1>
        <SearchBox search={search} onSearch={show} />
        <LiveSwitch feed={feed} />
        <Link
          to="/bulk"
          search={search}
          className="btn hidden @xl:inline-flex"
          title="Retry, cancel or delete all matching messages"
        >
          <Icon name="bulk" className="size-3.5" />
          Bulk
        </Link>
        <Link to="/send" className="btn btn-primary" aria-label="Send">
          <Icon name="send" className="size-3.5" />
          <span className="hidden @xl:inline">Send</span>
        </Link>
      </div>
      <div className="flex gap-1.5 overflow-x-auto px-4 py-2.5 md:px-6">
        <StateChip
          label="All"
          isOn={states.length === 0}
          onClick={() => show(withoutFilterValue({ ...search, state: '' }, 'state', ''))}
        />
        {STATE_NAMES.filter(isShown).map((state) => (
          <StateChip
            key={state}
            label={STATES[state].label}
            dot={STATES[state].dot}
            count={shownCount(state)}
            isOn={states.includes(state)}
            onClick={() => toggle(state)}
          />
        ))}
      </div>
      {chips.length > 0 && (
        <FilterChips chips={chips} search={search} onChange={show} className="px-4 pb-2.5 md:px-6">
          <li>
            <button type="button" className="btn btn-quiet btn-small h-6" onClick={() => show({})}>
              Clear all
            </button>
          </li>
        </FilterChips>
      )}
    </div>
  );
}

/** How many messages are in a state. Undefined if the number is not known exactly. */
function countOf(state: MessageState, overview: Overview): string | undefined {
  const { waiting, scheduled, active, retrying, held, cancelled, all, countedMax } = overview;
  // The list also shows dead letters that were retried.
  const failed = overview.failed + overview.retried;
  const text = (count: number) => countText(count, countedMax);
  switch (state) {
    case 'CREATED':
      return text(waiting + scheduled);
    case 'ACTIVE':
      return text(active);
    case 'RETRY':
      return text(retrying);
    case 'HELD':
      return text(held);
    case 'FAILED':
      return text(failed);
    case 'CANCEL_REQUESTED':
      // Messages in this state are counted among those in flight.
      return undefined;
    case 'CANCELLED':
      return text(cancelled);
    case 'DELIVERED':
      // All messages minus those in the states above. Unknown if the count of all messages has reached its limit.
      return all >= countedMax
        ? undefined
        : text(all - waiting - scheduled - active - retrying - held - failed - cancelled);
  }
}

function StateChip({
  label,
  dot,
  count,
  isOn,
  onClick,
}: {
  readonly label: string;
  readonly dot?: string;
  readonly count?: string | undefined;
  readonly isOn: boolean;
  readonly onClick: () => void;
}) {
  return (
    <button
      type="button"
      aria-pressed={isOn}
      onClick={onClick}
      className={`inline-flex h-7 shrink-0 items-center gap-1.5 rounded-full border px-2.5 text-xs font-medium ${isOn ? 'border-ink-3 bg-hover text-ink' : 'border-line text-ink-2 hover:border-line-strong hover:text-ink'}`}
    >
      {dot !== undefined && <span className={`size-2 rounded-full ${dot}`} />}
      {label}
      {count !== undefined && <span className="num text-ink-3">{count}</span>}
    </button>
  );
}

function SearchBox({ search, onSearch }: { readonly search: Search; readonly onSearch: (search: Search) => void }) {
  const given = textOf(search.text);
  const [typed, setTyped] = useState(given);
  useEffect(() => setTyped(given), [given]);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const { text: _text, ...rest } = search;
    const found = parseBox(typed);
    if ('text' in found) setTyped(textOf(found.text));
    else setTyped('');
    onSearch({ ...rest, ...found });
  };
  return (
    <form role="search" onSubmit={submit} className="relative min-w-0 grow">
      <Icon name="search" className="pointer-events-none absolute top-2 left-2.5 size-4 text-ink-3" />
      <input
        id="search"
        type="search"
        className="input pl-8"
        placeholder="Id, URL, queue, topic, label or body text"
        aria-label="Search messages"
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
        onKeyDown={(event) => event.key === 'Escape' && event.currentTarget.blur()}
      />
      <kbd className="pointer-events-none absolute top-2 right-3 hidden font-sans text-xs text-ink-3 @xl:block">/</kbd>
    </form>
  );
}

/** The text of the live switch: short for a narrow page, and in full. */
function liveWords({ live, heardAt }: FeedState): readonly [short: string, full: string, help: string] {
  switch (live) {
    case 'paused':
      return ['Paused', 'Paused', 'Nothing changes until you resume'];
    case 'live':
      return ['Live', 'Live', 'New messages and attempts appear as they happen'];
    case 'connecting':
      return ['Connecting', 'Connecting', 'Connecting to the live stream'];
    case 'offline':
      return ['Offline', 'Offline', `The service does not respond. Last response at ${clockTime(heardAt)}`];
    case 'stale':
      return [
        'Not live',
        `Not live since ${clockTime(heardAt)}`,
        'No data from the service. The list continues automatically when the service responds',
      ];
  }
}

function LiveSwitch({ feed }: { readonly feed: MessageFeed }) {
  const state = useSyncExternalStore(feed.subscribe, () => feed.state);
  const isPaused = state.live === 'paused';
  const isLost = state.live === 'stale' || state.live === 'offline';
  const [short, full, help] = liveWords(state);
  return (
    <>
      <span role="status" className="sr-only">
        {isLost && full}
      </span>
      <button
        type="button"
        className="btn"
        aria-label={isPaused ? 'Resume live updates' : 'Pause live updates'}
        title={help}
        onClick={() => (isPaused ? feed.resume() : feed.pause())}
      >
        {isPaused ? (
          <Icon name="play" className="size-3.5" />
        ) : (
          <span
            className={`size-2 rounded-full ${state.live === 'live' ? 'bg-delivered' : isLost ? 'bg-failed' : 'bg-retrying'}`}
          />
        )}
        {/* A narrow page shows the text only if something is wrong. */}
        {(!isLost || short !== full) && <span className="hidden @xl:inline">{full}</span>}
        {isLost && <span className={`whitespace-nowrap ${short === full ? '' : '@xl:hidden'}`}>{short}</span>}
      </button>
    </>
  );
}
