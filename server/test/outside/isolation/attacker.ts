// One attack, repeated at full speed by one account for some seconds, as a process of its own with a lower priority: the
// attacker's own work must not be what the others feel. It sends what it was answered to its parent.

import { Agent, createServer as createHttpServer, request } from 'node:http';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { setPriority } from 'node:os';
import type { Document } from '../security/generated-calls.ts';
import { type AttackCall, generatedAttacks, type Targets } from './attacks.ts';

export interface AttackOrders {
  readonly api: string;
  readonly token: string;
  readonly document: Document;
  readonly name: string;
  readonly seconds: number;
  /** Where the numbers of its calls begin: an attack that is repeated makes new names. */
  readonly firstTurn: number;
}

/** How often each status came. `broken`: the connection ended without a response; `unfinished`: the time was up. */
export type AttackReport = Readonly<Record<string, number>>;

const CONNECTIONS = 32;
const LOWEST_PRIORITY = 19;

/** One after the other, before it begins: what a service does for the first time takes many times as long. */
const WARM_UP_CALLS = 3;
const WARM_UP_MS_MAX = 2_000;

setPriority(LOWEST_PRIORITY);
process.once('message', (orders: AttackOrders) => {
  void prepare(orders).then((attack) => {
    process.once('message', () => void attack().then((report) => process.send!(report, () => process.exit(0))));
    process.send!('ready');
  });
});
process.once('disconnect', () => process.exit(1));

async function prepare(orders: AttackOrders): Promise<() => Promise<AttackReport>> {
  const { api, token, document, name, seconds, firstTurn } = orders;
  const targets = await startTargets();
  const chosen = generatedAttacks(document, targets).find((each) => each.name === name);
  if (!chosen) throw new Error(`there is no attack ${name}`);
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  let turn = firstTurn;
  const callBy = (endsAt: number) => {
    turn += 1;
    return call(api, token, agent, chosen.call(turn), endsAt);
  };
  await call(api, token, agent, wideTopic(targets), performance.now() + WARM_UP_MS_MAX);
  for (let count = 0; count < WARM_UP_CALLS; count += 1) await callBy(performance.now() + WARM_UP_MS_MAX);
  return async () => {
    const endsAt = performance.now() + seconds * 1000;
    const counts: Record<string, number> = {};
    const send = async () => {
      while (performance.now() < endsAt) {
        const status = await callBy(endsAt);
        counts[status] = (counts[status] ?? 0) + 1;
      }
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, send));
    return counts;
  };
}

function wideTopic({ good }: Targets): AttackCall {
  const endpoints = Array.from({ length: 1000 }, (_, index) => ({ url: `${good}/${index}` }));
  return {
    method: 'POST',
    path: '/v2/topics/wide/endpoints',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ endpoints }),
  };
}

function call(
  api: string,
  token: string,
  agent: Agent,
  { method, path, headers, body }: AttackCall,
  endsAt: number,
): Promise<string> {
  const { hostname, port } = new URL(api);
  return new Promise((resolve) => {
    const length = body === undefined ? {} : { 'Content-Length': Buffer.byteLength(body) };
    const asking = request(
      { hostname, port, path, method, agent, headers: { Authorization: `Bearer ${token}`, ...length, ...headers } },
      (response) => {
        const done = () => resolve(String(response.statusCode));
        response.on('error', done).on('close', done);
        response.resume();
      },
    );
    // A live stream does not end by itself.
    const tooLong = setTimeout(
      () => {
        resolve('unfinished');
        asking.destroy();
      },
      Math.max(0, endsAt - performance.now()),
    );
    asking.on('error', () => resolve('broken'));
    asking.on('close', () => clearTimeout(tooLong));
    asking.end(body);
  });
}

async function startTargets(): Promise<Targets> {
  const answering = (status: number) =>
    createHttpServer((incoming, response) => {
      incoming.resume();
      response.statusCode = status;
      response.end();
    });
  const [good, failing, silent] = await Promise.all([
    listening(answering(200)),
    listening(answering(500)),
    listening(createServer((socket) => void socket.on('error', () => {}).resume())),
  ]);
  return { good, failing, silent };
}

function listening(server: Server): Promise<string> {
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
  });
}
