// One row of the list. It has two lines, and a click anywhere on it opens the message.

import { Link } from '@tanstack/react-router';
import type { Message } from 'postrider-sdk';
import { memo } from 'react';
import type { Search } from '../base/search.ts';
import { Destination } from '../ui/destination.tsx';
import { StateLabel, StatusCode } from '../ui/state.tsx';
import { Ago, shortDuration, useNow } from '../ui/time.tsx';

export const ROW_HEIGHT = 52;
export const GRID = '@2xl:grid @2xl:grid-cols-[7.5rem_minmax(0,1fr)_minmax(0,11rem)_3.5rem_4rem_4.5rem] @2xl:gap-4';

interface MessageRowProps {
  readonly message: Message;
  readonly index: number;
  readonly top: number;
  readonly isFresh: boolean;
  readonly isOpen: boolean;
  readonly search: Search;
}

export const MessageRow = memo(function MessageRow({ message, index, top, isFresh, isOpen, search }: MessageRowProps) {
  const tone = isOpen ? 'bg-accent-soft' : isFresh ? 'bg-active-soft' : 'hover:bg-hover';
  return (
    <div
      role="row"
      aria-rowindex={index + 2}
      className={`absolute inset-x-0 border-b border-line px-4 transition-colors duration-150 md:px-6 ${tone}`}
      style={{ height: ROW_HEIGHT, transform: `translateY(${top}px)` }}
    >
      <div role="presentation" className={`flex h-full items-center gap-3 ${GRID}`}>
        <span role="cell" className="order-2 shrink-0 text-right @2xl:order-none @2xl:text-left">
          <StateLabel state={message.state} />
          {message.retriedAs !== undefined && <span className="ml-1.5 text-xs text-ink-3">sent again</span>}
          <NextTime message={message} />
          <span className="block text-2xs text-ink-3 @2xl:hidden">
            <Ago at={message.createdAt} isShort />
          </span>
        </span>
        <span role="cell" className="min-w-0 grow">
          <Link
            to="/messages/$messageId"
            params={{ messageId: message.messageId }}
            search={search}
            className="block after:absolute after:inset-0"
            aria-current={isOpen ? 'true' : undefined}
            aria-label={`${message.state.toLowerCase()}: ${message.method} ${message.url}`}
          >
            <Destination url={message.url} method={message.method} />
          </Link>
        </span>
        <span role="cell" className="hidden min-w-0 flex-wrap gap-1 overflow-hidden @2xl:flex @2xl:max-h-11">
          {message.queueName !== undefined && <Chip text={message.queueName} of="queue" />}
          {message.topicName !== undefined && <Chip text={message.topicName} of="topic" />}
          {message.scheduleId !== undefined && <Chip text={message.scheduleId} of="schedule" />}
          {message.labels?.slice(0, 2).map((label) => (
            <Chip key={label} text={label} of="label" />
          ))}
        </span>
        <span
          role="cell"
          className="num hidden text-right text-xs text-ink-2 @2xl:block"
          title={`Retries: ${message.retried} of ${message.maxRetries}`}
        >
          {message.retried}
          <span className="text-ink-3">/{message.maxRetries}</span>
        </span>
        <span role="cell" className="hidden text-right text-xs @2xl:block">
          <StatusCode status={message.responseStatus} />
        </span>
        <span role="cell" className="hidden text-right text-xs text-ink-3 @2xl:block">
          <Ago at={message.createdAt} isShort />
        </span>
      </div>
    </div>
  );
});

/** When the message is due, if it waits for the clock. */
function NextTime({ message }: { readonly message: Message }) {
  const now = useNow();
  const next = message.nextDeliveryTime;
  if (next === undefined || message.state === 'ACTIVE' || next - now < 1000) return null;
  return <span className="num block text-2xs text-ink-3">in {shortDuration(next - now)}</span>;
}

function Chip({ text, of }: { readonly text: string; readonly of: string }) {
  return (
    <span className="chip min-w-0" title={`${of}: ${text}`}>
      <span className="truncate">{text}</span>
    </span>
  );
}
