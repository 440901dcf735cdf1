// Send: build a request by hand, see it as a command or as program code, and watch the result.

import { Tabs } from '@base-ui/react/tabs';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { PostriderError, type Published } from 'postrider-sdk';
import { useEffect, useState } from 'react';
import { API_URL } from '../base/address.ts';
import { type Search, textOf } from '../base/search.ts';
import { tokenForExamples, useClient, useHasScope, useSession } from '../base/session.ts';
import { CronPreview } from '../parts/cron-preview.tsx';
import { HeaderRows } from '../parts/header-rows.tsx';
import { sizeText } from '../parts/payload.tsx';
import {
  bodyAfterEdit,
  callOf,
  type Draft,
  draftOf,
  missingFields,
  type PublishResponse,
} from '../parts/publish-again.ts';
import { TestResult } from '../parts/test-result.tsx';
import { TickSettings } from '../parts/tick-settings.tsx';
import { missingScopeText, useAction, useCurl } from '../ui/action.tsx';
import { Code } from '../ui/code.tsx';
import { TokenHint } from '../ui/command.tsx';
import { countWithNoun } from '../ui/count.ts';
import { Icon } from '../ui/icon.tsx';
import { PageBody, PageHead, ProblemNotice, ResponseState } from '../ui/page.tsx';
import { pythonSnippet, typescriptSnippet } from './snippets.ts';

const MODES = [
  ['publish', 'Publish', 'Delivered as soon as possible, in parallel with others'],
  ['enqueue', 'Enqueue', 'Delivered in the order of a queue'],
  ['schedule', 'Schedule', 'Delivered at each time of a cron expression, or at equal intervals'],
] as const;

export function SendScreen() {
  const search = useSearch({ strict: false }) as Search;
  const from = textOf(search.from);
  const client = useClient();
  const { service, limits } = useSession().account;
  const { isDev } = service;
  const source = useQuery({
    queryKey: ['message', from],
    queryFn: () => client.getMessage(from),
    enabled: from !== '',
  });
  const fresh: Draft = {
    mode: (MODES.find(([mode]) => mode === search.mode)?.[0] ?? 'publish') as Draft['mode'],
    destination: textOf(search.destination) || (isDev ? `${API_URL}/dev/sink/ok` : ''),
    queue: textOf(search.queue),
    contentType: 'application/json',
    body: '{"hello":"world"}',
    binary: null,
    redacted: [],
    settings: search.mode === 'schedule' ? [['Cron', '*/5 * * * *']] : [],
  };
  if (from !== '' && !source.data) {
    return (
      <PageBody>
        <ResponseState data={source.data} error={source.error} />
      </PageBody>
    );
  }
  return (
    <Builder
      key={`${from} ${JSON.stringify(search)}`}
      initial={source.data ? draftOf(source.data, limits.timeoutMsDefault) : fresh}
    />
  );
}

function Builder({ initial }: { readonly initial: Draft }) {
  const [draft, setDraft] = useState(initial);
  const [sent, setSent] = useState<readonly Published[] | null>(null);
  const [problem, setProblem] = useState<Error | null>(null);
  const navigate = useNavigate();
  const scope = draft.mode === 'schedule' ? 'manage' : 'publish';
  const may = useHasScope(scope);
  const call = callOf(draft);
  const action = useAction<PublishResponse>({
    done: (answer) => ('scheduleId' in answer ? 'The schedule is created' : 'Accepted and stored'),
    onDone: (answer) => {
      setProblem(null);
      if ('scheduleId' in answer) void navigate({ to: '/schedules', search: { schedule: answer.scheduleId } });
      else setSent([answer].flat() as Published[]);
    },
  });
  const put = (some: Partial<Draft>) => setDraft({ ...draft, ...some });
  useEffect(() => {
    if (action.error instanceof PostriderError) setProblem(action.error);
  }, [action.error]);
  return (
    <>
      <PageHead title="Send">
        <button
          type="submit"
          form="send"
          className="btn btn-primary"
          disabled={!may || action.isPending}
          title={may ? undefined : missingScopeText(scope)}
        >
          <Icon name="send" className="size-3.5" />
          {draft.mode === 'schedule' ? 'Create schedule' : 'Send'}
        </button>
      </PageHead>
      <PageBody>
        <div className="grid gap-6 lg:grid-cols-2">
          <Form draft={draft} put={put} onSend={() => action.mutate(call)} />
          <div className="min-w-0 space-y-5">
            <ProblemNotice error={problem} />
            {sent && (
              <section aria-label="Result" className="space-y-2">
                <h2 className="heading">Result</h2>
                <TestResult sent={sent} />
              </section>
            )}
            <Preview draft={draft} />
            <More />
          </div>
        </div>
      </PageBody>
    </>
  );
}

