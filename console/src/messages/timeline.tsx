// The life of a message, from top to bottom: accepted, delayed, attempts with their responses, the waits between them,
// its changes, its expiry, the end, and the messages it led to.

import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { Attempt, ChangedName, Message, MessageEvent, MessageWithAttempts } from 'postrider-sdk';
import { Fragment, type ReactNode } from 'react';
import { useClient } from '../base/session.ts';
import { Payload } from '../parts/payload.tsx';
import { ProblemNotice } from '../ui/page.tsx';
import { isOpen, STATES, StateLabel, StatusCode } from '../ui/state.tsx';
import { Clock, durationText, exactTime, useNow } from '../ui/time.tsx';

/** The timeline shows that a message was delayed on request only if the delay was longer than this. */
const DELAY_SHOWN_MS = 500;

export function Timeline({ message }: { readonly message: MessageWithAttempts }) {
  const { data: page, error } = useJournal(message);
  return (
    <ol className="relative">
      <Entry dot="bg-ink-3" title="Accepted" at={message.createdAt}>
        {message.callerIp !== undefined && <>from {message.callerIp}</>}
      </Entry>
      {error && !page && <ProblemNotice error={error} />}
      {page?.cursor !== undefined && <Entry dot="text-line-strong" isHollow title="Earlier changes are not shown" />}
      {happenings(message, page?.events ?? []).map(({ key, entry }) => (
        <Fragment key={key}>{entry}</Fragment>
      ))}
      <Now message={message} />
      <Expiry message={message} />
      <End message={message} />
      <LedTo message={message} />
    </ol>
  );
}

function Entry({
  dot,
  title,
  at,
  isHollow = false,
  children,
}: {
  readonly dot: string;
  readonly title: ReactNode;
  readonly at?: number;
  readonly isHollow?: boolean;
  readonly children?: ReactNode;
}) {
  return (
    <li className="relative pb-4 pl-6 before:absolute before:top-3 before:bottom-[-4px] before:left-[4.5px] before:w-px before:bg-line-strong last:pb-0 last:before:hidden">
      <span
        className={`absolute top-[5px] left-0 size-2.5 rounded-full ring-4 ring-bg ${isHollow ? 'border-2 border-current bg-bg' : ''} ${dot}`}
      />
      <div className="flex items-baseline gap-3">
        <div className="min-w-0 grow text-sm font-medium">{title}</div>
        {at !== undefined && (
          <span className="shrink-0 text-xs text-ink-3">
            <Clock at={at} />
          </span>
        )}
      </div>
      {children && <div className="text-xs break-words text-ink-2">{children}</div>}
    </li>
  );
}

/** What neither the message nor its attempts show: the newest changes, and the outages of its host. */
function useJournal(message: MessageWithAttempts) {
  const client = useClient();
  return useQuery({
    queryKey: ['journal', message.messageId],
    queryFn: () =>
      client.listEvents({ messageIds: [message.messageId], state: ['UPDATED', 'PARKED', 'RESUMED'], count: 50 }),
    refetchInterval: isOpen(message) ? 2000 : 5000,
  });
}

/** The attempts and what happened beside them, the earliest first. The delay comes before the first attempt in any case. */
function happenings(message: MessageWithAttempts, events: readonly MessageEvent[]) {
  const { attempts, notBefore, createdAt } = message;
  const delay = {
    at: Math.min(notBefore, attempts[0]?.startedAt ?? notBefore),
    key: 'delay',
    entry: (
      <Entry dot="bg-waiting" title={`Delayed for ${durationText(notBefore - createdAt)}`} at={notBefore}>
        not before {exactTime(notBefore)}
      </Entry>
    ),
  };
  const ofAttempts = attempts.map((attempt, index) => ({
    at: attempt.startedAt,
    key: `attempt ${attempt.number}`,
    entry: <AttemptEntry attempt={attempt} last={attempts[index - 1]} message={message} />,
  }));
  const ofEvents = events.toReversed().map((event, index) => ({
    at: event.time,
    key: `${event.state} ${event.time} ${index}`,
    entry: <EventEntry event={event} />,
  }));
  const isDelayed = notBefore - createdAt > DELAY_SHOWN_MS;
  return [...(isDelayed ? [delay] : []), ...ofAttempts, ...ofEvents].toSorted((one, other) => one.at - other.at);
}

