// The self-tests of this folder, run once for each thread when it starts. Most are in memory, three need a connection of this
// machine to itself.

import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { systemWorld } from '../world.ts';
import { testBeforeWrite } from './before-write.ts';
import { testDatabaseConnection } from './database-connection.ts';
import { testFeature } from './features.ts';
import { testHalfOpen, testHttpConnection } from './http-connection.ts';
import { testLogLines } from './log-lines.ts';
import { testParsedRequest } from './parsed-request.ts';
import { testSocketBytes } from './socket-bytes.ts';
import { testWriteQueue } from './write-queue.ts';

/** What does not come by then does not come. It is waited for only where something does not work. */
const PATIENCE_MS = 10_000;

let tested: Promise<unknown> | null = null;
let databaseTested: Promise<void> | null = null;

/** Resolves when `works` knows. */
export async function testInternals(hasDatabase: boolean): Promise<void> {
  tested ??= Promise.all([
    testFeature('httpReader', () =>
      inTime(async () => {
        await onConnection(testSocketBytes);
        await onConnection(testHttpConnection);
      }),
    ),
    testFeature('requestBody', () => inTime(() => testParsedRequest())),
    testFeature('halfOpen', () => inTime(() => testHalfOpen())),
    testFeature('writeQueue', () => inTime(() => onConnection(async (near) => testWriteQueue(near)))),
    testFeature('firstWrite', () => inTime(() => testBeforeWrite())),
    testFeature('logLines', () => testLogLines()),
  ]);
  if (hasDatabase) databaseTested ??= testDatabase();
  await Promise.all([tested, databaseTested]);
}

/** pg is loaded only where it is used. */
async function testDatabase(): Promise<void> {
  const { default: pg } = await import('pg');
  await testFeature('databaseConnection', () => testDatabaseConnection(new pg.Client()));
}

function inTime(test: () => Promise<void>): Promise<void> {
  return new Promise((resolve, reject) => {
    const late = () => reject(new Error('something that Node.js calls was not called'));
    const cancel = systemWorld().clock.after(PATIENCE_MS, late);
    test().then(resolve, reject).finally(cancel);
  });
}

/** Over loopback, with both ends of a connection. */
async function onConnection(test: (near: Socket, far: Socket) => Promise<void>): Promise<void> {
  const server = createServer({ allowHalfOpen: true });
  const ends: Socket[] = [];
  try {
    await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const near = new Promise<Socket>((resolve) => server.once('connection', resolve));
    const far = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    ends.push(far);
    await new Promise<void>((resolve, reject) => far.once('connect', resolve).once('error', reject));
    ends.push(await near);
    await test(await near, far);
  } finally {
    for (const end of ends) end.destroy();
    server.close();
  }
}
