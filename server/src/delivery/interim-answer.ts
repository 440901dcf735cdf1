// Hides "100 Continue" from undici. RFC 9110 (15.2) has a client ignore one it never asked for, and some servers send
// it before every answer; undici calls it a broken answer, so that such a receiver could never be delivered to.
// The other 1xx answers undici passes on as it should.

import type { Socket } from 'node:net';

const CONTINUE_START = 'HTTP/1.1 100';
const CONTINUE_END = Buffer.from('\r\n\r\n');
const CONTINUE_BYTES_MAX = 8_192;

/** Call the result whenever a request goes out on the socket: an answer then starts with the next byte read. */
export function hideContinue(socket: Socket): () => void {
  const read = socket.read;
  let isAnswerAhead = false;
  let held: Buffer | null = null;

  socket.read = (size?: number): Buffer | null => {
    const chunk: Buffer | null = read.call(socket, size);
    if (!isAnswerAhead || chunk === null) return chunk;
    let bytes: Buffer = held === null ? chunk : Buffer.concat([held, chunk]);
    held = null;
    for (;;) {
      const start = bytes.toString('latin1', 0, CONTINUE_START.length);
      const isContinue = start === CONTINUE_START;
      const end = isContinue ? bytes.indexOf(CONTINUE_END) : -1;
      if (end !== -1) {
        bytes = bytes.subarray(end + CONTINUE_END.length);
        if (bytes.length === 0) return null;
      } else if (CONTINUE_START.startsWith(start) && bytes.length < CONTINUE_BYTES_MAX) {
        held = bytes; // too little to tell, or not all of it
        return null;
      } else {
        isAnswerAhead = false;
        return bytes;
      }
    }
  };

  return () => {
    isAnswerAhead = true;
    held = null;
  };
}
