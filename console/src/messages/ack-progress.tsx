// How far the receiver of a message is that was answered with 202, and until when its ack is awaited.

import type { MessageWithAttempts } from 'postrider-sdk';
import { Ago } from '../ui/time.tsx';

export function AckProgress({ ack }: { readonly ack: NonNullable<MessageWithAttempts['ack']> }) {
  const { attempt, deadline, progress, note } = ack;
  const percent = progress === undefined ? null : Math.floor(progress * 100);
  return (
    <section aria-label="Ack" className="space-y-1.5 text-sm">
      <p className="text-ink-2">
        Attempt {attempt} awaits its ack, at the latest <Ago at={deadline} />
      </p>
      {percent !== null && (
        <div className="flex items-center gap-2">
          <progress className="h-2 min-w-0 grow" max={100} value={percent} aria-label="Progress of the receiver" />
          <span className="mono text-xs">{percent} %</span>
        </div>
      )}
      {note !== undefined && <p className="break-words text-ink-3">{note}</p>}
    </section>
  );
}
