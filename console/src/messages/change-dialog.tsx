// Changes a message that waits: its time, URL and body, its headers, and the settings that may still be changed.

import { Dialog } from '@base-ui/react/dialog';
import { calls, type MessageWithAttempts } from 'postrider-sdk';
import { useState } from 'react';
import { useHasScope, useSession } from '../base/session.ts';
import { HeaderRows, type SettingRow } from '../parts/header-rows.tsx';
import { draftOf } from '../parts/publish-again.ts';
import { KNOWN_SETTINGS } from '../parts/setting-table.ts';
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

/** What may be changed beside the fields of the form. The rest decides where a message waits, or is for a publish only. */
const MORE =
  /^(?:Method|Retry-Delay|Retry-Jitter|Expires-At|Timeout|Callback|Failure-Callback|Forward-|Label|Await-Ack|Redact-Fields)$/;
const SUGGESTED = KNOWN_SETTINGS.filter(({ name }) => MORE.test(name));
const isForwarded = ([name]: SettingRow) => /^Forward-/i.test(name);

/** The fields that are settings, each as text. Empty: as it is. */
interface Fields {
  readonly retries: string;
  readonly priority: string;
  readonly expires: string;
  readonly outage: string;
  /** Forwarded headers, and any other setting. */
  readonly rows: readonly SettingRow[];
}

function fieldsOf(message: MessageWithAttempts): Fields {
  const { settings, redacted } = draftOf(message, undefined);
  const forwarded = settings.filter(isForwarded);
  return {
    retries: String(message.maxRetries),
    priority: String(message.priority ?? ''),
    expires: '',
    outage: message.outage ?? 'retry',
    // New headers replace all. Those that the service does not show cannot be sent again.
    rows: forwarded.some(([name]) => redacted.includes(name)) ? [] : forwarded,
  };
}

/** What differs, by the names of the settings. Forwarded headers are sent all together, or not at all. */
function changedSettings(before: Fields, after: Fields): Readonly<Record<string, string | string[]>> {
  const given = ([name, value]: SettingRow) => name !== '' && value !== '';
  const forwarded = after.rows.filter((row) => isForwarded(row) && given(row));
  const isForwardSame = JSON.stringify(forwarded) === JSON.stringify(before.rows.filter(given));
  const rows = [
    ...(isForwardSame ? [] : forwarded),
    ...after.rows.filter((row) => !isForwarded(row) && given(row)),
    ...(['Retries', 'Priority', 'Expires', 'Outage'] as const)
      .map((name) => [name, name.toLowerCase() as keyof Omit<Fields, 'rows'>] as const)
      .filter(([, field]) => after[field] !== before[field] && after[field] !== '')
      .map(([name, field]): SettingRow => [name, after[field]]),
  ];
  const byName = Map.groupBy(rows, ([name]) => name);
  return Object.fromEntries(
    [...byName].map(([name, of]) => [name, of.length === 1 ? of[0]![1] : of.map(([, value]) => value)]),
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
  const bodyBefore = isHidden ? '' : (message.body ?? '');
  const [delay, setDelay] = useState('');
  const [url, setUrl] = useState(message.url);
  const [body, setBody] = useState(bodyBefore);
  const [before] = useState(() => fieldsOf(message));
  const [fields, setFields] = useState(before);
  const action = useAction<{ messageId: string }>({ done: 'Changed', onDone });
  const settings = Object.entries(changedSettings(before, fields));
  const headers = Object.fromEntries(settings.map(([name, value]) => [headerPrefix + name, value]));
  const change = {
    ...(delay.trim() !== '' && { delay }),
    ...(url !== message.url && { url }),
    ...(body !== bodyBefore && { body }),
    ...(settings.length > 0 && { headers }),
  };
  return (
    <form
      className="space-y-4"
      onSubmit={(event) => {
        event.preventDefault();
        action.mutate(calls.updateMessage(message.messageId, { ...change, ifMatch: message.version }));
      }}
    >
      {message.state !== 'HELD' && <WaitField message={message} delay={delay} onChange={setDelay} />}
      <label className="block">
        <span className="label">URL</span>
        <input className="input mono" required value={url} onChange={(event) => setUrl(event.target.value)} />
      </label>
      {message.bodyBase64 === undefined && <BodyField isHidden={isHidden} body={body} onChange={setBody} />}
      <SettingFields message={message} fields={fields} onChange={(some) => setFields({ ...fields, ...some })} />
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

function WaitField({
  message,
  delay,
  onChange,
}: {
  readonly message: MessageWithAttempts;
  readonly delay: string;
  readonly onChange: (delay: string) => void;
}) {
  return (
    <label className="block">
      <span className="label">Wait from now on</span>
      <input
        className="input w-40"
        placeholder="unchanged"
        value={delay}
        onChange={(event) => onChange(event.target.value)}
      />
      <span className="mt-1 block text-xs text-ink-3">
        Such as 90s or 1d12h. Empty: the time stays as it is
        {message.queueName === undefined ? '.' : ', and so does the place in the queue.'}
      </span>
    </label>
  );
}

function SettingFields({
  message,
  fields: { retries, priority, expires, outage, rows },
  onChange,
}: {
  readonly message: MessageWithAttempts;
  readonly fields: Fields;
  readonly onChange: (some: Partial<Fields>) => void;
}) {
  return (
    <>
      <div className="flex flex-wrap gap-4">
        <NumberField
          label="Retries"
          min={message.retried}
          value={retries}
          onChange={(text) => onChange({ retries: text })}
        />
        {/* The messages of a queue start in order. */}
        {message.queueName === undefined && (
          <NumberField
            label="Priority"
            placeholder="5"
            min={0}
            max={9}
            value={priority}
            onChange={(text) => onChange({ priority: text })}
          />
        )}
        <label className="block">
          <span className="label">Expires, from now on</span>
          <input
            className="input w-36"
            placeholder="unchanged"
            value={expires}
            onChange={(event) => onChange({ expires: event.target.value })}
          />
        </label>
        <label className="block">
          <span className="label">While its host is down</span>
          <select
            className="input w-auto"
            value={outage}
            onChange={(event) => onChange({ outage: event.target.value })}
          >
            <option value="retry">retry</option>
            <option value="park">park</option>
          </select>
        </label>
      </div>
      <div>
        <span className="label">Headers to forward, and other settings</span>
        <HeaderRows rows={rows} suggested={SUGGESTED} onChange={(changed) => onChange({ rows: changed })} />
        <p className="mt-1 text-xs text-ink-3">
          The headers to forward are replaced together. A setting can be replaced, but not removed.
        </p>
      </div>
    </>
  );
}

function NumberField({
  label,
  min,
  max,
  placeholder,
  value,
  onChange,
}: {
  readonly label: string;
  readonly min: number;
  readonly max?: number;
  readonly placeholder?: string;
  readonly value: string;
  readonly onChange: (text: string) => void;
}) {
  return (
    <label className="block">
      <span className="label">{label}</span>
      <input
        className="input num w-24"
        type="number"
        min={min}
        max={max}
        placeholder={placeholder}
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
    </label>
  );
}
