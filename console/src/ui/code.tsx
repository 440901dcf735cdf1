// Text that is meant to be copied: commands, snippets, secrets. It is always shown as text, whatever it contains.

import { CopyButton } from './copy.tsx';

export function Code({
  text,
  label = 'text',
  className = '',
}: {
  readonly text: string;
  readonly label?: string;
  readonly className?: string;
}) {
  return (
    <div className={`group relative rounded-md border border-line bg-sunken ${className}`}>
      <pre
        className="mono max-h-96 overflow-auto p-3 pr-11 leading-5 break-all whitespace-pre-wrap text-ink"
        role="group"
        tabIndex={0}
        aria-label={label}
      >
        {text}
      </pre>
      <div className="absolute top-1.5 right-1.5 rounded-md bg-sunken">
        <CopyButton text={text} label={label} />
      </div>
    </div>
  );
}
