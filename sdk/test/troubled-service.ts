// A proxy in front of a real service that makes trouble when it is told to: it loses answers, cuts connections, or
// answers nonsense in place of the service.

import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Answers in place of the service, which never sees the request. */
const INSTEAD = {
  'bad gateway': [502, {}, '<html>'],
  'outcome unknown': [503, { 'Retry-After': '0' }, '{"error":"?","code":"outcome_unknown"}'],
  overloaded: [503, { 'Retry-After': '0' }, '{"error":"busy","code":"overloaded"}'],
  'too many': [429, {}, 'slow down'],
  tomorrow: [429, { 'Retry-After': '86000' }, '{"error":"used up","code":"quota_exceeded"}'],
  'until 2099': [503, { 'Retry-After': 'Thu, 01 Jan 2099 00:00:00 GMT' }, '{"error":"away","code":"draining"}'],
  'not json': [200, {}, 'data: not json\n\n'],
  redirect: [302, { Location: 'http://127.0.0.1:1/' }, ''],
  teapot: [418, {}, '[]'],
  'error of another': [403, {}, '{"error":{"message":"blocked"},"code":7}'],
  'not a list': [200, {}, '{"messages":7}'],
} as const;

export type Trouble = keyof typeof INSTEAD | 'lose answer' | 'cut answer' | 'bad gateway after' | 'silence';

export interface Troubled {
  readonly url: string;
  /** What was asked for, in order. */
  readonly requests: readonly string[];
  /** The trouble of the next request. */
  next(trouble: Trouble): void;
  /** Cuts every connection, and does this before a new one is let through. */
  cutAll(meanwhile: () => Promise<unknown>): Promise<void>;
  close(): Promise<void>;
}

export async function startTroubled({ url }: { readonly url: string }): Promise<Troubled> {
  const requests: string[] = [];
  let trouble: Trouble | null = null;
  let gate: Promise<unknown> = Promise.resolve();

  async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    requests.push(`${request.method} ${request.url}`);
    const [now] = [trouble];
    trouble = null;
    await gate;
    if (now === 'silence') return;
    if (now !== null && Object.hasOwn(INSTEAD, now)) {
      const [status, headers, text] = INSTEAD[now as keyof typeof INSTEAD];
      request.resume();
      response.writeHead(status, headers).end(text);
      return;
    }
    const { hostname, port } = new URL(url);
    const { host: _host, ...headers } = request.headers;
    const outgoing = send({ hostname, port, path: request.url, method: request.method, headers });
    request.pipe(outgoing);
    response.on('close', () => outgoing.destroy());
    outgoing.on('error', () => response.destroy());
    const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
    if (now === 'lose answer') return void response.destroy();
    if (now === 'bad gateway after') return void response.writeHead(502).end();
    response.writeHead(answer.statusCode!, answer.headers);
    if (now === 'cut answer') {
      response.write('{');
      setImmediate(() => response.destroy());
    } else answer.pipe(response);
  }

  const server = createServer((request, response) => void receive(request, response).catch(() => response.destroy()));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    next(given) {
      trouble = given;
    },
    async cutAll(meanwhile) {
      gate = meanwhile();
      server.closeAllConnections();
      await gate;
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
