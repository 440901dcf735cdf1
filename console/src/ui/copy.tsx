// Copies to the clipboard, and shows that it worked.

import { useEffect, useState } from 'react';
import { Icon } from './icon.tsx';

export async function copyText(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  // Over plain HTTP from another machine, browsers give scripts no other access to the clipboard.
  const area = document.createElement('textarea');
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand('copy');
  area.remove();
}

export function CopyButton({
  text,
  label,
  className = 'btn btn-quiet btn-small',
  refusal,
  children,
}: {
  readonly text: string | (() => string);
  /** What is copied, for users who do not see the icon. */
  readonly label: string;
  readonly className?: string;
  /** Why the text cannot be copied. */
  readonly refusal?: string | undefined;
  readonly children?: string;
}) {
  const [isCopied, setIsCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return;
    const timer = setTimeout(() => setIsCopied(false), 1500);
    return () => clearTimeout(timer);
  }, [isCopied]);
  return (
    <button
      type="button"
      className={className}
      aria-label={children ? undefined : `Copy ${label}`}
      title={refusal ?? `Copy ${label}`}
      disabled={refusal !== undefined}
      onClick={() => {
        void copyText(typeof text === 'string' ? text : text()).then(() => setIsCopied(true));
      }}
    >
      <Icon name={isCopied ? 'check' : 'copy'} className="size-3.5" />
      {children && <span>{isCopied ? 'Copied' : children}</span>}
      <span className="sr-only" aria-live="polite">
        {isCopied ? 'Copied' : ''}
      </span>
    </button>
  );
}
