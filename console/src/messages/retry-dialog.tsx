// Sends a dead letter again with another URL, body or settings.

import { Dialog } from '@base-ui/react/dialog';
import { calls, type MessageWithAttempts } from 'postrider-sdk';
import { useState } from 'react';
import { useSession } from '../base/session.ts';
import { bodyAfterEdit } from '../parts/publish-again.ts';
import { useAction } from '../ui/action.tsx';
import { DialogFrame } from '../ui/confirm.tsx';

export function RetryDialog({
  message,
  dlqId,
  isOpen,
  onOpenChange,
  onDone,
}: {
  readonly message: MessageWithAttempts;
  readonly dlqId: string;
  readonly isOpen: boolean;
  readonly onOpenChange: (isOpen: boolean) => void;
  readonly onDone: (messageId: string) => void;
}) {
  const { headerPrefix } = useSession().account.service;
  const [url, setUrl] = useState(message.url);
  // For a redacted body the service shows a placeholder, which must not be sent as the body.
  const isHidden = message.redactFields?.includes('body') ?? false;
  const before = isHidden ? '' : (message.body ?? '');
  const [body, setBody] = useState(before);
  const [retries, setRetries] = useState(String(message.maxRetries));
  const action = useAction<{ messageId: string }>({
    done: 'Sent again, as a new message',
    onDone: ({ messageId }) => {
      onOpenChange(false);
      onDone(messageId);
    },
  });
  const changes = {
    ...(url !== message.url && { url }),
    ...(body !== before && { body }),
    ...(retries !== String(message.maxRetries) && { headers: { [`${headerPrefix}Retries`]: retries } }),
  };
  return (
    <DialogFrame
      isOpen={isOpen}
      onOpenChange={onOpenChange}
      title="Retry with edits"
      width="w-[min(40rem,calc(100vw-2rem))]"
    >
      <form
        className="space-y-4"
        onSubmit={(event) => {
          event.preventDefault();
          action.mutate(calls.retryDeadLetter(dlqId, Object.keys(changes).length > 0 ? changes : undefined));
        }}
      >
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
            min={0}
            value={retries}
            onChange={(event) => setRetries(event.target.value)}
          />
        </label>
        <p className="text-xs text-ink-3">Everything else is unchanged. The new message replaces the dead letter.</p>
        <div className="flex justify-end gap-2">
          <Dialog.Close className="btn">Keep as it is</Dialog.Close>
          <button type="submit" className="btn btn-primary" disabled={action.isPending}>
            Send again
          </button>
        </div>
      </form>
    </DialogFrame>
  );
}

export function BodyField({
  isHidden,
  body,
  onChange,
}: {
  readonly isHidden: boolean;
  readonly body: string;
  readonly onChange: (body: string) => void;
}) {
  return (
    <label className="block">
      <span className="label">Body</span>
      <textarea
        className="input mono"
        rows={10}
        placeholder={isHidden ? 'Redacted. If you leave this empty, the body stays as it is.' : undefined}
        value={body}
        onChange={(event) => onChange(bodyAfterEdit(body, event.target.value))}
      />
    </label>
  );
}
