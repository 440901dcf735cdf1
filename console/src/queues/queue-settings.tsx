// What a queue gives its messages that say nothing themselves: an expiry, a priority, and what they do while their host
// is down.

import { Dialog } from '@base-ui/react/dialog';
import { calls, type Queue } from 'postrider-sdk';
import { useState } from 'react';
import { useHasScope } from '../base/session.ts';
import { missingScopeText, useAction } from '../ui/action.tsx';
import { DialogFrame } from '../ui/confirm.tsx';
import { Icon } from '../ui/icon.tsx';

/** The button, and the dialog that it opens. */
export function QueueSettings({ queue }: { readonly queue: Queue }) {
  const may = useHasScope('manage');
  const [isOpen, setIsOpen] = useState(false);
  const label = `Settings of ${queue.name}`;
  return (
    <>
      <button
        type="button"
        className="btn"
        aria-label={label}
        title={may ? label : missingScopeText('manage')}
        disabled={!may}
        onClick={() => setIsOpen(true)}
      >
        <Icon name="edit" className="size-3.5" />
      </button>
      <DialogFrame isOpen={isOpen} onOpenChange={setIsOpen} title={label}>
        <SettingsForm queue={queue} onDone={() => setIsOpen(false)} />
      </DialogFrame>
    </>
  );
}

type Given = Pick<Queue, 'expires' | 'priority' | 'outage'>;

/** Shows the queue as it was when the dialog was opened. What is not changed there is not sent. */
function SettingsForm({ queue, onDone }: { readonly queue: Queue; readonly onDone: () => void }) {
  const [before] = useState(queue);
  const [expires, setExpires] = useState(before.expires ?? '');
  const [priority, setPriority] = useState(String(before.priority ?? ''));
  const [outage, setOutage] = useState<NonNullable<Given['outage']> | ''>(before.outage ?? '');
  const action = useAction<Queue>({ done: `The settings of “${queue.name}” are saved`, onDone });
  const change = {
    ...(expires.trim() !== (before.expires ?? '') && { expires: expires.trim() || null }),
    ...(priority !== String(before.priority ?? '') && { priority: priority === '' ? null : Number(priority) }),
    ...(outage !== (before.outage ?? '') && { outage: outage || null }),
  };
  return (
    <form
      className="space-y-4"
      onSubmit={(event) => {
        event.preventDefault();
        action.mutate(calls.saveQueue({ queueName: queue.name, ...change }));
      }}
    >
      <label className="block">
        <span className="label">Expires</span>
        <input
          className="input w-40"
          placeholder="never"
          value={expires}
          onChange={(event) => setExpires(event.target.value)}
        />
        <span className="mt-1 block text-xs text-ink-3">
          How long after it is due a message may start, such as 10m. Then it fails as expired.
        </span>
      </label>
      <label className="block">
        <span className="label">Priority</span>
        <input
          className="input num w-24"
          type="number"
          min={0}
          max={9}
          placeholder="5"
          value={priority}
          onChange={(event) => setPriority(event.target.value)}
        />
        <span className="mt-1 block text-xs text-ink-3">
          From 0 to 9, the highest first: before the messages of other queues and of no queue. The order in this queue
          stays.
        </span>
      </label>
      <label className="block">
        <span className="label">While a host is down</span>
        <select
          className="input w-auto"
          value={outage}
          onChange={(event) => setOutage(event.target.value as typeof outage)}
        >
          <option value="">as the account says</option>
          <option value="retry">retry: uses up retries</option>
          <option value="park">park: wait until it is back</option>
        </select>
      </label>
      <p className="text-xs text-ink-3">
        For the messages that come from now on and have no such setting of their own.
      </p>
      <div className="flex justify-end gap-2">
        <Dialog.Close className="btn">Keep as it is</Dialog.Close>
        <button
          type="submit"
          className="btn btn-primary"
          disabled={action.isPending || Object.keys(change).length === 0}
        >
          Save
        </button>
      </div>
    </form>
  );
}
