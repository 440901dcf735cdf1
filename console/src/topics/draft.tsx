// A draft of a part of a topic. It is kept until it is saved or undone, even if other parts of the topic are saved
// meanwhile.

import { useQueryClient } from '@tanstack/react-query';
import type { Topic } from 'postrider-sdk';
import { useMemo, useRef, useState } from 'react';

interface Edited<T> {
  readonly value: T;
  /** The saved value at the time when the editing began. */
  readonly base: string;
}

/** `savedOf` returns the saved part as text, to see when it changes. `draftOf` returns it in the form to edit. */
export function useDraft<T>(topic: Topic, savedOf: (topic: Topic) => string, draftOf: (topic: Topic) => T) {
  const queries = useQueryClient();
  const [edited, setEdited] = useState<Edited<T> | null>(null);
  const sent = useRef<Edited<T> | null>(null);
  const saved = savedOf(topic);
  // biome-ignore lint/correctness/useExhaustiveDependencies: made anew only when the saved part is another one
  const shown = useMemo(() => draftOf(topic), [saved]);
  return {
    value: edited?.value ?? shown,
    set: (value: T) => setEdited({ value, base: edited?.base ?? saved }),
    undo: () => setEdited(null),
    /** True if somebody else has saved another value since the editing began. */
    isOutdated: edited !== null && edited.base !== saved,
    /** Call this before a save. */
    begin: () => {
      sent.current = edited;
    },
    /** Call this after a save, with the saved topic. What the user typed during the call remains a draft. */
    saved: (now: Topic) => {
      queries.setQueryData(['topic', now.name], now);
      setEdited((after) => (after === sent.current || after === null ? null : { ...after, base: savedOf(now) }));
    },
  };
}

export function OutdatedNotice({ what }: { readonly what: string }) {
  return (
    <p role="status" className="px-4 py-2.5 text-xs text-retrying">
      The saved {what} were changed elsewhere since you began to edit. Save overwrites these changes; Undo shows them.
    </p>
  );
}
