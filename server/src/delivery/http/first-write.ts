// Checks the time just before the first bytes of a request go to the operating system. Several steps prepare a request
// before that. A process that was stopped between them for long must not send it when it wakes.

import type { Socket } from 'node:net';
import { checkBeforeWrite } from '../../runtime/node-internals/before-write.ts';
import { isFeatureWorking } from '../../runtime/node-internals/features.ts';
import type { WireWindow } from '../engine/wire-window.ts';

/** Not a byte of the request was written. */
export class TooLateError extends Error {
  override readonly name = 'TooLateError';
}

/** Call the result for every request on the socket: its first write then fails if it is too late. */
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
