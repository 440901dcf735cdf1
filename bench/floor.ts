// The floor: the least code on this stack that takes a message over HTTP, has it on disk before it answers, delivers it
// and writes down that it did. No tokens, no checks, no retries, no limits, no history: what a service costs beyond
// this is the price of what it offers. With --worker the store has a thread of its own; with --sign each attempt
// carries a JWT.
// node floor.ts --data <folder> [--worker] [--sign]

import { createHmac, hash } from 'node:crypto';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { parseArgs } from 'node:util';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { Pool } from 'undici';

interface Commit {
  readonly heads: readonly string[];
  readonly sizes: readonly number[];
  /** One after the other: one buffer crosses threads for all of them. */
  readonly bodies: Uint8Array;
  readonly settled: readonly [id: number, status: number][];
}

/** The only thing that touches the file: one transaction, flushed, and the id of the first new message. */
function openFile(folder: string): (commit: Commit) => number {
  const file = new DatabaseSync(join(folder, 'floor.db'));
  file.exec('PRAGMA page_size=8192; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL');
  file.exec('CREATE TABLE messages (id INTEGER PRIMARY KEY, head TEXT, body BLOB, status INTEGER)');
  const insert = file.prepare('INSERT INTO messages (id, head, body) VALUES (?, ?, ?)');
  const settle = file.prepare('UPDATE messages SET status = ? WHERE id = ?');
  let lastId = 0;
  return ({ heads, sizes, bodies, settled }) => {
    const firstId = lastId + 1;
    let at = 0;
    file.exec('BEGIN IMMEDIATE');
    for (const [index, head] of heads.entries()) {
      lastId += 1;
      insert.run(lastId, head, bodies.subarray(at, at + sizes[index]!));
      at += sizes[index]!;
    }
    for (const [id, status] of settled) settle.run(status, id);
    file.exec('COMMIT');
    return firstId;
  };
}

if (!isMainThread) {
  const commit = openFile(workerData as string);
  parentPort!.on('message', (asked: Commit) => parentPort!.postMessage(commit(asked)));
}

interface Accepted {
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly body: Buffer;
  readonly response: ServerResponse;
}

function serve(folder: string, hasWorker: boolean, isSigned: boolean): void {
  const pools = new Map<string, Pool>();
  let accepted: Accepted[] = [];
  let settled: [number, number][] = [];
  let isBusy = false;
  let write: (commit: Commit, then: (firstId: number) => void) => void;

  if (hasWorker) {
    const worker = new Worker(new URL(import.meta.url), { workerData: folder });
    let onDone: (firstId: number) => void;
    worker.on('message', (firstId: number) => onDone(firstId));
    write = (asked, then) => {
      onDone = then;
      worker.postMessage(asked);
    };
  } else {
    const commit = openFile(folder);
    write = (asked, then) => then(commit(asked));
  }

  /** All that came while the last transaction ran shares the next one. */
  function commitSoon(): void {
    if (isBusy) return;
    isBusy = true;
    setImmediate(() => {
      const group = accepted;
      const commit: Commit = {
        heads: group.map(({ url, headers }) => JSON.stringify([url, headers])),
        sizes: group.map(({ body }) => body.length),
        bodies: Buffer.concat(group.map(({ body }) => body)),
        settled,
      };
      accepted = [];
      settled = [];
      write(commit, (firstId) => {
        isBusy = false;
        for (const [index, message] of group.entries()) {
          const answer = `{"messageId":"${firstId + index}"}`;
          message.response.writeHead(201, { 'content-type': 'application/json', 'content-length': answer.length });
          message.response.end(answer);
          deliver(firstId + index, message);
        }
        if (accepted.length + settled.length > 0) commitSoon();
      });
    });
  }

  function deliver(id: number, { url, headers, body }: Accepted): void {
    const { origin, pathname, search } = new URL(url);
    let pool = pools.get(origin);
    if (!pool) {
      pool = new Pool(origin, { connections: 200 });
      pools.set(origin, pool);
    }
    if (isSigned) headers.signature = sign(url, body, id);
    let status = 0;
    const settle = () => {
      settled.push([id, status]);
      commitSoon();
    };
    pool.dispatch(
      { path: pathname + search, method: 'POST', headers, body },
      {
        onRequestStart() {},
        onResponseStart(_, statusCode) {
          status = statusCode;
        },
        onResponseData() {},
        onResponseEnd: settle,
        onResponseError: settle,
      },
    );
  }

  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const headers: Record<string, string> = {};
      for (const [name, value] of Object.entries(request.headers)) {
        if (name === 'content-type') headers[name] = String(value);
        else if (name.startsWith('service-forward-')) headers[name.slice(16)] = String(value);
      }
      const body = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
      accepted.push({ url: request.url!.slice('/v2/publish/'.length), headers, body, response });
      commitSoon();
    });
  });
  server.listen({ port: 0, host: '127.0.0.1', backlog: 4096 }, () => {
    const { port } = server.address() as AddressInfo;
    process.stdout.write(`${JSON.stringify({ api: `http://127.0.0.1:${port}`, token: 'none' })}\n`);
  });
}

const KEY = 'k'.repeat(32);
const JWT_HEAD = Buffer.from('{"alg":"HS256","typ":"JWT"}').toString('base64url');

function sign(url: string, body: Buffer, id: number): string {
  const now = Math.floor(Date.now() / 1000);
  const claims = { iss: 'floor', sub: url, exp: now + 300, nbf: now, iat: now, jti: String(id) };
  const text = JSON.stringify({ ...claims, body: hash('sha256', body, 'base64url') });
  const signed = `${JWT_HEAD}.${Buffer.from(text).toString('base64url')}`;
  return `${signed}.${createHmac('sha256', KEY).update(signed).digest('base64url')}`;
}

if (isMainThread) {
  const { values } = parseArgs({
    options: {
      data: { type: 'string', default: '.' },
      worker: { type: 'boolean', default: false },
      sign: { type: 'boolean', default: false },
    },
  });
  serve(values.data, values.worker, values.sign);
}
