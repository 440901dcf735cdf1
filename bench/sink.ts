// The receiver of a measurement, in a process of its own: answers 204 to everything as cheaply as it can, and says on
// standard output how many requests it got, twenty times a second.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

let count = 0;
const server = createServer((request, response) => {
  count += 1;
  request.resume();
  response.writeHead(204).end();
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  process.stdout.write(`${JSON.stringify({ port })}\n`);
  setInterval(() => process.stdout.write(`${JSON.stringify({ count })}\n`), 50);
});
