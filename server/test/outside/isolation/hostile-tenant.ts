// One account that misuses the service in every known way at once, on a thread of its own, with a receiver of its own.
// Everything it does needs nothing but its token. It ends after the time it was given and tells what it was answered.

import { Agent, request } from 'node:http';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { constants } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { setOwnPriority } from '../../../src/runtime/thread-priority.ts';

export interface HostileOrders {
  readonly api: string;
  /** Its token for everything, and one that may only read. */
  readonly token: string;
  readonly readToken: string;
  readonly seconds: number;
}

/** How often each way was answered with each status; `broken`: the connection ended without an answer. */
export type HostileReport = Readonly<Record<string, Readonly<Record<string, number>>>>;

const MIB = 1024 * 1024;
// The thread that started this one may have a higher priority, for what it measures.
setOwnPriority(constants.priority.PRIORITY_NORMAL);
const { api, token, readToken, seconds } = workerData as HostileOrders;
const { hostname, port } = new URL(api);
const endsAt = performance.now() + seconds * 1000;
const agent = new Agent({ keepAlive: true, maxSockets: 32 });
const sockets = new Set<Socket>();
const counts = new Map<string, Map<string, number>>();

function note(way: string, what: string): void {
  const of = counts.get(way) ?? new Map<string, number>();
  of.set(what, (of.get(what) ?? 0) + 1);
  counts.set(way, of);
}

interface Asked {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  readonly method?: string;
  readonly as?: string;
}

/** Asks, notes the status, and throws the answer away. */
function ask(
  way: string,
  path: string,
  { headers = {}, body, method = 'POST', as = token }: Asked = {},
): Promise<void> {
  return new Promise((resolve) => {
    const asking = request(
      { hostname, port, path, method, agent, headers: { Authorization: `Bearer ${as}`, ...headers } },
      (response) => {
        note(way, String(response.statusCode));
        response.on('error', () => resolve()).on('close', () => resolve());
        response.resume();
      },
    );
    asking.on('error', () => {
      note(way, 'broken');
      resolve();
    });
    asking.end(body);
  });
}

/** A server that answers every connection in the same bad way. */
function badReceiver(onData: (socket: Socket) => void): Promise<{ readonly server: Server; readonly url: string }> {
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
    socket.on('data', () => onData(socket));
  });
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () =>
      resolve({ server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }),
    );
  });
}

const flood = `HTTP/1.1 102 Processing\r\n\r\n`.repeat(2000);
const manyHeaders = `HTTP/1.1 500 No\r\n${'x-a: b\r\n'.repeat(6000)}Content-Length: 0\r\n\r\n`;
const silent = await badReceiver(() => {});
const flooding = await badReceiver((socket) => socket.write(flood));
const boastful = await badReceiver((socket) => socket.write(manyHeaders));
const failing = await badReceiver((socket) => socket.write('HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n'));
const receivers = [silent, flooding, boastful, failing];

const long = { 'Service-Timeout': '15m', 'Service-Retries': '0' };
const megabyte = new Uint8Array(MIB);
const thousand = Array.from({ length: 1000 }, (_, index) => index);
let turn = 0;

/** A connection that says something and then holds still. */
function hold(way: string, text: string): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname);
    sockets.add(socket);
    socket.on('error', () => note(way, 'broken'));
    socket.on('close', () => {
      sockets.delete(socket);
      note(way, 'closed');
    });
    socket.on('connect', () => {
      note(way, 'held');
      socket.write(text);
      resolve();
    });
    socket.resume();
  });
}

function head(path: string, length: number, method = 'POST'): string {
  return `${method} ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\nContent-Length: ${length}\r\n\r\n`;
}

const schedule = { headers: { 'Service-Cron': '* * * * *' } };