const CHANGED: Readonly<Record<ChangedName, string>> = {
  nextDeliveryTime: 'time',
  url: 'URL',
  body: 'body',
  header: 'headers',
  method: 'method',
  maxRetries: 'retries',
  retryDelayExpression: 'retry delay',
  timeoutMs: 'timeout',
  callback: 'callback',
  failureCallback: 'failure callback',
  labels: 'labels',
  redactFields: 'redaction',
  retryJitter: 'retry jitter',
  priority: 'priority',
  expiresAt: 'expiry',
  debounced: 'publishes merged',
  outage: 'outage',
  awaitAck: 'time for the ack',
};

function EventEntry({ event: { state, time, changed = [] } }: { readonly event: MessageEvent }) {
  if (state === 'PARKED') {
    return (
      <Entry dot="bg-retrying" title="Host parked" at={time}>
        what parks waits until the host is back
      </Entry>
    );
  }
  if (state === 'RESUMED') {
    return (
      <Entry dot="bg-delivered" title="Host resumed" at={time}>
        what waited starts again, in growing steps
      </Entry>
    );
  }
  const isMerged = changed.includes('debounced');
  return (
    <Entry dot="bg-accent" title={isMerged ? 'Replaced by a newer publish' : 'Changed'} at={time}>
      {changed
        .filter((name) => name !== 'debounced')
        .map((name) => CHANGED[name] ?? name)
        .join(', ')}
    </Entry>
  );
}

const OUTCOMES: Readonly<Record<Attempt['outcome'], string>> = {
  answered: 'responded',
  rejected: 'the receiver reported a failure',
  noAck: 'no ack in time',
  unreachable: 'not reachable',
  timedOut: 'timed out',
  refusedByPolicy: 'refused by policy',
  interrupted: 'interrupted',
};

function isSuccess({ outcome, responseStatus }: Attempt): boolean {
  return outcome === 'answered' && responseStatus !== undefined && responseStatus >= 200 && responseStatus < 300;
}

function AttemptEntry({
  attempt,
  last,
  message,
}: {
  readonly attempt: Attempt;
  readonly last: Attempt | undefined;
  readonly message: MessageWithAttempts;
}) {
  const tookMs = attempt.endedAt - attempt.startedAt;
  const hasAnswer = attempt.responseStatus !== undefined;
  return (
    <>
      {last && (
        <Entry
          dot="text-line-strong"
          isHollow
          title={
            <span className="text-xs font-normal text-ink-3">
              waited {durationText(attempt.startedAt - last.endedAt)}
            </span>
          }
        />
      )}
      <Entry
        dot={isSuccess(attempt) ? 'bg-delivered' : 'bg-failed'}
        at={attempt.startedAt}
        title={
          <span className="flex flex-wrap items-baseline gap-x-2">
            <span>Attempt {attempt.number}</span>
            {hasAnswer ? (
              <StatusCode status={attempt.responseStatus} />
            ) : (
              <span className="text-xs text-failed">{OUTCOMES[attempt.outcome]}</span>
            )}
            {attempt.outcome !== 'interrupted' && (
              <span className="num text-xs font-normal text-ink-3">{tookMs.toLocaleString('en')} ms</span>
            )}
          </span>
        }
      >
        {attempt.error}
        {hasAnswer && (
          <details className="mt-1">
            <summary className="w-fit text-ink-3 hover:text-ink">Response</summary>
            <div className="mt-2">
              <Payload
                header={attempt.responseHeader}
                body={attempt.responseBody}
                bodyBase64={attempt.responseBodyBase64}
                isCut={attempt.isResponseBodyCut ?? false}
                name={`${message.messageId}-answer-${attempt.number}`}
                nothing="The response had no body."
              />
            </div>
          </details>
        )}
      </Entry>
    </>
  );
}

