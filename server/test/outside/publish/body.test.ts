// Bodies as they come over a real connection: in pieces, too large, too many at once, broken off. Whatever becomes of
// one, the budget that all of them share is as it was.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { ApiError } from '../../../src/inbound/api/errors.ts';
import { BodyReader } from '../../../src/inbound/publish/body.ts';
import { CountedRequest } from '../../../src/inbound/server/counted-request.ts';
import { eachMax } from '../../../src/rules/limits/budgets.ts';
import { Pool } from '../../../src/runtime/collections/pool.ts';
import { waitFor } from '../../support/wait.ts';

const ACCOUNT = 'acc_1';
/** Of which one account alone gets half. */
const BUDGET_BYTES = 200;
const LIMIT = { bytesMax: 80, error: () => new ApiError('request_too_large', 'over 80 bytes') };

test('body: it is whole however it was cut, and in memory of its own', async (t) => {
  const site = await startSite(t);
  for (const pieces of [[], ['one'], ['one ', 'two ', 'three']]) {
    const { request } = await site.post(pieces);
    const body = await withBody(site, request, ACCOUNT, LIMIT, async (bytes) => bytes);
    assert.equal(Buffer.from(body).toString(), pieces.join(''));
    assert.equal(body.buffer.byteLength, body.length);
  }
  for (const pieces of [['one'], ['o', 'ne']]) {
    const { request, socket } = await site.announce(3);
    const reading = withBody(site, request, ACCOUNT, LIMIT, async (bytes) => bytes);
    for (const piece of pieces) await new Promise((resolve) => socket.write(piece, resolve));
    const body = await reading;
    assert.equal(Buffer.from(body).toString(), 'one');
    assert.equal(body.buffer.byteLength, 3);
  }
});

test('body: one that came before it was asked for is whole, also if it had to wait at the door', async (t) => {
  const site = { ...(await startSite(t)), reader: new BodyReader(new Pool(2_000_000)) };
  const text = Array.from({ length: 100_000 }, (_, index) => String(index)).join();
  const { request, socket } = await site.announce(text.length);
  socket.write(text.slice(0, 1000));
  await waitFor('the first piece of it', () => request.readableLength === 1000);
  socket.write(text.slice(1000));
  await waitFor('more than one piece of it', () => request.readableLength > request.readableHighWaterMark);
  const limit = { ...LIMIT, bytesMax: text.length };
  assert.equal(await withBody(site, request, ACCOUNT, limit, async (bytes) => Buffer.from(bytes).toString()), text);
});

test('body: one over its limit is refused while it still comes, and what follows is let go', async (t) => {
  const site = await startSite(t);
  const { request, socket } = await site.post(['x'.repeat(81)], 'open');
  await assert.rejects(withBody(site, request, ACCOUNT, LIMIT, unused), hasCode('request_too_large'));
  assert.equal(request.destroyed, false);
  socket.write(`${chunk('x'.repeat(81))}0\r\n\r\n`);
  await once(request, 'end');
  requireWholeBudget(site);
});

test('body: one that is over the share of its account is refused, until another has ended; other accounts have theirs', async (t) => {
  const site = await startSite(t);
  const first = await site.post(['x'.repeat(60)]);
  const second = await site.post(['x'.repeat(60)]);
  await withBody(site, first.request, ACCOUNT, LIMIT, async () => {
    await assert.rejects(withBody(site, second.request, ACCOUNT, LIMIT, unused), hasCode('share_used'));
    const other = await site.post(['x'.repeat(40)]);
    assert.equal(await withBody(site, other.request, 'acc_2', LIMIT, async ({ length }) => length), 40);
  });
  requireWholeBudget(site);
});

test('body: one that the caller breaks off is given up, and used for nothing', async (t) => {
  const site = await startSite(t);
  const { request, socket } = await site.post(['x'.repeat(60)], 'open');
  const reading = withBody(site, request, ACCOUNT, LIMIT, unused);
  await waitFor('its bytes', () => site.pool.used === 60);
  socket.destroy();
  await assert.rejects(reading, hasCode('bad_request'));
  requireWholeBudget(site);
});

test('body: one whose caller went away before it was asked for is given up at once', async (t) => {
  const site = await startSite(t);
  const { request, socket } = await site.post(['x']);
  const isClosed = new Promise((resolve) => request.once('close', resolve));
  socket.destroy();
  await isClosed;
  await assert.rejects(withBody(site, request, ACCOUNT, LIMIT, unused), hasCode('bad_request'));
});

