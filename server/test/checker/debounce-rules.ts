// Debounce keys, by what the store did: while a message waits under a key and was never tried, no second one waits beside
// it, neither a new one nor one that is given back, and what takes its place takes the place of one that waits. That the
// newest is what is sent is a rule of changes.

import type { Evidence } from './evidence.ts';

interface Waiting {
  readonly id: string;
  readonly key: string;
  readonly mustStartBefore: number | null;
  /** Neither claimed nor ended, and never tried. */
  isReplaceable: boolean;
  wasTried: boolean;
}

export function* debounceKeys({ history }: Evidence): Iterable<string> {
  const messages = new Map<string, Waiting>();
  const byKey = new Map<string, Waiting[]>();
  const isWaiting = ({ isReplaceable, mustStartBefore }: Waiting, at: number) =>
    isReplaceable && (mustStartBefore === null || mustStartBefore > at);
  for (const step of history.steps ?? []) {
    if (step.kind === 'accepted' && step.debounceKey != null) {
      const { id, debounceKey: key, mustStartBefore = null } = step;
      const others = byKey.get(key) ?? [];
      const other = others.find((each) => isWaiting(each, step.at));
      if (other) yield `${id} waits under the key ${key} beside ${other.id}`;
      const message = { id, key, mustStartBefore, isReplaceable: true, wasTried: false };
      messages.set(id, message);
      byKey.set(key, [...others, message]);
      continue;
    }
    const message = 'id' in step ? messages.get(step.id) : undefined;
    if (step.kind === 'replaced' && (message?.key !== step.key || !isWaiting(message, step.at))) {
      yield `the place of ${step.id} was taken, which did not wait under the key ${step.key}`;
    }
    if (!message) continue;
    if (step.kind === 'claimed' || step.kind === 'ended') message.isReplaceable = false;
    else if (step.kind === 'waits') {
      message.wasTried ||= step.hasBegun;
      message.isReplaceable = !message.wasTried;
      const { at } = step;
      if (at === undefined || !isWaiting(message, at)) continue;
      const other = byKey.get(message.key)!.find((each) => each !== message && isWaiting(each, at));
      if (other) yield `${message.id}, which was given back, waits under the key ${message.key} beside ${other.id}`;
    }
  }
}
