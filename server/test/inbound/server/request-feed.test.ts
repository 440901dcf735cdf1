// The feed of node:http while callers take turns: a long body waits behind its head, every request is charged to whoever sent
// it, and what waits for its turn when the service stops is answered.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { CALLER_TIMES, CallerConnections } from '../../../src/inbound/server/caller-connections.ts';
import { CountedRequest } from '../../../src/inbound/server/counted-request.ts';
import { NodeServer } from '../../../src/inbound/server/node-server.ts';
import { RequestFeed } from '../../../src/inbound/server/request-feed.ts';
import { eachMax } from '../../../src/rules/limits/budgets.ts';
import { LoopTurns, type LoopUser } from '../../../src/runtime/loop-turns.ts';
import { systemWorld } from '../../../src/runtime/world.ts';
import { RawCaller } from '../../support/raw-caller.ts';
import { waitFor } from '../../support/wait.ts';

/** The account `much` has used more than its part as long as the test says so. Its turn comes when the test says so. */
class GivenTurns extends LoopTurns {
  mustMuchWait = true;
  mustAllWait = false;
  readonly waiting: (() => void)[] = [];
  readonly requestsOf = new Map<string, number>();

  override mustWait({ key }: LoopUser): boolean {
    return this.mustAllWait || (this.mustMuchWait && key === 'much');
  }

  override wait(_user: LoopUser, work: () => void): void {
    this.waiting.push(work);
  }

  override chargeRequest({ key }: LoopUser): void {
    this.requestsOf.set(key, (this.requestsOf.get(key) ?? 0) + 1);
  }
}

/** Answers each request with its path and how much of its body came. `/as/x` is a call of the account x. */
async function startServer(t: TestContext) {
  const { clock } = systemWorld();
  const connections = new CallerConnections(clock, CALLER_TIMES);
  const turns = new GivenTurns(clock, () => 0);
  const begun: { readonly request: IncomingMessage; bytes: number }[] = [];
  let isClosing = false;
  const receive = (request: IncomingMessage, response: ServerResponse) => {
    const connection = connections.begin({ request, response });
    if (connection === null) return;
    if (isClosing) connections.closeAfterLatest(connection);
    const account = /^\/as\/(\w+)/.exec(request.url!)?.[1];
    if (account !== undefined) connections.claim(request.socket, account);
    const mine = { request, bytes: 0 };
    begun.push(mine);
    request.on('data', (chunk: Buffer) => {
      mine.bytes += chunk.length;
    });
    request.on('end', () => response.end(`${request.url} ${mine.bytes}`));
  };
  const server: NodeServer = new NodeServer({ IncomingMessage: CountedRequest }, receive, (socket) => {
    const giveToNode = (given: Socket) => server.giveToNode(given);
    const options = { connections, turns, bodyMs: CALLER_TIMES.bodyMs, giveToNode, refuse: () => assert.fail() };
    new RequestFeed(options, connections.add(socket)!);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const close = () => {
    isClosing = true;
    connections.stop();
    server.close();
    server.closeIdleConnections();
  };
  const dial = async () => (await RawCaller.dial(t, `http://127.0.0.1:${port}`)).listen();
  return { dial, turns, begun, close };
}

const LENGTH = 60_000;

function post(account: string, body: string, length = LENGTH): string {
  return `POST /as/${account} HTTP/1.1\r\nHost: a\r\nContent-Length: ${length}\r\n\r\n${body}`;
}

const bodies = ({ responses }: RawCaller) => responses.map(({ body }) => body);

test('a long body of one who has used much waits behind its head, and one of another does not', async (t) => {
  const { dial, turns, begun } = await startServer(t);
  const [much, little] = [await dial(), await dial()];
  const [first, rest] = ['x'.repeat(1000), 'x'.repeat(LENGTH - 1000)];
  // In one piece, so that the start of the body is there when the head has told whose it is.
  much.say(post('much', first));
  await waitFor('the body to wait', () => turns.waiting.length === 1);
  assert.deepEqual(
    begun.map(({ bytes }) => bytes),
    [0],
    'its head was read, and nothing behind it',
  );
  little.say(post('little', first));
  await waitFor('the other body', () => begun[1]?.bytes === first.length);
  little.say(rest);
  await little.hears(200);
  assert.equal(begun[0]!.bytes, 0);

  turns.mustMuchWait = false;
  turns.waiting.shift()!();
  much.say(rest);
  await much.hears(200);
  assert.deepEqual(bodies(much), [`/as/much ${LENGTH}`]);
});

test('a body that came whole with its head does not wait: the response to a refused one would be lost', async (t) => {
  const { dial, turns } = await startServer(t);
  const caller = await dial();
  caller.say(post('much', 'x'.repeat(500), 500));
  await caller.hears(200);
  assert.deepEqual([turns.waiting.length, bodies(caller)], [0, ['/as/much 500']]);
});

test('requests in a row without an account are answered in their order, and each is charged to the network of its caller', async (t) => {
  const { dial, turns } = await startServer(t);
  const caller = await dial();
  const paths = Array.from({ length: 2 * eachMax('pipelined') }, (_, number) => `/free/${number}`);
  caller.say(paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`).join(''));
  await waitFor('all responses', () => caller.responses.length === paths.length);
  assert.deepEqual(
    bodies(caller),
    paths.map((path) => `${path} 0`),
  );
  assert.deepEqual([...turns.requestsOf.values()], [paths.length], 'one network, and all requests');
});

test('when the service stops, a request that was read and waits for its turn is answered, and the connection is closed behind it', async (t) => {
  const { dial, turns, close } = await startServer(t);
  const [kept, fresh, idle] = [await dial(), await dial(), await dial()];
  for (const caller of [kept, idle]) {
    caller.say('GET /first HTTP/1.1\r\nHost: a\r\n\r\n');
    await caller.hears(200);
  }
  turns.mustAllWait = true;
  kept.say('GET /second HTTP/1.1\r\nHost: a\r\n\r\nGET /third HTTP/1.1\r\nHost: a\r\n\r\n');
  fresh.say('GET /other HTTP/1.1\r\nHost: a\r\n\r\n');
  await waitFor('both to wait', () => turns.waiting.length === 2);
  close();
  for (const caller of [kept, fresh, idle]) await caller.hearsEnd();
  assert.deepEqual([kept, fresh, idle].map(bodies), [['/first 0', '/second 0'], ['/other 0'], ['/first 0']]);
  assert.match(kept.responses[1]!.head, /\r\nconnection: close\r\n/i);
  // Its turn comes all the same, and changes nothing.
  for (const work of turns.waiting) work();
});
