// Topics: names for several endpoints, and the results of their deliveries.

import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { calls, type Topic } from 'postrider-sdk';
import { useState } from 'react';
import { useClient } from '../base/session.ts';
import { ActionButton } from '../ui/action.tsx';
import { useExampleUrl } from '../ui/command.tsx';
import { DialogFrame } from '../ui/confirm.tsx';
import { countWithNoun } from '../ui/count.ts';
import { EmptyState } from '../ui/empty-state.tsx';
import { Icon } from '../ui/icon.tsx';
import { PageBody, PageHead, ResponseState } from '../ui/page.tsx';
import { Ago } from '../ui/time.tsx';
import { HealthBar, useTopicHealth } from './health.tsx';

export function TopicsScreen() {
  const client = useClient();
  const [isMaking, setIsMaking] = useState(false);
  const urlOf = useExampleUrl();
  const { data: topics, error } = useQuery({
    queryKey: ['topics'],
    queryFn: () => client.listTopics(),
    refetchInterval: 5000,
  });
  return (
    <>
      <PageHead title="Topics">
        <button type="button" className="btn btn-primary" onClick={() => setIsMaking(true)}>
          <Icon name="plus" className="size-3.5" />
          New topic
        </button>
      </PageHead>
      <PageBody>
        <ResponseState data={topics} error={error} />
        {topics?.length === 0 && (
          <EmptyState
            title="One message, many receivers"
            call={calls.addEndpoints('orders', [{ url: urlOf('a') }, { url: urlOf('b') }])}
          >
            <p>
              A topic is a name for several endpoints. Each endpoint gets its own copy of a message to the topic, with
              its own retries.
            </p>
          </EmptyState>
        )}
        {topics && topics.length > 0 && (
          <ul className="card divide-y divide-line">
            {topics.map((topic) => (
              <TopicRow key={topic.id} topic={topic} />
            ))}
          </ul>
        )}
      </PageBody>
      <NewTopic isOpen={isMaking} onOpenChange={setIsMaking} />
    </>
  );
}

function TopicRow({ topic }: { readonly topic: Topic }) {
  const health = useTopicHealth(topic.name);
  const { endpoints } = topic;
  return (
    <li className="relative flex items-center gap-4 px-4 py-3 hover:bg-hover">
      <div className="min-w-0 grow">
        <Link
          to="/topics/$topicName"
          params={{ topicName: topic.name }}
          className="text-base font-medium after:absolute after:inset-0"
        >
          {topic.name}
        </Link>
        <p className="text-xs text-ink-3">
          {countWithNoun(endpoints.length, 'endpoint')} · changed <Ago at={topic.updatedAt} />
        </p>
      </div>
      <HealthBar results={health} />
      <Icon name="right" className="size-4 text-ink-3" />
    </li>
  );
}

function NewTopic({
  isOpen,
  onOpenChange,
}: {
  readonly isOpen: boolean;
  readonly onOpenChange: (isOpen: boolean) => void;
}) {
  const navigate = useNavigate();
  const [name, setName] = useState('');
  const [urls, setUrls] = useState('');
  const endpoints = urls
    .split(/\s+/)
    .filter(Boolean)
    .map((url) => ({ url }));
  return (
    <DialogFrame isOpen={isOpen} onOpenChange={onOpenChange} title="New topic">
      <div className="space-y-4">
        <label className="block">
          <span className="label">Name</span>
          <input
            className="input"
            value={name}
            onChange={(event) => setName(event.target.value)}
            placeholder="orders"
          />
        </label>
        <label className="block">
          <span className="label">Endpoints, one URL per line</span>
          <textarea
            className="input mono"
            rows={4}
            value={urls}
            onChange={(event) => setUrls(event.target.value)}
            placeholder="https://a.example.com/hook"
          />
        </label>
        <div className="flex justify-end">
          <ActionButton
            call={() => calls.addEndpoints(name.trim(), endpoints)}
            className="btn btn-primary"
            isDisabled={name.trim() === '' || endpoints.length === 0}
            done={(topic) => `Topic “${topic.name}” has ${countWithNoun(topic.endpoints.length, 'endpoint')}`}
            onDone={(topic) => {
              onOpenChange(false);
              void navigate({ to: '/topics/$topicName', params: { topicName: topic.name } });
            }}
          >
            Create topic
          </ActionButton>
        </div>
      </div>
    </DialogFrame>
  );
}