const ways: Readonly<Record<string, () => Promise<void>>> = {
  'large bodies to a silent receiver': () =>
    ask('large bodies to a silent receiver', `/v2/publish/${silent.url}`, { headers: long, body: megabyte }),
  'small bodies to a silent receiver': () =>
    ask('small bodies to a silent receiver', '/v2/batch', {
      body: JSON.stringify(thousand.slice(0, 200).map(() => ({ destination: silent.url, headers: long }))),
    }),
  'many hosts': () =>
    ask('many hosts', '/v2/batch', {
      body: JSON.stringify(
        thousand.map((index) => ({
          destination: `http://127.${(turn % 200) + 10}.${index % 250}.${1 + (index % 200)}:9/`,
          headers: { 'Service-Retries': '3' },
        })),
      ),
    }),
  'a batch of fan-outs': () =>
    ask('a batch of fan-outs', '/v2/batch', {
      body: JSON.stringify(thousand.map(() => ({ destination: 'wide', body: 'x'.repeat(1000) }))),
    }),
  'a wide fan-out of a large body': () =>
    ask('a wide fan-out of a large body', '/v2/publish/wide', { body: new Uint8Array(9 * MIB) }),
  'an array of arrays': () => ask('an array of arrays', '/v2/batch', { body: `[${'[],'.repeat(3_000_000)}[]]` }),
  'deep nesting': () => ask('deep nesting', '/v2/batch', { body: '['.repeat(5_000_000) }),
  'headers beyond the limit': () =>
    ask('headers beyond the limit', '/v2/publish/wide', {
      headers: { 'Service-Header-Forward': 'true', 'X-Long': 'x'.repeat(50_000) },
    }),
  'a content type of a megabyte': () =>
    ask('a content type of a megabyte', '/v2/batch', {
      body: JSON.stringify([{ destination: 'wide', headers: { 'Content-Type': 'x'.repeat(MIB) } }]),
    }),
  'names to redact': () =>
    ask('names to redact', '/v2/batch', {
      body: JSON.stringify([
        {
          destination: failing.url,
          headers: { 'Service-Redact-Fields': Array.from({ length: 200_000 }, (_, at) => `header[a${at}]`).join(',') },
        },
      ]),
    }),
  'slow uploads': () => hold('slow uploads', head('/v2/batch', 90 * MIB) + ' '.repeat(60_000)),
  'connections without a request': () => hold('connections without a request', ''),
  'half a head': () => hold('half a head', 'POST /v2/publish/http://a HTTP/1.1\r\nHost:'),
  'refused uploads that go on': () => hold('refused uploads that go on', head('/v2/publish/', 90 * MIB)),
  'live streams': () => hold('live streams', head('/v2/events/stream', 0, 'GET')),
  'pages of dead letters': () => ask('pages of dead letters', '/v2/dlq?count=1000', { method: 'GET', as: readToken }),
  'pages of events': () => ask('pages of events', '/v2/events?count=1000', { method: 'GET', as: readToken }),
  'searches in bodies': () => ask('searches in bodies', '/v2/messages?text=zzzz', { method: 'GET', as: readToken }),
  'answers that are not read': () =>
    hold('answers that are not read', head('/v2/events?count=1000', 0, 'GET').repeat(20)),
  'an inherited order': () =>
    ask('an inherited order', '/v2/messages?order=constructor', { method: 'GET', as: readToken }),
  'thousands of labels': () =>
    ask('thousands of labels', '/v2/messages', {
      method: 'DELETE',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ label: Array.from({ length: 30_000 }, (_, at) => `l${at}`) }),
    }),
  'bulk operations': () =>
    ask('bulk operations', '/v2/bulk', {
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ action: 'cancel', filter: { text: 'zzzz' }, dryRun: turn % 2 === 0, perSecond: 1000 }),
    }),
  'minute schedules': () => ask('minute schedules', `/v2/schedules/${failing.url}`, schedule),
  'a schedule that runs itself': () =>
    ask('a schedule that runs itself', '/v2/schedules/self/run', { headers: { 'Service-Retries': '0' } }),
  'callbacks of callbacks': () =>
    ask('callbacks of callbacks', `/v2/publish/${failing.url}`, {
      headers: {
        'Service-Retries': '100',
        'Service-Retry-Delay': '0',
        'Service-Callback': failing.url,
        'Service-Failure-Callback': failing.url,
      },
    }),
  'interim answers': () => ask('interim answers', `/v2/publish/${flooding.url}`, { headers: long }),
  'thousands of answer headers': () =>
    ask('thousands of answer headers', `/v2/publish/${boastful.url}`, { headers: long }),
  'names that do not resolve': () =>
    ask('names that do not resolve', `/v2/publish/http://name-${turn}-${Math.random()}.invalid/`, { headers: long }),
  'wrong tokens': () => ask('wrong tokens', '/v2/messages', { method: 'GET', as: `wrong-${Math.random()}` }),
};

await ask('preparing', '/v2/topics/wide/endpoints', {
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify({ endpoints: thousand.map((index) => ({ url: `${failing.url}/${index}` })) }),
});
await ask('preparing', `/v2/schedules/${api}/v2/schedules/self/run`, {
  headers: {
    'Service-Cron': '0 0 1 1 *',
    'Service-Schedule-Id': 'self',
    'Service-Forward-Authorization': `Bearer ${token}`,
  },
});

/** Each way again and again, by itself, so that a slow one holds up no other. */
async function repeat(way: () => Promise<void>): Promise<void> {
  for (let held = 0; performance.now() < endsAt && held < 5000; held += 1) {
    turn += 1;
    const left = endsAt - performance.now();
    await Promise.race([way(), new Promise((resolve) => setTimeout(resolve, Math.max(0, left)))]);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

await Promise.all(Object.values(ways).map(repeat));
for (const socket of sockets) socket.destroy();
agent.destroy();
for (const { server } of receivers) server.close();
const report: HostileReport = Object.fromEntries(
  [...counts].map(([way, of]) => [way, Object.fromEntries(of)] as const),
);
parentPort!.postMessage(report);
