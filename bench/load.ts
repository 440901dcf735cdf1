// The publishers of a measurement, in a process of their own: each connection sends the same request again as soon as
// it is answered, over the nodes in turn. Says how many were accepted, twenty times a second.
// node load.ts <connections> <messages a second, 0 for as many as go> <destination> <token> <api>...

import { connect, type Socket } from 'node:net';

const [connections = '64', rate = '0', destination = '', token = '', ...apis] = process.argv.slice(2);
const pauseMs = Number(rate) === 0 ? 0 : (1000 * Number(connections)) / Number(rate);
const BODY = 'x'.repeat(1024);

let accepted = 0;
let refused = 0;

function requestTo(api: URL): string {
  return [
    `POST /v2/publish/${destination} HTTP/1.1`,
    `Host: ${api.host}`,
    `Authorization: Bearer ${token}`,
    'Content-Type: application/octet-stream',
    'Service-Retries: 3',
    'Service-Forward-X-One: first',
    'Service-Forward-X-Two: second',
    `Content-Length: ${BODY.length}`,
    '',
    BODY,
  ].join('\r\n');
}

function run(api: URL): void {
  const socket: Socket = connect({ host: api.hostname, port: Number(api.port) });
  const request = requestTo(api);
  let text = '';
  let sentAt = performance.now();
  socket.setNoDelay(true);
  socket.setEncoding('latin1');
  socket.on('connect', () => socket.write(request));
  socket.on('data', (chunk: string) => {
    text += chunk;
    const end = text.indexOf('\r\n\r\n');
    if (end === -1) return;
    const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0);
    if (text.length < end + 4 + length) return;
    if (text.startsWith('HTTP/1.1 201')) accepted += 1;
    else refused += 1;
    text = '';
    sentAt += pauseMs;
    if (pauseMs === 0) socket.write(request);
    else setTimeout(() => socket.write(request), Math.max(0, sentAt - performance.now()));
  });
  socket.on('error', () => setTimeout(() => run(api), 100));
}

for (let index = 0; index < Number(connections); index += 1) run(new URL(apis[index % apis.length]!));
setInterval(() => process.stdout.write(`${JSON.stringify({ accepted, refused })}\n`), 50);
