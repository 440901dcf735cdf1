// One topic: its endpoints in their order, its default settings, and a test message.

import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { calls, type Published, type Topic } from 'postrider-sdk';
import { useState } from 'react';
import { useClient, useHasScope, useSession } from '../base/session.ts';
import { HeaderRows, type SettingRow } from '../parts/header-rows.tsx';
import { TestResult } from '../parts/test-result.tsx';
import { ActionButton, useAction } from '../ui/action.tsx';
import { ConfirmButton } from '../ui/confirm.tsx';
import { countWithNoun } from '../ui/count.ts';
import { Icon } from '../ui/icon.tsx';
import { PageBody, PageHead, ResponseState, Section } from '../ui/page.tsx';
import { OutdatedNotice, useDraft } from './draft.tsx';
import { EndpointList } from './endpoint-list.tsx';
import { useTopicHealth } from './health.tsx';

export function TopicScreen() {
  const { topicName } = useParams({ strict: false }) as { topicName: string };
  const client = useClient();
  const navigate = useNavigate();
  const { data: topic, error } = useQuery({
    queryKey: ['topic', topicName],
    queryFn: () => client.getTopic(topicName),
    retry: false,
  });
  return (
    <>
      <PageHead title={topicName} isOwn>
        <Link to="/topics" className="btn btn-quiet">
          All topics
        </Link>
        <Link to="/messages" search={{ topicName }} className="btn btn-quiet">
          Messages
        </Link>
        {topic && (
          <ConfirmButton
            title={`Delete topic “${topicName}”?`}
            verb="Delete the topic"
            typed={topicName}
            call={calls.deleteTopic(topicName)}
            icon="trash"
            label="Delete topic"
            done={`Topic “${topicName}” is deleted`}
            onDone={() => void navigate({ to: '/topics' })}
          >
            <p>Messages that were sent to the topic are still delivered. New messages to it are refused.</p>
          </ConfirmButton>
        )}
      </PageHead>
      <PageBody>
        <ResponseState data={topic} error={error} />
        {topic && <Editor key={topic.name} topic={topic} />}
      </PageBody>
    </>
  );
}

function Editor({ topic }: { readonly topic: Topic }) {
  const health = useTopicHealth(topic.name);
  return (
    <div className="space-y-8">
      <Section title={`Endpoints · ${topic.endpoints.length}`}>
        <EndpointList topic={topic} health={health} />
      </Section>
      <TestMessage topic={topic} />
      <Defaults topic={topic} />
    </div>
  );
}

function TestMessage({ topic }: { readonly topic: Topic }) {
  const [body, setBody] = useState('{"test":true}');
  const [sent, setSent] = useState<readonly Published[] | null>(null);
  const may = useHasScope('publish');
  const action = useAction<Published | readonly Published[]>({
    done: `Sent to ${countWithNoun(topic.endpoints.length, 'endpoint')}`,
    onDone: (answer) => setSent([answer].flat() as Published[]),
  });
  return (
    <Section title="Send a test message">
      <form
        className="card space-y-3 p-4"
        onSubmit={(event) => {
          event.preventDefault();
          action.mutate(
            calls.publish({
              destination: topic.name,
              body,
              contentType: 'application/json',
              settings: { Retries: '0', Label: 'test' },
            }),
          );
        }}
      >
        <label className="block">
          <span className="label">Body</span>
          <textarea className="input mono" rows={3} value={body} onChange={(event) => setBody(event.target.value)} />
        </label>
        <div className="flex items-center gap-3">
          <button type="submit" className="btn btn-primary" disabled={!may || action.isPending}>
            <Icon name="send" className="size-3.5" />
            Send to all endpoints
          </button>
          <span className="text-xs text-ink-3">Without retries, labelled “test”.</span>
        </div>
        {sent && <TestResult sent={sent} />}
      </form>
    </Section>
  );
}

function Defaults({ topic }: { readonly topic: Topic }) {
  const { headerPrefix } = useSession().account.service;
  const lower = headerPrefix.toLowerCase();
  const rowsOf = ({ headers: given = {} }: Topic): readonly SettingRow[] =>
    Object.entries(given).flatMap(([name, values]) => {
      const bare = name.toLowerCase().startsWith(lower) ? name.slice(headerPrefix.length) : name;
      return [values].flat().map((value): SettingRow => [bare, value]);
    });
  const savedOf = (each: Topic) => JSON.stringify(rowsOf(each));
  const { value: rows, ...draft } = useDraft(topic, savedOf, rowsOf);
  const isChanged = JSON.stringify(rows) !== savedOf(topic);
  const named = Map.groupBy(
    rows.filter(([name]) => name !== ''),
    ([name]) => name,
  );
  const headers = Object.fromEntries(
    [...named].map(([name, list]) => [headerPrefix + name, list.map(([, value]) => value)]),
  );
  return (
    <Section title="Default settings">
      <div className="card space-y-3 p-4">
        <p className="text-xs text-ink-3">A message to this topic has these settings, unless it has its own.</p>
        <HeaderRows rows={rows} onChange={draft.set} />
        {draft.isOutdated && isChanged && <OutdatedNotice what="settings" />}
        <div className="flex gap-2">
          <ActionButton
            call={() => {
              draft.begin();
              return calls.changeTopic(topic.name, { headers });
            }}
            className={isChanged ? 'btn btn-primary' : 'btn'}
            done="Default settings saved"
            onDone={draft.saved}
            isDisabled={!isChanged}
          >
            Save settings
          </ActionButton>
          {isChanged && (
            <button type="button" className="btn btn-quiet" onClick={draft.undo}>
              Undo
            </button>
          )}
        </div>
      </div>
    </Section>
  );
}
