// The palette, opened with ⌘K: goes to any screen, queue, topic, schedule or message by a few letters.

import { Dialog } from '@base-ui/react/dialog';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type KeyboardEvent, useId, useState } from 'react';
import { useClient, useSession } from '../base/session.ts';
import { toggleTheme } from '../base/theme.ts';
import { Icon, type IconName } from '../ui/icon.tsx';
import { screensFor } from './screens.ts';

interface Entry {
  readonly title: string;
  readonly hint: string;
  readonly icon: IconName;
  readonly act: () => void;
}

const SHOWN_MAX = 12;

export function Palette({
  isOpen,
  onOpenChange,
}: {
  readonly isOpen: boolean;
  readonly onOpenChange: (isOpen: boolean) => void;
}) {
  return (
    <Dialog.Root open={isOpen} onOpenChange={onOpenChange}>
      <Dialog.Portal>
        <Dialog.Backdrop className="appear fixed inset-0 z-40 bg-overlay" />
        <Dialog.Popup className="appear card fixed top-[12vh] left-1/2 z-40 w-[min(36rem,calc(100vw-2rem))] -translate-x-1/2 overflow-hidden border-line-strong shadow-2xl shadow-overlay/20">
          <Dialog.Title className="sr-only">Go to</Dialog.Title>
          <Finder onDone={() => onOpenChange(false)} />
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

function Finder({ onDone }: { readonly onDone: () => void }) {
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const listId = useId();
  const entries = useEntries(text);
  const chosen = Math.min(at, entries.length - 1);
  const act = (entry: Entry | undefined) => {
    if (!entry) return;
    onDone();
    entry.act();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'ArrowDown') setAt((chosen + 1) % entries.length);
    else if (event.key === 'ArrowUp') setAt((chosen - 1 + entries.length) % entries.length);
    else if (event.key === 'Enter') act(entries[chosen]);
    else return;
    event.preventDefault();
  };
  return (
    <>
      <div className="flex items-center gap-2.5 border-b border-line px-4">
        <Icon name="search" className="size-4 text-ink-3" />
        <input
          className="h-12 grow bg-transparent text-base outline-none placeholder:text-ink-3"
          placeholder="Screen, message id, queue, topic, schedule…"
          aria-label="Go to"
          role="combobox"
          aria-expanded="true"
          aria-controls={listId}
          aria-activedescendant={`${listId}-${chosen}`}
          value={text}
          onChange={(event) => {
            setText(event.target.value);
            setAt(0);
          }}
          onKeyDown={onKeyDown}
        />
      </div>
      <div id={listId} role="listbox" aria-label="Results" className="max-h-[50vh] overflow-y-auto p-1.5">
        {entries.map((entry, index) => (
          <div
            key={`${entry.hint} ${entry.title}`}
            id={`${listId}-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === chosen}
            className="flex h-9 cursor-pointer items-center gap-3 rounded-md px-2.5 text-sm aria-selected:bg-hover"
            onMouseMove={() => setAt(index)}
            onClick={() => act(entry)}
            onKeyDown={onKeyDown}
          >
            <Icon name={entry.icon} className="size-4 text-ink-3" />
            <span className="min-w-0 grow truncate">{entry.title}</span>
            <span className="text-xs text-ink-3">{entry.hint}</span>
          </div>
        ))}
      </div>
    </>
  );
}

function useEntries(text: string): Entry[] {
  const navigate = useNavigate();
  const client = useClient();
  const { account, leave } = useSession();
  const queues = useQuery({ queryKey: ['queues'], queryFn: () => client.listQueues() });
  const topics = useQuery({ queryKey: ['topics'], queryFn: () => client.listTopics() });
  const schedules = useQuery({ queryKey: ['schedules'], queryFn: () => client.listSchedules() });
  const wanted = text.trim();
  const fixed: Entry[] = [
    ...screensFor(account.service.isDev).map(
      ({ to, title, icon, key }): Entry => ({ title, icon, hint: `g ${key}`, act: () => void navigate({ to }) }),
    ),
    ...(queues.data ?? []).map(
      ({ name }): Entry => ({
        title: name,
        hint: 'queue',
        icon: 'queues',
        act: () => void navigate({ to: '/queues', search: { queue: name } }),
      }),
    ),
    ...(topics.data ?? []).map(
      ({ name }): Entry => ({
        title: name,
        hint: 'topic',
        icon: 'topics',
        act: () => void navigate({ to: '/topics/$topicName', params: { topicName: name } }),
      }),
    ),
    ...(schedules.data ?? []).map(
      ({ scheduleId }): Entry => ({
        title: scheduleId,
        hint: 'schedule',
        icon: 'schedules',
        act: () => void navigate({ to: '/schedules', search: { schedule: scheduleId } }),
      }),
    ),
    { title: 'Switch between dark and light', hint: 'theme', icon: 'moon', act: toggleTheme },
    { title: 'Sign out', hint: account.name, icon: 'exit', act: leave },
  ];
  const found = fixed.filter(({ title, hint }) => matches(`${title} ${hint}`, wanted)).slice(0, SHOWN_MAX);
  if (/^msg_\w+$/.test(wanted)) {
    found.unshift({
      title: wanted,
      hint: 'open message',
      icon: 'messages',
      act: () => void navigate({ to: '/messages/$messageId', params: { messageId: wanted } }),
    });
  } else if (wanted !== '') {
    found.push({
      title: `Search messages for “${wanted}”`,
      hint: 'messages',
      icon: 'search',
      act: () => void navigate({ to: '/messages', search: { text: wanted } }),
    });
  }
  return found;
}

/** Whether the text contains all wanted letters in this order. */
function matches(text: string, wanted: string): boolean {
  let at = 0;
  const lower = text.toLowerCase();
  for (const letter of wanted.toLowerCase().replaceAll(' ', '')) {
    at = lower.indexOf(letter, at) + 1;
    if (at === 0) return false;
  }
  return true;
}
