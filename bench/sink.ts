// The receiver of a measurement, in a process of its own: answers 204 to everything as cheaply as it can, straight on
// the socket, and notes how long each message was under way. Says how many it got twenty times a second, and for each
// line on its standard input what came since the last one.

import { createServer, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { nowUs, readStamp } from './clock.ts';
import { Histogram } from './histogram.ts';

const ANSWER = 'HTTP/1.1 204 No Content\r\n\r\n';
const HEAD_END = '\r\n\r\n';
const LENGTH = /\r\ncontent-length: *(\d+)/i;

let count = 0;
let odd = 0;
let marks = 0;
const received = new Histogram();

function serve(socket: Socket): void {
  let text = '';
  socket.setNoDelay(true);
  socket.setEncoding('latin1');
  socket.on('error', () => {});
  socket.on('data', (chunk: string) => {
    text = text === '' ? chunk : text + chunk;
    let answers = '';
    for (;;) {
      const headEnd = text.indexOf(HEAD_END);
      if (headEnd === -1) break;
      const bodyAt = headEnd + HEAD_END.length;
      const head = text.slice(0, headEnd);
      const length = LENGTH.exec(head);
      // A body in chunks has no length: nothing that is measured sends one.
      if (!length) odd += 1;
      const end = bodyAt + Number(length?.[1] ?? 0);
      if (text.length < end) break;
      count += 1;
      const sentAt = readStamp(text, bodyAt);
      if (sentAt !== null) received.add(nowUs() - sentAt);
      text = text.slice(end);
      answers += ANSWER;
    }
    if (answers !== '') socket.write(answers);
  });
}

const server = createServer(serve);
server.listen({ port: 0, host: '127.0.0.1', backlog: 4096 }, () => {
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : 0;
  process.stdout.write(`${JSON.stringify({ port })}\n`);
  setInterval(() => process.stdout.write(`${JSON.stringify({ count, odd })}\n`), 50);
});
createInterface({ input: process.stdin }).on('line', () => {
  marks += 1;
  process.stdout.write(`${JSON.stringify({ count, odd, received: received.take(), marks })}\n`);
});
