// How many written bytes the operating system has not taken yet. The public properties of a socket do not show this: if
// the system takes a write in parts, they do not change before the last part is taken.
//
// Relies on: `writeQueueSize` of `_handle` of a connected socket, in Node.js 24, 25 and 26. Without this feature: the
// number is undefined.

import type { Socket } from 'node:net';
import { expect } from './features.ts';

export function writeQueueBytes(socket: Socket): number | undefined {
  const { _handle } = socket as Socket & { readonly _handle?: { readonly writeQueueSize?: number } | null };
  return _handle?.writeQueueSize;
}

export function testWriteQueue(connected: Socket): void {
  expect(typeof writeQueueBytes(connected) === 'number', 'a socket does not say what the system has not taken yet');
}
