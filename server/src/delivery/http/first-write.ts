// Checks the time just before the first bytes of a request go to the operating system. The steps before that prepare
// the request, and the process may be stopped for long between two of them. It must not send the request when it
// continues.

import type { Socket } from 'node:net';
import { checkBeforeWrite } from '../../runtime/node-internals/before-write.ts';
import { isFeatureWorking } from '../../runtime/node-internals/features.ts';
import type { WireWindow } from '../engine/wire-window.ts';

/** The attempt started too late: not a byte of its request was written. */
export class TooLateError extends Error {
  override readonly name = 'TooLateError';
}

/**
 * Returns a function. Call it before each request on the socket: if its first write is too late, the request fails. The
 * function gets the time before which the attempt must start, or null.
 */
export function guardFirstWrite(
  socket: Socket,
  wire: Pick<WireWindow, 'mayWrite'>,
): (mustStartBefore: number | null) => void {
  const tooLate = () => new TooLateError('the attempt could not start in time');
  if (!isFeatureWorking('firstWrite')) {
    return (mustStartBefore) => {
      if (!wire.mayWrite(mustStartBefore)) socket.destroy(tooLate());
    };
  }
  let isStarting = false;
  let startsBefore: number | null = null;
  checkBeforeWrite(socket, () => {
    const isFirst = isStarting;
    isStarting = false;
    return isFirst && !wire.mayWrite(startsBefore) ? tooLate() : null;
  });
  return (mustStartBefore) => {
    isStarting = true;
    startsBefore = mustStartBefore;
  };
}
