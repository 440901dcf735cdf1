// The results of a topic's last deliveries, in total and for each endpoint.

import { useQuery } from '@tanstack/react-query';
import type { Message } from 'postrider-sdk';
import { useClient } from '../base/session.ts';
import { ResponseState } from '../ui/page.tsx';

const LOOKED_AT = 200;

interface Health {
  readonly delivered: number;
  readonly failed: number;
  /** Messages that have not ended yet. */
  readonly open: number;
}

const NONE: Health = { delivered: 0, failed: 0, open: 0 };

export function useTopicHealth(topicName: string) {
  const client = useClient();
  return useQuery({
    queryKey: ['topic-health', topicName],
    queryFn: async () => {
      const { messages } = await client.listMessages({ topicName: [topicName], count: LOOKED_AT });
      const byUrl = new Map<string, Health>();
      for (const message of messages) byUrl.set(message.url, withOne(byUrl.get(message.url) ?? NONE, message));
      return { all: messages.reduce(withOne, NONE), byUrl };
    },
    refetchInterval: 3000,
  });
}

export type TopicHealth = ReturnType<typeof useTopicHealth>;

function withOne(health: Health, { state }: Message): Health {
  if (state === 'DELIVERED') return { ...health, delivered: health.delivered + 1 };
  if (state === 'FAILED') return { ...health, failed: health.failed + 1 };
  return state === 'CANCELLED' ? health : { ...health, open: health.open + 1 };
}

/** The results of one endpoint, or of the whole topic. */
export function HealthBar({ results, url }: { readonly results: TopicHealth; readonly url?: string }) {
  const { data, error } = results;
  if (!data) return <ResponseState data={data} error={error} isSmall />;
  const { delivered, failed, open } = (url === undefined ? data.all : data.byUrl.get(url)) ?? NONE;
  const total = delivered + failed + open;
  if (total === 0) return <span className="text-xs text-ink-3">nothing sent lately</span>;
  const parts = [
    ['bg-delivered', delivered, 'delivered'],
    ['bg-waiting', open, 'on the way'],
    ['bg-failed', failed, 'failed'],
  ] as const;
  const words = parts
    .filter(([, count]) => count > 0)
    .map(([, count, word]) => `${count} ${word}`)
    .join(', ');
  return (
    <div className="w-36 shrink-0" title={`Of the last ${total}: ${words}`}>
      <div className="flex h-1.5 gap-px overflow-hidden rounded-full bg-sunken">
        {parts.map(
          ([tone, count, word]) => count > 0 && <span key={word} className={tone} style={{ flexGrow: count }} />,
        )}
      </div>
      <p className="num mt-1 text-2xs text-ink-3">{words}</p>
    </div>
  );
}
