// One message: its life as a timeline, why it is not delivered yet, request and response, and the possible actions.

import { Tabs } from '@base-ui/react/tabs';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import type { MessageWithAttempts } from 'postrider-sdk';
import { type ReactNode, useEffect, useRef } from 'react';
import { CONSOLE_PATH } from '../base/address.ts';
import type { Search } from '../base/search.ts';
import { useClient } from '../base/session.ts';
import { Payload, RawText } from '../parts/payload.tsx';
import { WhyBox } from '../parts/why-box.tsx';
import { CopyButton } from '../ui/copy.tsx';
import { Icon } from '../ui/icon.tsx';
import { ResponseState } from '../ui/page.tsx';
import { isOpen, StateLabel } from '../ui/state.tsx';
import { AckProgress } from './ack-progress.tsx';
import { MessageActions } from './message-actions.tsx';
import { Timeline } from './timeline.tsx';

const OPEN_REFETCH_MS = 800;

export function MessageDrawer() {
  const { messageId } = useParams({ strict: false }) as { messageId: string };
  const search = useSearch({ strict: false }) as Search;
  const navigate = useNavigate();
  const client = useClient();
  const panel = useRef<HTMLElement>(null);
  const { data: message, error } = useQuery({
    queryKey: ['message', messageId],
    queryFn: () => client.getMessage(messageId),
    refetchInterval: ({ state }) => (state.data && isOpen(state.data) ? OPEN_REFETCH_MS : false),
  });
  const close = () => void navigate({ to: '/messages', search });
  const closing = useRef(close);
  closing.current = close;
  useEffect(() => {
    panel.current?.focus();
    const onKey = (event: KeyboardEvent) => {
      const isInDialog =
        event.target instanceof Element && event.target.closest('[role=dialog]:not([data-drawer]), [role=menu]');
      if (event.key === 'Escape' && !isInDialog) closing.current();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, []);
  return (
    <aside
      ref={panel}
      data-drawer
      tabIndex={-1}
      aria-label="Message"
      className="slide-in fixed inset-0 z-30 flex flex-col overflow-y-auto bg-bg outline-none md:static md:z-auto md:w-[min(40rem,55vw)] md:shrink-0 md:border-l md:border-line"
    >
      <div className="sticky top-0 z-10 flex min-h-14 items-center gap-2 border-b border-line bg-bg px-4 md:px-5">
        <code className="mono min-w-0 truncate text-ink-2" title={messageId}>
          {messageId}
        </code>
        <CopyButton text={messageId} label="id" />
        <span className="grow" />
        <CopyButton text={`${location.origin}${CONSOLE_PATH}messages/${messageId}`} label="link">
          Link
        </CopyButton>
        <button type="button" className="btn btn-quiet btn-icon" aria-label="Close" title="Close (Esc)" onClick={close}>
          <Icon name="close" />
        </button>
      </div>
      <div className="space-y-6 px-4 py-5 md:px-5">
        <ResponseState data={message} error={error} />
        {message && <Details message={message} search={search} />}
      </div>
    </aside>
  );
}

function Details({ message, search }: { readonly message: MessageWithAttempts; readonly search: Search }) {
  const last = message.attempts.at(-1);
  return (
    <>
      <div className="space-y-4">
        <div className="space-y-2">
          <StateLabel state={message.state} isSoft />
          <p className="text-base leading-6 font-medium break-all">
            <span className="mr-2 text-xs font-semibold text-ink-3">{message.method}</span>
            {message.url}
          </p>
          <Facts message={message} search={search} />
        </div>
        <MessageActions message={message} />
      </div>
      {message.ack && <AckProgress ack={message.ack} />}
      {isOpen(message) && <WhyBox messageId={message.messageId} />}
      <section aria-label="Timeline of the message">
        <h2 className="heading mb-3">Timeline</h2>
        <Timeline message={message} />
      </section>
      <Tabs.Root defaultValue="request">
        <Tabs.List className="mb-3 flex gap-4 border-b border-line">
          <TabName value="request">Request</TabName>
          <TabName value="response">Last response</TabName>
          <TabName value="raw">Raw</TabName>
        </Tabs.List>
        <Tabs.Panel value="request">
          <Payload
            header={message.header}
            body={message.body}
            bodyBase64={message.bodyBase64}
            name={`${message.messageId}-body`}
            nothing="The message has no body."
          />
        </Tabs.Panel>
        <Tabs.Panel value="response">
          {last ? (
            <Payload
              header={last.responseHeader}
              body={last.responseBody}
              bodyBase64={last.responseBodyBase64}
              isCut={last.isResponseBodyCut ?? false}
              name={`${message.messageId}-answer`}
              nothing={last.error ?? 'The response had no body.'}
            />
          ) : (
            <p className="text-sm text-ink-3">Nothing was sent yet, so there is no response.</p>
          )}
        </Tabs.Panel>
        <Tabs.Panel value="raw">
          <RawText text={JSON.stringify(message, null, 2)} label="message as JSON" />
        </Tabs.Panel>
      </Tabs.Root>
    </>
  );
}

function TabName({ value, children }: { readonly value: string; readonly children: string }) {
  return (
    <Tabs.Tab
      value={value}
      className="-mb-px h-8 border-b-2 border-transparent text-sm font-medium text-ink-3 hover:text-ink data-[active]:border-ink data-[active]:text-ink"
    >
      {children}
    </Tabs.Tab>
  );
}

function Facts({ message, search }: { readonly message: MessageWithAttempts; readonly search: Search }) {
  const facts: [string, ReactNode][] = [];
  const linked = (label: string, name: string, value: string | undefined) => {
    if (value === undefined) return;
    facts.push([
      label,
      <Link key={label} to="/messages" search={{ [name]: value }} className="link break-all">
        {value}
      </Link>,
    ]);
  };
  linked('queue', 'queueName', message.queueName);
  linked('topic', 'topicName', message.topicName);
  linked('schedule', 'scheduleId', message.scheduleId);
  linked('flow key', 'flowControlKey', message.flowControlKey);
  for (const label of message.labels ?? []) linked('label', 'label', label);
  if (message.endpointName !== undefined) facts.push(['endpoint', message.endpointName]);
  if (message.redactFields !== undefined) facts.push(['redacted', message.redactFields.join(', ')]);
  if (message.orderKey !== undefined) facts.push(['order key', message.orderKey]);
  if (message.priority !== undefined) facts.push(['priority', String(message.priority)]);
  if (message.debounceKey !== undefined) {
    facts.push(['debounce key', message.debounceKey], ['publishes merged', String(message.debounced)]);
  }
  if (message.outage !== undefined) facts.push(['outage', message.outage]);
  if (message.awaitAck !== undefined) facts.push(['awaits acks for', message.awaitAck]);
  const toMessage = (label: string, messageId: string | undefined) => {
    if (messageId === undefined) return;
    facts.push([
      label,
      <Link
        key={label}
        to="/messages/$messageId"
        params={{ messageId }}
        search={search}
        className="link mono break-all"
      >
        {messageId}
      </Link>,
    ]);
  };
  toMessage('created by', message.sourceMessageId);
  toMessage('sent again as', message.retriedAs);
  if (facts.length === 0) return null;
  return (
    <dl className="flex flex-wrap gap-x-4 gap-y-1 text-xs">
      {facts.map(([label, value], index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: two labels may be called alike
        <div key={`${label} ${index}`} className="flex gap-1.5">
          <dt className="text-ink-3">{label}</dt>
          <dd className="min-w-0">{value}</dd>
        </div>
      ))}
    </dl>
  );
}
