// Changes a message that waits: its time, URL, body and retries.

import { Dialog } from '@base-ui/react/dialog';
import { calls, type MessageWithAttempts } from 'postrider-sdk';
import { useState } from 'react';
import { useHasScope, useSession } from '../base/session.ts';
import { missingScopeText, useAction } from '../ui/action.tsx';
import { DialogFrame } from '../ui/confirm.tsx';
import { Icon } from '../ui/icon.tsx';
import { BodyField } from './retry-dialog.tsx';

/** The button, and the dialog that it opens. */
export function ChangeMessage({ message }: { readonly message: MessageWithAttempts }) {
  const may = useHasScope('publish');
  const [isOpen, setIsOpen] = useState(false);
  return (
    <>
      <button
        type="button"
        className="btn"
        disabled={!may}
        title={may ? undefined : missingScopeText('publish')}
        onClick={() => setIsOpen(true)}
      >
        <Icon name="edit" className="size-3.5" />
        Change
      </button>
      <DialogFrame
        isOpen={isOpen}
        onOpenChange={setIsOpen}
        title="Change this message"
        width="w-[min(40rem,calc(100vw-2rem))]"
      >
        <ChangeForm message={message} onDone={() => setIsOpen(false)} />
      </DialogFrame>
    </>
  );
}

/** Shows the message as it was when the dialog was opened, and changes only that version. */
function ChangeForm({
  message: current,
  onDone,
}: {
  readonly message: MessageWithAttempts;
  readonly onDone: () => void;
}) {
  const { headerPrefix } = useSession().account.service;
  const [message] = useState(current);
  // For a redacted body the service shows a placeholder, which must not be sent as the body.
  const isHidden = message.redactFields?.includes('body') ?? false;
  const before = isHidden ? '' : (message.body ?? '');
  const [delay, setDelay] = useState('');
  const [url, setUrl] = useState(message.url);
  const [body, setBody] = useState(before);
  const [retries, setRetries] = useState(String(message.maxRetries));
  const action = useAction<{ messageId: string }>({ done: 'Changed', onDone });
  const change = {
    ...(delay.trim() !== '' && { delay }),
    ...(url !== message.url && { url }),
    ...(body !== before && { body }),
    ...(retries !== String(message.maxRetries) && { headers: { [`${headerPrefix}Retries`]: retries } }),
  };
  return (
    <form
      className="space-y-4"
      onSubmit={(event) => {
        event.preventDefault();
        action.mutate(calls.updateMessage(message.messageId, { ...change, ifMatch: message.version }));
      }}
    >
      {message.state !== 'HELD' && (
        <label className="block">
          <span className="label">Wait from now on</span>
          <input
            className="input w-40"
            placeholder="unchanged"
            value={delay}
            onChange={(event) => setDelay(event.target.value)}
          />
          <span className="mt-1 block text-xs text-ink-3">
            Such as 90s or 1d12h. Empty: the time stays as it is
            {message.queueName === undefined ? '.' : ', and so does the place in the queue.'}
          </span>
        </label>
      )}
      <label className="block">
        <span className="label">URL</span>
        <input className="input mono" required value={url} onChange={(event) => setUrl(event.target.value)} />
      </label>
      {message.bodyBase64 === undefined && <BodyField isHidden={isHidden} body={body} onChange={setBody} />}
      <label className="block">
        <span className="label">Retries</span>
        <input
          className="input num w-24"
          type="number"
          min={message.retried}
          value={retries}
          onChange={(event) => setRetries(event.target.value)}
        />
      </label>
      <p className="text-xs text-ink-3">
        Everything else is unchanged. The change is refused if an attempt has begun or somebody else has changed the
        message.
      </p>
      <div className="flex justify-end gap-2">
        <Dialog.Close className="btn">Keep as it is</Dialog.Close>
        <button
          type="submit"
          className="btn btn-primary"
          disabled={action.isPending || Object.keys(change).length === 0}
        >
          Change it
        </button>
      </div>
    </form>
  );
}
