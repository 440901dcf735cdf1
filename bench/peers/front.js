// What a job queue lacks to do this job: a tiny HTTP front that puts a message into it, and the request that its worker
// makes. The same for every queue, and as cheap as the floor's.

import { createServer } from 'node:http';
import { Pool } from 'undici';

/** `enqueue` resolves when the queue has the message. */
export function serveFront(enqueue) {
  const server = createServer((request, response) => {
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      const headers = {};
      for (const [name, value] of Object.entries(request.headers)) {
        if (name === 'content-type') headers[name] = value;
        else if (name.startsWith('service-forward-')) headers[name.slice(16)] = value;
      }
      const url = request.url.slice('/v2/publish/'.length);
      const answer = (status, text) => {
        response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) });
        response.end(text);
      };
      enqueue({ url, headers, body: Buffer.concat(chunks).toString('latin1') }).then(
        (id) => answer(201, JSON.stringify({ messageId: id })),
        (error) => answer(500, JSON.stringify({ error: String(error) })),
      );
    });
  });
  server.listen({ port: 0, host: '127.0.0.1', backlog: 4096 }, () => {
    const api = `http://127.0.0.1:${server.address().port}`;
    process.stdout.write(`${JSON.stringify({ api, token: 'none' })}\n`);
  });
}

const pools = new Map();

/** Throws unless the receiver took it, so that the queue tries again. */
export async function deliver({ url, headers, body }) {
  const { origin, pathname, search } = new URL(url);
  let pool = pools.get(origin);
  if (!pool) {
    pool = new Pool(origin, { connections: 200 });
    pools.set(origin, pool);
  }
  const request = { path: pathname + search, method: 'POST', headers, body: Buffer.from(body, 'latin1') };
  const answer = await pool.request(request);
  await answer.body.dump();
  if (answer.statusCode >= 300) throw new Error(`answered ${answer.statusCode}`);
}

/** In flight at once, for each of them. */
export const CONCURRENCY = 200;
