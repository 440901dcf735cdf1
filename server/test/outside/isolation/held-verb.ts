// A store one of whose verbs does not respond until it is let go: what waits for it is seen, and what does not.

import type { Store } from '../../../src/store/ports/store.ts';
import type { Rider } from '../../support/harness.ts';
import type { Cleanup } from '../../support/receiver.ts';

export interface HeldVerb {
  /** How many calls wait. */
  waiting(): number;
  letGo(): void;
}

export function holdVerb(t: Cleanup, rider: Rider, verb: keyof Store): HeldVerb {
  const { store } = rider.postrider;
  const asked = store[verb] as (...args: unknown[]) => unknown;
  const waiting: (() => void)[] = [];
  let isHeld = true;
  const held = async (...args: unknown[]) => {
    if (isHeld) await new Promise<void>((resolve) => waiting.push(resolve));
    return asked.apply(store, args);
  };
  Object.assign(store, { [verb]: held });
  const letGo = () => {
    isHeld = false;
    for (const resolve of waiting.splice(0)) resolve();
  };
  t.after(letGo);
  return { waiting: () => waiting.length, letGo };
}
