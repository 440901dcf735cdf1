// Two ways to ask over a real socket: `ask`, which leaves path, header names and body bytes alone, and `exchange`,
// which sends the very bytes it is given, so that nothing on this side can repair or refuse them.

import { type Agent, request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { connect } from 'node:net';

export interface Asked {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: string | Uint8Array;
}

export interface Answered {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The body as JSON. */
  json<T = unknown>(): T;
}

export function ask(base: string, path: string, asked: Asked, agent?: Agent): Promise<Answered> {
  const { hostname, port } = new URL(base);
  const { method = 'GET', headers = {}, body } = asked;
  return new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { 'Content-Length': String(Buffer.byteLength(body)) };
    const request = httpRequest(
      {
        hostname: hostname.replace(/^\[(.*)\]$/, '$1'),
        port,
        method,
        path,
        headers: { ...length, ...(headers as Record<string, string | string[]>) },
        ...(agent && { agent }),
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () =>
          resolve(answered(response.statusCode ?? 0, response.headers, Buffer.concat(chunks).toString('utf8'))),
        );
      },
    );
    request.on('error', reject);
    request.end(body);
  });
}

function answered(status: number, headers: IncomingHttpHeaders, text: string): Answered {
  return { status, headers, text, json: <T>() => JSON.parse(text) as T };
}

/** One answer; null when the connection closed without any. */
export function exchange(base: string, bytes: string | Uint8Array): Promise<Answered | null> {
  const { hostname, port } = new URL(base);
  const request = typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes;
  const isHead = Buffer.from(request.subarray(0, 5)).toString('latin1') === 'HEAD ';
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname.replace(/^\[(.*)\]$/, '$1'));
    let received: Buffer = Buffer.alloc(0);
    const finish = () => {
      resolve(parseAnswer(received));
      socket.destroy();
    };
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      if (isWhole(received, isHead)) finish();
    });
    socket.on('close', finish);
    socket.on('error', finish);
    socket.write(request);
  });
}

const HEAD_END = '\r\n\r\n';

function isWhole(received: Buffer, isHead: boolean): boolean {
  const headEnd = received.indexOf(HEAD_END);
  if (headEnd < 0) return false;
  const length = /\r\ncontent-length: *(\d+)/i.exec(received.toString('latin1', 0, headEnd))?.[1];
  if (length === undefined) return false;
  return isHead || received.length >= headEnd + HEAD_END.length + Number(length);
}

function parseAnswer(received: Buffer): Answered | null {
  const headEnd = received.indexOf(HEAD_END);
  if (headEnd < 0) return null;
  const [statusLine = '', ...lines] = received.toString('latin1', 0, headEnd).split('\r\n');
  const headers: IncomingHttpHeaders = {};
  for (const line of lines) {
    const colon = line.indexOf(':');
    headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim();
  }
  const bodyStart = headEnd + HEAD_END.length;
  const bodyEnd = bodyStart + Number(headers['content-length'] ?? received.length);
  return answered(Number(statusLine.split(' ')[1]), headers, received.toString('utf8', bodyStart, bodyEnd));
}
