// Why a queue is not moving. The reason of the message at its head is shown, because the other messages wait for it.

import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { Client, Message, Queue, Why } from 'postrider-sdk';
import { useClient } from '../base/session.ts';
import { WhyText } from '../parts/why-box.tsx';
import { Destination } from '../ui/destination.tsx';
import { ResponseState } from '../ui/page.tsx';
import { OPEN_STATES, StateLabel, StatusCode } from '../ui/state.tsx';

/** The first message that does not wait for another message, and what it waits for. */
async function headOf(client: Client, queue: Queue): Promise<{ message: Message; why: Why } | null> {
  let message = await oldestOpen(client, queue);
  if (!message) return null;
  let why = await client.whyNotDelivered(message.messageId);
  if (why.behindMessageId !== undefined) {
    message = await client.getMessage(why.behindMessageId);
    why = await client.whyNotDelivered(message.messageId);
  }
  return { message, why };
}

/** The oldest open message of the queue. The first page may be empty without being the last one. */
async function oldestOpen(client: Client, queue: Queue): Promise<Message | undefined> {
  const filter = {
    queueName: [queue.name],
    state: OPEN_STATES,
    order: 'oldestFirst',
    count: 1,
  } as const;
  for (let cursor: string | undefined; ; ) {
    const page = await client.listMessages({ ...filter, ...(cursor !== undefined && { cursor }) });
    cursor = page.cursor;
    if (page.messages.length > 0 || cursor === undefined) return page.messages[0];
  }
}

export function QueueWhy({ queue }: { readonly queue: Queue }) {
  const client = useClient();
  const { data, error } = useQuery({
    queryKey: ['queue-why', queue.name],
    queryFn: () => headOf(client, queue),
    refetchInterval: 1500,
  });
  return (
    <div className="appear space-y-3 border-t border-line bg-sunken px-4 py-3">
      <ResponseState data={data} error={error} />
      {data === null && <p className="text-sm text-ink-2">All messages of this queue have ended in the meantime.</p>}
      {data && (
        <>
          <div>
            {queue.paused && data.why.reason !== 'queuePaused' && (
              <p className="text-sm font-medium">The queue is paused, and this message is still in flight</p>
            )}
            <WhyText why={data.why} />
          </div>
          <Link
            to="/messages/$messageId"
            params={{ messageId: data.message.messageId }}
            className="flex items-center gap-3 rounded-md border border-line bg-raised px-3 py-2 hover:bg-hover"
          >
            <span className="heading w-12 shrink-0">Head</span>
            <span className="min-w-0 grow">
              <Destination url={data.message.url} method={data.message.method} />
            </span>
            <StatusCode status={data.message.responseStatus} />
            <StateLabel state={data.message.state} />
          </Link>
        </>
      )}
    </div>
  );
}
