// The endpoints of a topic: add, edit, move, remove. The whole list is saved at once, in the order shown.

import { calls, type Endpoint, type Topic } from 'postrider-sdk';
import { useHasScope } from '../base/session.ts';
import { ActionButton, missingScopeText } from '../ui/action.tsx';
import { Icon, type IconName } from '../ui/icon.tsx';
import { OutdatedNotice, useDraft } from './draft.tsx';
import { HealthBar, type TopicHealth } from './health.tsx';

interface Draft {
  readonly id: number;
  readonly name: string;
  readonly url: string;
}

let lastId = 0;
const draftOf = ({ name = '', url }: Endpoint): Draft => {
  lastId += 1;
  return { id: lastId, name, url };
};

const draftsOf = ({ endpoints }: Topic) => endpoints.map(draftOf);
const savedOf = ({ endpoints }: Topic) =>
  JSON.stringify(endpoints.map(({ url, name }) => ({ url, ...(name !== undefined && { name }) })));

export function EndpointList({ topic, health }: { readonly topic: Topic; readonly health: TopicHealth }) {
  const { value: drafts, set: setDrafts, ...draft } = useDraft(topic, savedOf, draftsOf);
  const may = useHasScope('manage');
  const change = (id: number, some: Partial<Draft>) =>
    setDrafts(drafts.map((each) => (each.id === id ? { ...each, ...some } : each)));
  const move = (at: number, by: number) => {
    const next = [...drafts];
    const [moved] = next.splice(at, 1);
    next.splice(at + by, 0, moved!);
    setDrafts(next);
  };
  const endpoints = drafts
    .filter(({ url }) => url.trim() !== '')
    .map(({ name, url }) => ({ url: url.trim(), ...(name !== '' && { name }) }));
  const isChanged = JSON.stringify(endpoints) !== savedOf(topic);
  return (
    <div className="card">
      <ol className="divide-y divide-line">
        {drafts.map((each, at) => (
          <EndpointRow
            key={each.id}
            draft={each}
            at={at}
            count={drafts.length}
            change={(some) => change(each.id, some)}
            move={(by) => move(at, by)}
            remove={() => setDrafts(drafts.filter(({ id }) => id !== each.id))}
            health={health}
          />
        ))}
      </ol>
      {draft.isOutdated && isChanged && <OutdatedNotice what="endpoints" />}
      <div className="flex flex-wrap items-center gap-2 border-t border-line px-4 py-2.5">
        <button
          type="button"
          className="btn btn-quiet"
          disabled={!may}
          title={may ? undefined : missingScopeText('manage')}
          onClick={() => setDrafts([...drafts, draftOf({ url: '' })])}
        >
          <Icon name="plus" className="size-3.5" />
          Add endpoint
        </button>
        <span className="grow" />
        {isChanged && (
          <button type="button" className="btn btn-quiet" onClick={draft.undo}>
            Undo
          </button>
        )}
        <ActionButton
          call={() => {
            draft.begin();
            return calls.changeTopic(topic.name, { endpoints });
          }}
          className={isChanged ? 'btn btn-primary' : 'btn'}
          isDisabled={!isChanged || endpoints.length === 0}
          done={`Topic “${topic.name}” is saved`}
          onDone={draft.saved}
        >
          Save endpoints
        </ActionButton>
      </div>
    </div>
  );
}

interface EndpointRowProps {
  readonly draft: Draft;
  readonly at: number;
  readonly count: number;
  readonly change: (some: Partial<Draft>) => void;
  readonly move: (by: number) => void;
  readonly remove: () => void;
  readonly health: TopicHealth;
}

function EndpointRow({ draft, at, count, change, move, remove, health }: EndpointRowProps) {
  const may = useHasScope('manage');
  return (
    <li className="flex flex-wrap items-center gap-2 px-4 py-2.5">
      <span className="num w-5 text-xs text-ink-3">{at + 1}</span>
      <input
        className="input mono min-w-48 grow basis-64"
        aria-label={`URL of endpoint ${at + 1}`}
        placeholder="https://…"
        disabled={!may}
        value={draft.url}
        onChange={(event) => change({ url: event.target.value })}
      />
      <input
        className="input w-32"
        aria-label={`Name of endpoint ${at + 1}`}
        placeholder="name"
        disabled={!may}
        value={draft.name}
        onChange={(event) => change({ name: event.target.value })}
      />
      <HealthBar results={health} url={draft.url} />
      <span className="flex">
        <RowButton
          icon="up"
          label={`Move endpoint ${at + 1} up`}
          isDisabled={!may || at === 0}
          onClick={() => move(-1)}
        />
        <RowButton
          icon="down"
          label={`Move endpoint ${at + 1} down`}
          isDisabled={!may || at === count - 1}
          onClick={() => move(1)}
        />
        <RowButton icon="trash" label={`Remove endpoint ${at + 1}`} isDisabled={!may || count === 1} onClick={remove} />
      </span>
    </li>
  );
}

function RowButton({
  icon,
  label,
  isDisabled,
  onClick,
}: {
  readonly icon: IconName;
  readonly label: string;
  readonly isDisabled: boolean;
  readonly onClick: () => void;
}) {
  return (
    <button
      type="button"
      className="btn btn-quiet btn-small"
      aria-label={label}
      title={label}
      disabled={isDisabled}
      onClick={onClick}
    >
      <Icon name={icon} className="size-3.5" />
    </button>
  );
}
