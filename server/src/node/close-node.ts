// Closes a node, or one lane of it: first what faces callers and the attempts in flight, then the store.

import type { Engine } from '../delivery/engine/engine.ts';
import { systemWorld, withinMs } from '../runtime/world.ts';
import type { Front } from './build-front.ts';
import type { NodeBase } from './node-base.ts';

/** How long a stopping node waits for callers that are still sending their request. */
const SENDING_MS_MAX = 5000;
/** How long to wait until the store has closed. Nothing that was acknowledged depends on closing it. */
const STORE_CLOSING_MS_MAX = 3000;

/** Accepts nothing more and lets running attempts end. Returns how many attempts could not be settled. */
export async function drain(
  { config, world, service }: NodeBase,
  engine: Engine,
  { listener, streams }: Front,
): Promise<number> {
  service.isServing = false;
  const cancelCutOff = world.clock.after(Math.min(SENDING_MS_MAX, config.drainMs), () => listener.cutOff());
  streams.close();
  // The engine stops while the last callers finish: nothing starts meanwhile.
  const accepted = listener.close();
  const [left] = await Promise.all([engine.stop(config.drainMs, accepted), accepted]);
  cancelCutOff();
  return left;
}

/** Returns whether the store has closed in time. */
export async function closeStore({ store, audit, openFiles, stopLoopWatch }: NodeBase): Promise<boolean> {
  stopLoopWatch();
  let isClosed = false;
  const onLeft = () => {
    isClosed = true;
  };
  const storeClosed = audit
    .flush()
    .then(() => store.close(onLeft))
    .then(() => openFiles?.close());
  // The wait is in real time, because a database outage lasts in real time.
  await withinMs(systemWorld().clock, STORE_CLOSING_MS_MAX, storeClosed);
  return isClosed;
}
