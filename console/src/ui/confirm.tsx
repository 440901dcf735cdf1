// Asks before an action that cannot be undone. If the action affects many things, the user must type the name or the
// number.

import { Dialog } from '@base-ui/react/dialog';
import type { Call, Scope } from 'postrider-sdk';
import { type ReactNode, useState } from 'react';
import { useHasScope } from '../base/session.ts';
import { type ActionOptions, missingScopeText, useAction, useCurl } from './action.tsx';
import { Code } from './code.tsx';
import { Icon, type IconName } from './icon.tsx';

interface ConfirmProps<T> extends ActionOptions<T> {
  readonly title: string;
  readonly call: Call<T>;
  /** The label of the confirming button. */
  readonly verb: string;
  /** What the user must type first. */
  readonly typed?: string;
  readonly isDanger?: boolean;
  readonly scope?: Scope;
  readonly children?: ReactNode;
}

export function ConfirmDialog<T>({
  isOpen,
  onOpenChange,
  title,
  call,
  verb,
  typed,
  isDanger = true,
  scope = 'manage',
  children,
  ...options
}: ConfirmProps<T> & { readonly isOpen: boolean; readonly onOpenChange: (isOpen: boolean) => void }) {
  const [text, setText] = useState('');
  const toCurl = useCurl();
  const may = useHasScope(scope);
  const action = useAction<T>({
    ...options,
    onDone: (answer) => {
      onOpenChange(false);
      setText('');
      options.onDone?.(answer);
    },
  });
  const isReady = may && (typed === undefined || text === typed) && !action.isPending;
  return (
    <DialogFrame isOpen={isOpen} onOpenChange={onOpenChange} title={title}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (isReady) action.mutate(call);
        }}
      >
        <div className="space-y-3 text-sm text-ink-2">{children}</div>
        {typed !== undefined && (
          <label className="mt-4 block text-sm text-ink-2">
            Type <strong className="mono text-ink">{typed}</strong> to confirm
            <input
              className="input mono mt-1.5"
              value={text}
              onChange={(event) => setText(event.target.value)}
              autoComplete="off"
            />
          </label>
        )}
        <details className="mt-4">
          <summary className="text-xs text-ink-3">The same as cURL</summary>
          <Code className="mt-2" text={toCurl(call)} label="cURL" />
        </details>
        <div className="mt-5 flex justify-end gap-2">
          <Dialog.Close className="btn">Keep as it is</Dialog.Close>
          <button
            type="submit"
            className={`btn ${isDanger ? 'btn-danger' : 'btn-primary'}`}
            disabled={!isReady}
            title={may ? undefined : missingScopeText(scope)}
          >
            {verb}
          </button>
        </div>
      </form>
    </DialogFrame>
  );
}

export function DialogFrame({
  isOpen,
  onOpenChange,
  title,
  children,
  width = 'w-[min(30rem,calc(100vw-2rem))]',
}: {
  readonly isOpen: boolean;
  readonly onOpenChange: (isOpen: boolean) => void;
  readonly title: string;
  readonly children: ReactNode;
  readonly width?: string;
}) {
  return (
    <Dialog.Root open={isOpen} onOpenChange={onOpenChange}>
      <Dialog.Portal>
        <Dialog.Backdrop className="appear fixed inset-0 z-40 bg-overlay" />
        <Dialog.Popup
          className={`appear card fixed top-1/2 left-1/2 z-40 max-h-[calc(100dvh-2rem)] -translate-x-1/2 -translate-y-1/2 overflow-y-auto border-line-strong p-5 shadow-2xl shadow-overlay/20 ${width}`}
        >
          <Dialog.Title className="mb-3 text-base font-semibold break-words">{title}</Dialog.Title>
          {children}
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

/** A button that asks before it acts. */
export function ConfirmButton<T>({
  icon,
  label,
  className = 'btn',
  button,
  isDisabled = false,
  ...confirm
}: ConfirmProps<T> & {
  readonly icon?: IconName;
  readonly label?: string;
  readonly className?: string;
  readonly button?: ReactNode;
  readonly isDisabled?: boolean;
}) {
  const [isOpen, setIsOpen] = useState(false);
  const scope = confirm.scope ?? 'manage';
  const may = useHasScope(scope);
  return (
    <>
      <button
        type="button"
        className={className}
        disabled={!may || isDisabled}
        aria-label={label}
        title={may ? label : missingScopeText(scope)}
        onClick={() => setIsOpen(true)}
      >
        {icon && <Icon name={icon} className="size-3.5" />}
        {button}
      </button>
      <ConfirmDialog {...confirm} isOpen={isOpen} onOpenChange={setIsOpen} />
    </>
  );
}
