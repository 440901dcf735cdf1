// Why a message is not delivered yet: in the service's words, with the remaining time.

import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { Why } from 'postrider-sdk';
import { useClient } from '../base/session.ts';
import { ProblemNotice } from '../ui/page.tsx';
import { durationText, exactTime, useNow } from '../ui/time.tsx';

const TITLES: ReadonlyMap<string, string> = new Map([
  ['delayed', 'Not due yet'],
  ['retrying', 'Waiting for the next attempt'],
  ['behind', 'Waiting for its turn'],
  ['queuePaused', 'The queue is paused'],
  ['flowFull', 'The flow key is at its limit'],
  ['flowPaused', 'The flow key is paused'],
  ['interrupted', 'Interrupted by crashes of the server'],
  ['held', 'Held until you decide'],
  ['active', 'Being delivered right now'],
  ['cancelRequested', 'Being cancelled'],
  ['waitingForSlot', 'Waiting for a free slot'],
  ['draining', 'The node is shutting down'],
  ['ended', 'It has ended'],
]);

export function useWhy(messageId: string) {
  const client = useClient();
  return useQuery({
    queryKey: ['why', messageId],
    queryFn: () => client.whyNotDelivered(messageId),
    refetchInterval: 1500,
  });
}

export function WhyBox({ messageId }: { readonly messageId: string }) {
  const { data: why, error } = useWhy(messageId);
  if (error && !why) return <ProblemNotice error={error} />;
  if (!why || why.reason === 'ended') return null;
  return (
    <section aria-label="Why it is not delivered yet" className="rounded-lg border border-line bg-sunken px-4 py-3">
      <h2 className="heading mb-1.5">Why isn’t it delivered yet?</h2>
      <WhyText why={why} />
    </section>
  );
}

export function WhyText({ why }: { readonly why: Why }) {
  const now = useNow();
  const { nextAttemptAt, estimatedAt, behindMessageId } = why;
  return (
    <>
      <p className="text-sm font-medium">
        {TITLES.get(why.reason) ?? why.reason}
        {nextAttemptAt !== undefined && nextAttemptAt > now && (
          <span className="num font-normal text-ink-2" title={exactTime(nextAttemptAt)}>
            {' '}
            · in {durationText(nextAttemptAt - now)}
            {why.isEarliest && ' at the earliest'}
          </span>
        )}
        {nextAttemptAt === undefined && estimatedAt !== undefined && estimatedAt > now && (
          <span className="num font-normal text-ink-2" title={exactTime(estimatedAt)}>
            {' '}
            · in about {durationText(estimatedAt - now)}
          </span>
        )}
      </p>
      <p className="mt-0.5 text-xs break-words text-ink-2">{sentence(why.text)}</p>
      {behindMessageId !== undefined && (
        <Link
          to="/messages/$messageId"
          params={{ messageId: behindMessageId }}
          className="link mt-1 inline-block text-xs"
        >
          Open the message in front
        </Link>
      )}
    </>
  );
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}
