// Shown on a screen that has no entries yet: what the screen is for, and a command that creates an entry.

import type { Call } from 'postrider-sdk';
import type { ReactNode } from 'react';
import { Command } from './command.tsx';

export function EmptyState({
  title,
  call,
  children,
}: {
  readonly title: string;
  /** The call that is shown as a command. */
  readonly call?: Call<unknown>;
  readonly children?: ReactNode;
}) {
  return (
    <div className="appear mx-auto flex w-full max-w-xl flex-col items-stretch gap-3 px-4 py-16">
      <h2 className="text-base font-semibold">{title}</h2>
      {children && <div className="space-y-2 text-sm text-ink-2">{children}</div>}
      {call !== undefined && <Command call={call} />}
    </div>
  );
}