/** What an open message does at this moment. */
function Now({ message }: { readonly message: MessageWithAttempts }) {
  const now = useNow();
  if (!isOpen(message)) return null;
  const { dot } = STATES[message.state];
  if (message.state === 'ACTIVE') {
    return <Entry dot={`${dot} breathe`} title={`Attempt ${message.attempts.length + 1} is in flight`} />;
  }
  if (message.state === 'CANCEL_REQUESTED') {
    return (
      <Entry dot={`${dot} breathe`} title="Being cancelled">
        Attempt {message.attempts.length + 1} was claimed before the cancel. No other attempt follows.
      </Entry>
    );
  }
  if (message.state === 'HELD') {
    const at = message.heldAt !== undefined && { at: message.heldAt };
    return (
      <Entry dot={dot} title={<span className="text-held">Held</span>} {...at}>
        {message.heldReason}
      </Entry>
    );
  }
  const next = message.nextDeliveryTime;
  const last = message.attempts.at(-1);
  if (next === undefined || next <= now) return <Entry dot={`${dot} breathe`} title="Waiting for its turn" />;
  const from = last?.endedAt ?? message.createdAt;
  const share = Math.min(1, Math.max(0, (now - from) / Math.max(1, next - from)));
  return (
    <Entry
      dot={dot}
      isHollow={false}
      at={next}
      title={
        last
          ? `Attempt ${message.attempts.length + 1} in ${durationText(next - now)}`
          : `First attempt in ${durationText(next - now)}`
      }
    >
      <div
        className="mt-1.5 h-1 overflow-hidden rounded-full bg-sunken"
        role="progressbar"
        aria-label="Wait before the next attempt"
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={Math.round(share * 100)}
      >
        <div className={`h-full ${dot}`} style={{ width: `${share * 100}%` }} />
      </div>
    </Entry>
  );
}

/** When an open message expires. An attempt that is in flight then runs to its end. */
function Expiry({ message }: { readonly message: MessageWithAttempts }) {
  const now = useNow();
  const { expiresAt } = message;
  if (!isOpen(message) || expiresAt === undefined) return null;
  return (
    <Entry
      dot="text-line-strong"
      isHollow
      title={
        <span className="text-xs font-normal text-ink-3">
          {expiresAt > now ? `Expires in ${durationText(expiresAt - now)}` : 'Expired'}
        </span>
      }
      at={expiresAt}
    >
      no attempt starts after {exactTime(expiresAt)}
    </Entry>
  );
}

function End({ message }: { readonly message: MessageWithAttempts }) {
  const { state, endedAt } = message;
  if (endedAt === undefined) return null;
  const at = { at: endedAt };
  if (state === 'DELIVERED') {
    return (
      <Entry dot="bg-delivered" title={<span className="text-delivered">Delivered</span>} {...at}>
        {durationText(endedAt - message.createdAt)} after it was accepted
      </Entry>
    );
  }
  if (state === 'CANCELLED') return <Entry dot="bg-cancelled" title="Cancelled" {...at} />;
  return (
    <Entry dot="bg-failed" title={<span className="text-failed">Failed: kept as a dead letter</span>} {...at}>
      {message.failure}
    </Entry>
  );
}

/** The messages to which this message led: callbacks, and the retry of a dead letter. */
function LedTo({ message }: { readonly message: MessageWithAttempts }) {
  const client = useClient();
  const { data, error } = useQuery({
    queryKey: ['led-to', message.messageId],
    queryFn: () => client.listMessages({ sourceMessageId: [message.messageId], order: 'oldestFirst', count: 50 }),
    refetchInterval: isOpen(message) ? 2000 : 5000,
  });
  if (error && !data) return <ProblemNotice error={error} />;
  const all = data?.messages ?? [];
  if (all.length === 0) return null;
  return (
    <Entry dot="bg-accent" title="Resulting messages">
      <ul className="mt-1.5 space-y-1">
        {all.map((each) => (
          <li key={each.messageId}>
            <Link
              to="/messages/$messageId"
              params={{ messageId: each.messageId }}
              className="flex items-center gap-3 rounded-md border border-line px-2.5 py-1.5 hover:bg-hover"
            >
              <StateLabel state={each.state} />
              <span className="min-w-0 grow truncate text-ink-2">
                {roleOf(each, message)} <span className="mono text-ink-3">{each.url}</span>
              </span>
              <StatusCode status={each.responseStatus} />
            </Link>
          </li>
        ))}
      </ul>
    </Entry>
  );
}

function roleOf(led: Message, source: Message): string {
  if (led.url === source.callback) return 'callback';
  if (led.url === source.failureCallback) return 'failure callback';
  return 'retry';
}
