// The files of the server that run something in each plain publish and its delivery, by V8's coverage, on the thread of the
// node and on those of its store. `npm run figures` counts them.

import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { Agent, createServer, request } from 'node:http';
import { Session } from 'node:inspector/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';

/** What a start does later than at once has ended by then. */
const START_MS = 1000;
/** Longer than it takes until a delivery is written to the store, and so short that a task which runs once a second misses one of three. */
const SETTLE_MS = 350;
/** The first one after a start also fills what is remembered, and is not counted. */
const PUBLISHES = 4;

interface FunctionCount {
  readonly functionName: string;
  readonly ranges: readonly { readonly startOffset: number; readonly count: number }[];
}

interface Coverage {
  readonly result: readonly { readonly url: string; readonly functions: readonly FunctionCount[] }[];
}

type Call = (method: string, params?: object) => Promise<unknown>;

/** By path below `server/src/`: the functions that ran in each publish. Null in a tree that has no such service. */
export async function filesOfAPublish(root: string): Promise<Map<string, Set<string>> | null> {
  const [main, config] = [
    ['node/main.ts', 'main.ts'],
    ['node/settings/config.ts', 'config.ts'],
  ].map((paths) => paths.map((path) => join(root, 'server/src', path)).find((path) => existsSync(path)));
  if (!main || !config) return null;
  const { startPostrider } = await import(pathToFileURL(main).href);
  const { parseConfig } = await import(pathToFileURL(config).href);
  const data = mkdtempSync(join(tmpdir(), 'postrider-figures-'));
  const flags = ['--port', '0', '--lanes', '1', '--data', data, '--allow-cidr', '127.0.0.0/8', '--log-level', 'silent'];
  const session = new Session();
  session.connect();
  const threads = await threadsOf(session);
  const service = await startPostrider(parseConfig('serve', flags, {}).config);
  try {
    await wait(START_MS);
    const own: Call = (method, params) => session.post(method, params);
    const calls = [own, ...threads.values()];
    for (const call of calls) {
      await call('Profiler.enable');
      await call('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
    }
    const counted: Set<string>[] = [];
    for (let publish = 0; publish < PUBLISHES; publish += 1) {
      for (const call of calls) await call('Profiler.takePreciseCoverage');
      await publishOnce(service);
      await wait(SETTLE_MS);
      const taken = await Promise.all(calls.map((call) => call('Profiler.takePreciseCoverage')));
      if (publish > 0) counted.push(ranIn(taken as Coverage[]));
    }
    return byFile(pathToFileURL(join(root, 'server/src/')).href, counted);
  } finally {
    await service.close();
    session.disconnect();
    rmSync(data, { recursive: true, force: true });
  }
}

/** By a caller with a connection of its own, to a receiver that has not been called before. */
async function publishOnce(service: { readonly url: string; readonly token: string }): Promise<void> {
  const { promise: received, resolve: receive } = Promise.withResolvers<void>();
  const receiver = createServer((arrival, response) => {
    arrival.resume().on('end', () => response.end(receive()));
  });
  await new Promise<void>((resolve) => void receiver.listen(0, '127.0.0.1', resolve));
  const agent = new Agent({ keepAlive: true });
  const to = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
  const headers = { authorization: `Bearer ${service.token}`, 'content-type': 'text/plain' };
  const status = await new Promise((resolve, reject) => {
    request(`${service.url}/v2/publish/${to}`, { method: 'POST', headers, agent }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode));
    })
      .on('error', reject)
      .end('hello');
  });
  if (status !== 201) throw new Error(`The publish got ${status}`);
  await received;
  receiver.close();
}

/** Each thread that is started from now on, as a way to call its inspector. */
async function threadsOf(session: Session): Promise<Map<string, Call>> {
  const threads = new Map<string, Call>();
  const waiting = new Map<number, (result: unknown) => void>();
  let calls = 0;
  session.on('NodeWorker.attachedToWorker', ({ params: { sessionId } }) => {
    threads.set(sessionId, (method, params = {}) => {
      calls += 1;
      const { promise, resolve } = Promise.withResolvers<unknown>();
      waiting.set(calls, resolve);
      const message = JSON.stringify({ id: calls, method, params });
      return session.post('NodeWorker.sendMessageToWorker', { sessionId, message }).then(() => promise);
    });
  });
  session.on('NodeWorker.receivedMessageFromWorker', ({ params }) => {
    const { id, result } = JSON.parse(params.message) as { id?: number; result?: unknown };
    if (id !== undefined) waiting.get(id)?.(result);
  });
  session.on('NodeWorker.detachedFromWorker', ({ params }) => void threads.delete(params.sessionId));
  await session.post('NodeWorker.enable', { waitForDebuggerOnStart: false });
  return threads;
}

/** Each function that ran, as the address of its file, its name and where it begins. */
function ranIn(taken: readonly Coverage[]): Set<string> {
  const scripts = taken.flatMap(({ result }) => result);
  const ran = scripts.flatMap(({ url, functions }) =>
    functions
      .filter(({ ranges }) => ranges[0]!.count > 0)
      .map(({ functionName, ranges }) => `${url} ${functionName}@${ranges[0]!.startOffset}`),
  );
  return new Set(ran);
}

function byFile(sources: string, counted: readonly ReadonlySet<string>[]): Map<string, Set<string>> {
  const inEach = counted.reduce<Set<string>>((all, ran) => all.intersection(ran), new Set(counted[0]));
  const found = new Map<string, Set<string>>();
  for (const each of inEach) {
    const [url = '', name = ''] = each.split(' ');
    if (!url.startsWith(sources)) continue;
    const path = url.slice(sources.length);
    found.set(path, (found.get(path) ?? new Set()).add(name));
  }
  return found;
}
