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
 * Returns a function. Call it for every request on the socket: the request's first write then fails if it is too late.
 */
export function guardFirstWrite(socket: Socket, wire: Pick<WireWindow, 'isOpen'>): () => void {
  const tooLate = () => new TooLateError('the attempt could not start in time');
  if (!isFeatureWorking('firstWrite')) {
    return () => {
      if (!wire.isOpen) socket.destroy(tooLate());
    };
  }
  let isStarting = false;
  checkBeforeWrite(socket, () => {
    const isFirst = isStarting;
    isStarting = false;
    return isFirst && !wire.isOpen ? tooLate() : null;
  });
  return () => {
    isStarting = true;
  };
}