interface Editing {
  readonly draft: Draft;
  readonly put: (some: Partial<Draft>) => void;
}

function settingOf({ settings }: Draft, setting: string): string | undefined {
  return settings.find(([name]) => name.toLowerCase() === setting.toLowerCase())?.[1];
}

/** The settings with this one in its place, or behind the others. An empty value stays until its row is removed. */
function withSetting({ settings }: Draft, setting: string, value: string): Draft['settings'] {
  const at = settings.findIndex(([name]) => name.toLowerCase() === setting.toLowerCase());
  return at === -1 ? [...settings, [setting, value]] : settings.with(at, [setting, value]);
}

const cronOf = (draft: Draft) => settingOf(draft, 'Cron');

function Form({ draft, put, onSend }: Editing & { readonly onSend: () => void }) {
  const cron = cronOf(draft);
  return (
    <form
      id="send"
      className="min-w-0 space-y-5"
      onSubmit={(event) => {
        event.preventDefault();
        onSend();
      }}
    >
      <Modes draft={draft} put={put} />
      {draft.mode === 'enqueue' && (
        <label className="block">
          <span className="label">Queue</span>
          <input
            className="input"
            required
            value={draft.queue}
            onChange={(event) => put({ queue: event.target.value })}
            placeholder="orders"
          />
        </label>
      )}
      <Destinations value={draft.destination} onChange={(destination) => put({ destination })} />
      <Body draft={draft} put={put} />
      <fieldset>
        <legend className="label">Settings</legend>
        <HeaderRows rows={draft.settings} redacted={draft.redacted} onChange={(settings) => put({ settings })} />
      </fieldset>
      {draft.mode === 'schedule' && (
        <TickSettings
          overlap={settingOf(draft, 'Schedule-Overlap') ?? 'allow'}
          jitter={settingOf(draft, 'Schedule-Jitter') ?? ''}
          onOverlap={(overlap) => put({ settings: withSetting(draft, 'Schedule-Overlap', overlap) })}
          onJitter={(jitter) => put({ settings: withSetting(draft, 'Schedule-Jitter', jitter) })}
        />
      )}
      {draft.mode === 'schedule' && cron !== undefined && <CronPreview cron={cron} />}
    </form>
  );
}

function Modes({ draft, put }: Editing) {
  const cron = cronOf(draft);
  return (
    <fieldset>
      <legend className="label">How</legend>
      <div className="flex rounded-md border border-line-strong p-0.5">
        {MODES.map(([mode, label, help]) => (
          <button
            key={mode}
            type="button"
            aria-pressed={draft.mode === mode}
            title={help}
            className="h-7 grow rounded text-sm font-medium text-ink-2 aria-pressed:bg-line aria-pressed:text-ink"
            onClick={() =>
              put({
                mode,
                ...(mode === 'schedule' &&
                  cron === undefined && { settings: [['Cron', '*/5 * * * *'], ...draft.settings] }),
              })
            }
          >
            {label}
          </button>
        ))}
      </div>
    </fieldset>
  );
}

