// Queues: how many messages each has, how much of its parallelism is used, and why it is not moving.

import { useQuery } from '@tanstack/react-query';
import { Link, useSearch } from '@tanstack/react-router';
import { calls, type Overview, type Queue } from 'postrider-sdk';
import { useEffect, useRef, useState } from 'react';
import { useOverview } from '../base/overview-query.ts';
import { type Search, textOf } from '../base/search.ts';
import { useClient } from '../base/session.ts';
import { ActionButton } from '../ui/action.tsx';
import { useExampleUrl } from '../ui/command.tsx';
import { ConfirmButton } from '../ui/confirm.tsx';
import { countWithNoun, shownCount } from '../ui/count.ts';
import { EmptyState } from '../ui/empty-state.tsx';
import { PageBody, PageHead, ResponseState } from '../ui/page.tsx';
import { Segments } from '../ui/segments.tsx';
import { FlowKeys } from './flow-keys.tsx';
import { QueueSettings } from './queue-settings.tsx';
import { QueueWhy } from './queue-why.tsx';

export function QueuesScreen() {
  const client = useClient();
  const named = textOf((useSearch({ strict: false }) as Search).queue);
  const { data: queues, error } = useQuery({
    queryKey: ['queues'],
    queryFn: () => client.listQueues(),
    refetchInterval: 2000,
  });
  const { data: overview, error: countsError } = useOverview(2000);
  const urlOf = useExampleUrl();
  return (
    <>
      <PageHead title="Queues" />
      <PageBody>
        <ResponseState data={queues} error={error ?? countsError} />
        {queues?.length === 0 && (
          <EmptyState
            title="Deliver in order"
            call={calls.enqueue('orders', {
              destination: urlOf('hook'),
              contentType: 'application/json',
              body: '{"order":1}',
            })}
          >
            <p>
              A queue delivers in order: each message starts when the one before it has ended. The first message to a
              queue creates it.
            </p>
          </EmptyState>
        )}
        <ul className="space-y-3">
          {queues?.map((queue) => (
            <li key={queue.name}>
              <QueueCard queue={queue} overview={overview} isNamed={queue.name === named} />
            </li>
          ))}
        </ul>
        <FlowKeys />
      </PageBody>
    </>
  );
}

function QueueCard({
  queue,
  overview,
  isNamed,
}: {
  readonly queue: Queue;
  readonly overview: Overview | undefined;
  readonly isNamed: boolean;
}) {
  const { name, paused, lag, parallelism } = queue;
  const open = countWithNoun(lag, 'open message', queue.isLagCut);
  const card = useRef<HTMLElement>(null);
  const [isAsking, setIsAsking] = useState(isNamed);
  useEffect(() => {
    if (isNamed) card.current?.scrollIntoView({ block: 'center' });
  }, [isNamed]);
  const counts = overview?.queues.find((each) => each.name === name);
  return (
    <article ref={card} className={`card ${isNamed ? 'border-accent' : ''}`} aria-label={`Queue ${name}`}>
      <div className="flex flex-wrap items-center gap-x-4 gap-y-3 px-4 py-3">
        <div className="min-w-40 grow basis-0">
          <p className="flex items-center gap-2 text-base font-medium">
            <Link to="/messages" search={{ queueName: name }} className="break-all hover:underline">
              {name}
            </Link>
            {paused && <span className="chip border-transparent bg-retrying-soft text-retrying">paused</span>}
          </p>
          <p className="num text-xs text-ink-3">{lag === 0 ? 'empty' : open}</p>
        </div>
        <div className="w-full sm:w-64">
          {overview && (
            <Segments
              nothing="Nothing waits"
              parts={[
                { label: 'in flight', count: counts?.active ?? 0, tone: 'bg-active' },
                { label: 'retrying', count: counts?.retrying ?? 0, tone: 'bg-retrying' },
                { label: 'held', count: counts?.held ?? 0, tone: 'bg-held' },
                { label: 'waiting', count: counts?.waiting ?? 0, tone: 'bg-waiting' },
                { label: 'scheduled', count: counts?.scheduled ?? 0, tone: 'bg-line-strong' },
              ]}
            />
          )}
        </div>
        <Parallelism queue={queue} used={overview && (counts?.placesTaken ?? 0)} />
        <div className="flex flex-wrap gap-2">
          <button
            type="button"
            className="btn"
            aria-expanded={isAsking}
            disabled={lag === 0}
            onClick={() => setIsAsking(!isAsking)}
          >
            Why is it waiting?
          </button>
          <QueueSettings queue={queue} />
          <PauseAndPurge queue={queue} />
        </div>
      </div>
      {isAsking && lag > 0 && <QueueWhy queue={queue} />}
      <span className="sr-only">{parallelism} at once</span>
    </article>
  );
}

function PauseAndPurge({ queue }: { readonly queue: Queue }) {
  const { name, paused, lag } = queue;
  const open = shownCount(lag, queue.isLagCut);
  return (
    <>
      {paused ? (
        <ActionButton
          call={calls.resumeQueue(name)}
          icon="play"
          className="btn btn-primary"
          done={`Queue “${name}” is resumed`}
        >
          Resume
        </ActionButton>
      ) : (
        <ActionButton call={calls.pauseQueue(name)} icon="pause" done={`Queue “${name}” is paused`}>
          Pause
        </ActionButton>
      )}
      <ConfirmButton
        title={lag === 0 ? `Delete queue “${name}”?` : `Purge queue “${name}”?`}
        verb={lag === 0 ? 'Delete the queue' : `Cancel ${open} and delete`}
        typed={name}
        call={calls.deleteQueue(name, { force: lag > 0 })}
        icon="trash"
        label={`Purge ${name}`}
        done={`Queue “${name}” is deleted`}
      >
        <p>
          {lag === 0
            ? 'The queue is empty. The next message to it creates it again, with a parallelism of 1.'
            : `This cancels ${countWithNoun(lag, 'open message', queue.isLagCut)} and deletes the queue.`}
        </p>
      </ConfirmButton>
    </>
  );
}

/** How many messages hold a place in the queue, and how many may hold one. This limit can be changed here. */
function Parallelism({ queue, used }: { readonly queue: Queue; readonly used: number | undefined }) {
  const [text, setText] = useState<string | null>(null);
  const value = text ?? String(queue.parallelism);
  const isChanged = text !== null && text !== String(queue.parallelism);
  return (
    <div className="flex items-center gap-2 text-xs text-ink-3">
      <span className="num" title="Messages at once">
        {used ?? '–'} of
      </span>
      <input
        type="number"
        min={1}
        className="input num h-7 w-16"
        aria-label={`Parallelism of ${queue.name}`}
        value={value}
        onChange={(event) => setText(event.target.value)}
      />
      {isChanged ? (
        <ActionButton
          call={() => calls.saveQueue({ queueName: queue.name, parallelism: Number(value) })}
          className="btn btn-small btn-primary"
          isDisabled={!/^[1-9]\d*$/.test(value)}
          done={`Up to ${value} at once in “${queue.name}”`}
          onDone={() => setText(null)}
        >
          Set
        </ActionButton>
      ) : (
        <span>at once</span>
      )}
      {queue.expires !== undefined && (
        <span className="num" title="How long after it is due a message without an expiry of its own may start">
          expire after {queue.expires}
        </span>
      )}
      {queue.priority !== undefined && (
        <span className="num" title="The priority of its messages, before those of other queues and of no queue">
          priority {queue.priority}
        </span>
      )}
      {queue.outage !== undefined && (
        <span title="What messages that say nothing themselves do while their host is down">
          outage: {queue.outage}
        </span>
      )}
    </div>
  );
}
