// Runs the self-tests of this folder, once for each thread when it starts. Most tests run in memory; three need a
// connection over the loopback interface.

import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { testBeforeWrite } from './before-write.ts';
import { testDatabaseConnection } from './database-connection.ts';
import { testFeature } from './features.ts';
import { testHalfOpen, testHttpConnection } from './http-connection.ts';
import { testLogLines } from './log-lines.ts';
import { testParsedRequest } from './parsed-request.ts';
import { testSocketBytes } from './socket-bytes.ts';
import { testWriteQueue } from './write-queue.ts';

let tested: Promise<unknown> | null = null;
let databaseTested: Promise<void> | null = null;

/** Resolves when the results of the self-tests are known. */
export async function testInternals(hasDatabase: boolean): Promise<void> {
  tested ??= Promise.all([
    testFeature('httpReader', async (late) => {
      await onConnection(late, testSocketBytes);
      await onConnection(late, testHttpConnection);
    }),
    testFeature('requestBody', () => testParsedRequest()),
    testFeature('halfOpen', () => testHalfOpen()),
    testFeature('writeQueue', (late) => onConnection(late, async (near) => testWriteQueue(near))),
    testFeature('firstWrite', () => testBeforeWrite()),
    testFeature('logLines', () => testLogLines()),
  ]);
  if (hasDatabase) databaseTested ??= testDatabase();
  await Promise.all([tested, databaseTested]);
}

/** Loads pg only here, because not every service uses a database. */
async function testDatabase(): Promise<void> {
  const { default: pg } = await import('pg');
  await testFeature('databaseConnection', () => testDatabaseConnection(new pg.Client()));
}

/** Runs a test with both ends of a connection over loopback. */
async function onConnection(late: AbortSignal, test: (near: Socket, far: Socket) => Promise<void>): Promise<void> {
  const server = createServer({ allowHalfOpen: true });
  const ends: Socket[] = [];
  const close = () => {
    for (const end of ends) end.destroy();
    server.close();
  };
  late.addEventListener('abort', close, { once: true });
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
    close();
  }
}