function Body({ draft, put }: Editing) {
  const isHidden = draft.redacted.includes('body');
  const isTypeHidden = draft.redacted.includes('Content-Type');
  return (
    <div className="grid grid-cols-1 gap-2">
      {draft.binary === null ? (
        <label className="block">
          <span className="label">Body</span>
          <textarea
            className="input mono"
            rows={8}
            spellCheck={false}
            required={isHidden}
            placeholder={isHidden ? 'redacted: enter the body' : undefined}
            value={draft.body}
            onChange={(event) => put({ body: bodyAfterEdit(draft.body, event.target.value) })}
          />
        </label>
      ) : (
        <BinaryBody bytes={draft.binary} onReplace={() => put({ binary: null })} />
      )}
      {isHidden && draft.body === '' && (
        <p className="text-xs text-retrying">
          The body is redacted: the service does not show it. Enter it to send the message again.
        </p>
      )}
      <label className="flex items-center gap-2 text-xs text-ink-2">
        <span className="whitespace-nowrap">Content-Type</span>
        <input
          className="input mono h-7"
          required={isTypeHidden}
          placeholder={isTypeHidden ? 'redacted: enter the value' : undefined}
          value={draft.contentType}
          onChange={(event) => put({ contentType: event.target.value })}
        />
      </label>
    </div>
  );
}

function BinaryBody({ bytes, onReplace }: { readonly bytes: Uint8Array; readonly onReplace: () => void }) {
  return (
    <div>
      <p className="label">Body</p>
      <div className="flex items-center gap-3 rounded-md border border-line-strong px-3 py-2 text-sm">
        <span className="grow">Binary, {sizeText(bytes.length)}: it is sent unchanged.</span>
        <button type="button" className="btn btn-small" onClick={onReplace}>
          Write a new body
        </button>
      </div>
    </div>
  );
}

function More() {
  return (
    <p className="text-xs text-ink-3">
      All settings are in the{' '}
      <a className="link" href={`${API_URL}/docs`} target="_blank" rel="noreferrer">
        API documentation
      </a>
      . See the{' '}
      <Link to="/messages" className="link">
        messages
      </Link>
      .
    </p>
  );
}

function Destinations({ value, onChange }: { readonly value: string; readonly onChange: (value: string) => void }) {
  const client = useClient();
  const { data: topics } = useQuery({ queryKey: ['topics'], queryFn: () => client.listTopics() });
  return (
    <label className="block">
      <span className="label">Destination: a URL or a topic</span>
      <input
        className="input mono"
        required
        list="destinations"
        spellCheck={false}
        value={value}
        onChange={(event) => onChange(event.target.value)}
        placeholder="https://example.com/webhook"
      />
      <datalist id="destinations">
        {topics?.map(({ name, endpoints }) => (
          <option key={name} value={name}>
            topic with {countWithNoun(endpoints.length, 'endpoint')}
          </option>
        ))}
      </datalist>
    </label>
  );
}

function Preview({ draft }: { readonly draft: Draft }) {
  const { account } = useSession();
  const { headerPrefix } = account.service;
  const token = tokenForExamples(account);
  const toCurl = useCurl();
  const missing = missingFields(draft);
  if (missing.length > 0) {
    return (
      <p role="status" className="rounded-md border border-line bg-sunken px-3 py-2 text-xs text-ink-2">
        Enter the redacted values to see the command: {missing.join(', ')}.
      </p>
    );
  }
  const call = callOf(draft);
  const shown: readonly [string, string][] = [
    ['cURL', toCurl(call)],
    ['TypeScript', typescriptSnippet(draft, API_URL, headerPrefix, token)],
    ['Python', pythonSnippet(call, API_URL, headerPrefix, token)],
  ];
  return (
    <Tabs.Root defaultValue="cURL">
      <Tabs.List className="mb-2 flex gap-4 border-b border-line" aria-label="The same request as">
        {shown.map(([name]) => (
          <Tabs.Tab
            key={name}
            value={name}
            className="-mb-px h-8 border-b-2 border-transparent text-sm font-medium text-ink-3 hover:text-ink data-[active]:border-ink data-[active]:text-ink"
          >
            {name}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {shown.map(([name, text]) => (
        <Tabs.Panel key={name} value={name}>
          <Code text={text} label={`the request as ${name}`} />
        </Tabs.Panel>
      ))}
      <TokenHint />
    </Tabs.Root>
  );
}
