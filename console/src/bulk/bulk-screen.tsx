// Bulk operations: a filter, how many messages match, the action and its speed, and then a progress bar. The filter is
// in the address and the service does the work, so both survive a reload.

import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { calls, type JobAction, type MessageFilter } from 'postrider-sdk';
import { type FormEvent, useState } from 'react';
import { type Search, textOf } from '../base/search.ts';
import { useClient, useHasScope } from '../base/session.ts';
import { chipsOf, filterFromSearch, parseBox } from '../parts/filter.ts';
import { FilterChips } from '../parts/filter-chips.tsx';
import { problemText } from '../ui/action.tsx';
import { ConfirmButton } from '../ui/confirm.tsx';
import { shownCount } from '../ui/count.ts';
import { PageBody, PageHead, Section } from '../ui/page.tsx';
import { JobList } from './job-list.tsx';

const ACTIONS: readonly {
  readonly action: JobAction;
  readonly label: string;
  readonly help: string;
  readonly verb: string;
}[] = [
  { action: 'retry', label: 'Retry', help: 'Dead letters are sent again, each as a new message.', verb: 'Retry' },
  { action: 'cancel', label: 'Cancel', help: 'Open messages end without another attempt.', verb: 'Cancel' },
  {
    action: 'delete',
    label: 'Delete',
    help: 'Dead letters are deleted permanently, with their bodies and attempts.',
    verb: 'Delete',
  },
];

export function BulkScreen() {
  return (
    <>
      <PageHead title="Bulk operations" />
      <PageBody>
        <Starter />
        <JobList />
      </PageBody>
    </>
  );
}

function Starter() {
  const search = useSearch({ strict: false }) as Search;
  const navigate = useNavigate();
  const may = useHasScope('manage');
  const { state: _states, ...given } = search;
  const action = ACTIONS.find((each) => each.action === search.action) ?? ACTIONS[0]!;
  const [perSecond, setPerSecond] = useState(100);
  const show = (next: Search) => void navigate({ to: '/bulk', search: next, replace: true });
  const { action: _action, ...rest } = given;
  const filter = filterFromSearch(rest);
  const isAll = Object.keys(filter).length === 0;
  const meant: MessageFilter | { readonly all: 'true' } = isAll ? { all: 'true' } : filter;
  const count = useCount(action.action, meant, may);
  const matched = count.data?.matched;
  const shown = matched === undefined ? '' : shownCount(matched, count.data?.isMatchedCut);
  return (
    <Section title="New operation">
      <div className="card space-y-5 p-4">
        <fieldset>
          <legend className="label">Action</legend>
          <div className="flex rounded-md border border-line-strong p-0.5 sm:w-96">
            {ACTIONS.map((each) => (
              <button
                key={each.action}
                type="button"
                aria-pressed={each.action === action.action}
                className="h-7 grow rounded text-sm font-medium text-ink-2 aria-pressed:bg-line aria-pressed:text-ink"
                onClick={() => show({ ...rest, action: each.action })}
              >
                {each.label}
              </button>
            ))}
          </div>
          <p className="mt-1 text-xs text-ink-3">{action.help}</p>
        </fieldset>
        <FilterEditor search={rest} onChange={(next) => show({ ...next, action: action.action })} />
        <Pace perSecond={perSecond} onChange={setPerSecond} />
        <div className="flex flex-wrap items-center gap-4 border-t border-line pt-4">
          <Matched count={count} isAll={isAll} />
          <ConfirmButton
            title={`${action.verb} ${shown} ${matched === 1 ? 'message' : 'messages'}?`}
            verb={`${action.verb} ${shown}`}
            {...(action.action !== 'retry' && { typed: String(matched ?? 0) })}
            isDanger={action.action !== 'retry'}
            call={calls.startBulk(action.action, meant, perSecond)}
            className="btn btn-primary"
            button={`${action.verb}…`}
            isDisabled={!matched}
            done="Started. It continues if you leave this page"
          >
            <p>{action.help}</p>
            {count.data?.isMatchedCut && (
              <p>There are more messages than could be counted. The operation includes all of them.</p>
            )}
            <p>
              New messages are not affected. You can stop the operation at any time. Finished changes are not undone.
            </p>
          </ConfirmButton>
        </div>
      </div>
    </Section>
  );
}

function Pace({ perSecond, onChange }: { readonly perSecond: number; readonly onChange: (perSecond: number) => void }) {
  return (
    <label className="block">
      <span className="label">Maximum per second</span>
      <span className="flex items-center gap-3">
        <input
          type="range"
          min={1}
          max={1000}
          value={perSecond}
          onChange={(event) => onChange(Number(event.target.value))}
          className="w-56 accent-accent"
        />
        <span className="num w-16 text-sm">{perSecond}/s</span>
      </span>
    </label>
  );
}

/** How many messages match, or why that is unknown. */
function Matched({ count, isAll }: { readonly count: ReturnType<typeof useCount>; readonly isAll: boolean }) {
  const may = useHasScope('manage');
  const matched = count.data?.matched;
  const shown = matched === undefined ? '' : shownCount(matched, count.data?.isMatchedCut);
  return (
    <p className="grow text-sm">
      {count.error ? (
        <span className="text-failed">{problemText(count.error)}</span>
      ) : matched === undefined ? (
        <span className="text-ink-3">{may ? 'Counting…' : 'Counting needs a token with the scope “manage”.'}</span>
      ) : (
        <>
          <strong className="num text-2xl leading-8 font-semibold tracking-tight">{shown}</strong>{' '}
          {matched === 1 ? 'message matches' : 'messages match'}
          {isAll && matched > 0 && <span className="text-retrying">: all of them</span>}
        </>
      )}
    </p>
  );
}

function useCount(action: JobAction, filter: MessageFilter | { readonly all: 'true' }, isEnabled: boolean) {
  const client = useClient();
  return useQuery({
    queryKey: ['bulk-count', action, filter],
    queryFn: () => client.countBulk(action, filter),
    enabled: isEnabled,
    refetchInterval: 3000,
    retry: false,
  });
}

function FilterEditor({ search, onChange }: { readonly search: Search; readonly onChange: (search: Search) => void }) {
  const [typed, setTyped] = useState('');
  const text = textOf(search.text);
  const chips = [...chipsOf(search), ...(text === '' ? [] : [{ name: 'text', value: text, label: 'text' }])];
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (typed.trim() !== '') onChange({ ...search, ...parseBox(typed) });
    setTyped('');
  };
  return (
    <form onSubmit={submit}>
      <label className="label" htmlFor="bulk-filter">
        For messages that match
      </label>
      <div className="flex gap-2">
        <input
          id="bulk-filter"
          className="input"
          placeholder="host:api.example.com  status:503  queue:orders  label:invoice  any text"
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
        />
        <button type="submit" className="btn">
          Add
        </button>
      </div>
      <FilterChips chips={chips} search={search} onChange={onChange} className="mt-2">
        {chips.length === 0 && <li className="text-xs text-ink-3">No filter: all messages.</li>}
      </FilterChips>
    </form>
  );
}
