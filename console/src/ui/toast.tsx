// Shows the result of an action, together with a command that does the same and can be copied.

import { createContext, type ReactNode, use, useCallback, useMemo, useState } from 'react';
import { CopyButton } from './copy.tsx';
import { Icon } from './icon.tsx';

interface Toast {
  readonly id: number;
  readonly text: string;
  readonly isProblem: boolean;
  readonly command: string | null;
  readonly link: ReactNode;
}

type Say = (text: string, options?: { isProblem?: boolean; command?: string | null; link?: ReactNode }) => void;

const ToastContext = createContext<Say>(() => {});
export const useToast = (): Say => use(ToastContext);

const SHOWN_MS = 6000;
const SHOWN_MAX = 3;
let lastId = 0;

export function ToastProvider({ children }: { readonly children: ReactNode }) {
  const [toasts, setToasts] = useState<readonly Toast[]>([]);
  const remove = useCallback((id: number) => setToasts((all) => all.filter((toast) => toast.id !== id)), []);
  const say = useMemo<Say>(
    () =>
      (text, { isProblem = false, command = null, link = null } = {}) => {
        lastId += 1;
        const id = lastId;
        setToasts((all) => [...all, { id, text, isProblem, command, link }].slice(-SHOWN_MAX));
        setTimeout(() => remove(id), isProblem ? 2 * SHOWN_MS : SHOWN_MS);
      },
    [remove],
  );
  return (
    <ToastContext value={say}>
      {children}
      <section
        aria-label="Notices"
        aria-live="polite"
        className="pointer-events-none fixed right-4 bottom-4 left-4 z-50 flex flex-col items-end gap-2"
      >
        {toasts.map(({ id, text, isProblem, command, link }) => (
          <div
            key={id}
            className="appear card pointer-events-auto flex max-w-md items-start gap-3 border-line-strong py-2.5 pr-2 pl-3.5 shadow-lg shadow-overlay/10"
          >
            <span className={`mt-1.5 size-2 shrink-0 rounded-full ${isProblem ? 'bg-failed' : 'bg-delivered'}`} />
            <div className="min-w-0 py-0.5 text-sm break-words">
              {text} {link}
            </div>
            {command !== null && (
              <CopyButton text={command} label="the same as cURL">
                cURL
              </CopyButton>
            )}
            <button
              type="button"
              className="btn btn-quiet btn-small px-1"
              aria-label="Dismiss"
              onClick={() => remove(id)}
            >
              <Icon name="close" className="size-3.5" />
            </button>
          </div>
        ))}
      </section>
    </ToastContext>
  );
}
