// Bodies as they come over a real connection: in pieces, too large, too many at once, broken off. Whatever becomes of
// one, the budget that all of them share is as it was.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { BodyReader } from '../../src/http/body.ts';
import { ApiError } from '../../src/http/errors.ts';

const BUDGET_BYTES = 100;
const LIMIT = { bytesMax: 80, error: () => new ApiError('request_too_large', 'over 80 bytes') };

test('body: it is whole however it was cut, and in memory of its own', async (t) => {
  const site = await startSite(t);
  for (const pieces of [[], ['one'], ['one ', 'two ', 'three']]) {
    const { request } = await site.post(pieces);
    const body = await site.reader.withBody(request, LIMIT, async (bytes) => bytes);
    assert.equal(Buffer.from(body).toString(), pieces.join(''));
    assert.equal(body.buffer.byteLength, body.length);
  }
});

test('body: one over its limit is refused while it still comes, and what follows is let go', async (t) => {
  const site = await startSite(t);
  const { request, socket } = await site.post(['x'.repeat(81)], 'open');
  await assert.rejects(site.reader.withBody(request, LIMIT, unused), hasCode('request_too_large'));
  assert.equal(request.destroyed, false);
  socket.write(`${chunk('x'.repeat(81))}0\r\n\r\n`);
  await once(request, 'end');
  await requireWholeBudget(site);
});

test('body: one for which the budget has no room is refused, until another has ended', async (t) => {
  const site = await startSite(t);
  const first = await site.post(['x'.repeat(60)]);
  const second = await site.post(['x'.repeat(60)]);
  await site.reader.withBody(first.request, LIMIT, async () => {
    await assert.rejects(site.reader.withBody(second.request, LIMIT, unused), hasCode('overloaded'));
  });
  await requireWholeBudget(site);
});

test('body: one whose use fails counts no longer', async (t) => {
  const site = await startSite(t);
  const { request } = await site.post(['x'.repeat(60)]);
  const failing = site.reader.withBody(request, LIMIT, () => Promise.reject(new Error('broken')));
  await assert.rejects(failing, { message: 'broken' });
  await requireWholeBudget(site);
});

test('body: one that the caller breaks off is given up, and used for nothing', async (t) => {
  const site = await startSite(t);
  const { request, socket } = await site.post(['x'.repeat(60)], 'open');
  const reading = site.reader.withBody(request, LIMIT, unused);
  await once(request, 'data');
  socket.destroy();
  await assert.rejects(reading, hasCode('bad_request'));
  await requireWholeBudget(site);
});

test('body: one whose caller went away before it was asked for is given up at once', async (t) => {
  const site = await startSite(t);
  const { request, socket } = await site.post(['x']);
  const isClosed = new Promise((resolve) => request.once('close', resolve));
  socket.destroy();
  await isClosed;
  await assert.rejects(site.reader.withBody(request, LIMIT, unused), hasCode('bad_request'));
});

interface Site {
  readonly reader: BodyReader;
  /** A request that has these pieces for a body, left unfinished when it is `open`. */
  post(
    pieces: readonly string[],
    end?: 'open',
  ): Promise<{ readonly request: IncomingMessage; readonly socket: Socket }>;
}

async function startSite(t: TestContext): Promise<Site> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    reader: new BodyReader(BUDGET_BYTES),
    async post(pieces, end) {
      const socket = connect(port, '127.0.0.1');
      t.after(() => socket.destroy());
      socket.write('POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n');
      for (const piece of pieces) socket.write(chunk(piece));
      if (end !== 'open') socket.write('0\r\n\r\n');
      const [request] = (await once(server, 'request')) as [IncomingMessage];
      return { request, socket };
    },
  };
}

function chunk(text: string): string {
  return `${text.length.toString(16)}\r\n${text}\r\n`;
}

/** Only when nothing else is held is there room for this much in two bodies at once. */
async function requireWholeBudget(site: Site): Promise<void> {
  const [first, second] = [await site.post(['x'.repeat(50)]), await site.post(['x'.repeat(50)])];
  const held = await site.reader.withBody(first.request, LIMIT, async (body) => {
    return body.length + (await site.reader.withBody(second.request, LIMIT, async ({ length }) => length));
  });
  assert.equal(held, BUDGET_BYTES);
}

function hasCode(code: string) {
  return (error: unknown) => error instanceof ApiError && error.problem.code === code;
}

async function unused(): Promise<never> {
  throw new Error('there is no whole body');
}