test('body: what is announced counts before any of it has come, and what has no room is not read', async (t) => {
  const site = await startSite(t);
  const first = await site.announce(70);
  const reading = withBody(site, first.request, ACCOUNT, LIMIT, async ({ length }) => length);
  assert.equal(site.pool.used, 70);
  const second = await site.announce(70);
  await assert.rejects(withBody(site, second.request, ACCOUNT, LIMIT, unused), hasCode('share_used'));
  assert.equal(second.request.readableFlowing, null);
  first.socket.write('x'.repeat(70));
  assert.equal(await reading, 70);
  requireWholeBudget(site);
});

test('body: pieces of one byte are put together, not kept', async (t) => {
  const site = await startSite(t);
  const pieces = Array.from({ length: 60 }, (_, index) => String(index % 10));
  const { request } = await site.post(pieces);
  const body = await withBody(site, request, ACCOUNT, LIMIT, async (bytes) => bytes);
  assert.equal(Buffer.from(body).toString(), pieces.join(''));
  assert.equal(body.buffer.byteLength, 60);
});

test('body: one whose pieces become short late is refused, and never taken for whole without them', async (t) => {
  const max = eachMax('bodyPieces');
  const pool = new Pool(1_000_000);
  const site = { ...(await startSite(t)), reader: new BodyReader(pool) };
  const limit = { ...LIMIT, bytesMax: 100_000 };
  // So large that all of it counts as short only when twice the accepted number has come.
  const first = 'x'.repeat(30 * max + 16);
  const rest = `${chunk('x').repeat(2 * max + 4)}0\r\n\r\n`;
  const asked = await site.post([first], 'open');
  const refused = assert.rejects(withBody(site, asked.request, ACCOUNT, limit, unused), hasCode('body_in_pieces'));
  await waitFor('the first piece', () => pool.used === first.length);
  asked.socket.write(rest);
  await refused;
  // Its token is still being looked up.
  const waiting = await site.post([first], 'open');
  await waitFor('the first piece', () => waiting.request.readableLength === first.length);
  waiting.socket.write(rest);
  const { request } = waiting;
  await waitFor('the body to be cut short', () => request instanceof CountedRequest && request.isCutShort);
  await assert.rejects(withBody(site, request, ACCOUNT, limit, unused), hasCode('body_in_pieces'));
  assert.equal(request.readableEnded, false);
  assert.equal(pool.used, 0);
});

interface Site {
  readonly pool: Pool;
  readonly reader: BodyReader;
  /** A request of which nothing but the length of its body has come. */
  announce(bytes: number): Promise<{ readonly request: IncomingMessage; readonly socket: Socket }>;
  /** A request that has these pieces for a body, left unfinished when it is `open`. */
  post(
    pieces: readonly string[],
    end?: 'open',
  ): Promise<{ readonly request: IncomingMessage; readonly socket: Socket }>;
}

async function withBody<T>(
  { reader }: Pick<Site, 'reader'>,
  request: IncomingMessage,
  accountId: string,
  limit: typeof LIMIT,
  use: (bytes: Uint8Array) => Promise<T>,
): Promise<T> {
  const held = await reader.receive(request, accountId, limit);
  try {
    return await use(held.bytes);
  } finally {
    held.release();
  }
}

async function startSite(t: TestContext): Promise<Site> {
  const server = createServer({ IncomingMessage: CountedRequest });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const pool = new Pool(BUDGET_BYTES);
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    pool,
    reader: new BodyReader(pool),
    async announce(bytes) {
      const socket = connect(port, '127.0.0.1');
      t.after(() => socket.destroy());
      socket.write(`POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${bytes}\r\n\r\n`);
      const [request] = (await once(server, 'request')) as [IncomingMessage];
      return { request, socket };
    },
    async post(pieces, end) {
      const socket = connect(port, '127.0.0.1');
      t.after(() => socket.destroy());
      socket.write('POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n');
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

function requireWholeBudget(site: Pick<Site, 'pool'>): void {
  assert.equal(site.pool.used, 0);
}

function hasCode(code: string) {
  return (error: unknown) => error instanceof ApiError && error.problem.code === code;
}

async function unused(): Promise<never> {
  throw new Error('there is no whole body');
}
