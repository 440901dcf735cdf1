// Many accounts on one server, one of them hostile in every known way at once. Measures what the others feel: how soon
// their publishes are answered and their messages arrive, against the same time without the hostile one.

import { readFileSync } from 'node:fs';
import { Agent, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { ServerProcess } from '../../crash/server-process.ts';
import { ask } from '../../support/client.ts';
import type { HostileOrders, HostileReport } from './hostile-tenant.ts';

export interface TenantsOptions {
  /** Which store the server has, as flags. */
  readonly flags: readonly string[];
  /** How long each of the two parts takes: the calm one and the one with the hostile account. */
  readonly seconds: number;
  readonly onPart?: (name: string, felt: Felt) => void;
}

/** What the well-behaved accounts saw, in milliseconds. */
export interface Felt {
  readonly publishes: number;
  readonly answered: Percentiles;
  readonly delivered: Percentiles;
}

interface Percentiles {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

export interface TenantsReport {
  readonly calm: Felt;
  readonly attacked: Felt;
  readonly hostile: HostileReport;
  /** Null where the system does not tell. */
  readonly memory: ResidentMemory | null;
  readonly problems: readonly string[];
}

/** Of the server's process, all of its threads and the pages of its program among it, in megabytes. */
export interface ResidentMemory {
  /** After the calm part. */
  readonly calm: number;
  /** After so many seconds of the attacks. */
  readonly during: readonly (readonly [seconds: number, megabytes: number])[];
  readonly atMost: number;
}

const ACCOUNTS = 6;
/** Between two publishes of one account. */
const PAUSE_MS = 100;
/** The default budgets add up to this. */
export const MEMORY_MB_MAX = 700;
const LOOKS_AT_MEMORY = [30, 60, 180, 600];
/** For the last messages of the well-behaved to arrive. */
const ARRIVE_WITHIN_MS = 60_000;

export async function tenantsCampaign({ flags, seconds, onPart }: TenantsOptions): Promise<TenantsReport> {
  const problems: string[] = [];
  const server = new ServerProcess(flags);
  let hasEnded = false;
  void server.exited.then(() => {
    hasEnded = true;
  });
  const { api, token: admin } = await server.ready;
  const receiver = await startReceiver();
  try {
    const good: string[] = [];
    for (let index = 0; index < ACCOUNTS; index += 1)
      good.push(await newToken(api, admin!, `good-${index}`, 'free', ALL));
    const token = await newToken(api, admin!, 'hostile', 'paid', ALL);
    const readToken = await newToken(api, admin!, 'hostile-reader', 'paid', ['read']);
    const calm = await feel(api, good, receiver, seconds, problems);
    onPart?.('without the hostile account', calm);
    const calmMb = memoryMb(server.pid, 'VmRSS');
    const during: [number, number | null][] = [];
    const looks = LOOKS_AT_MEMORY.filter((at) => at < seconds).map((at) =>
      setTimeout(() => during.push([at, memoryMb(server.pid, 'VmRSS')]), at * 1000),
    );
    const orders: HostileOrders = { api, token, readToken, seconds };
    const worker = new Worker(new URL('./hostile-tenant.ts', import.meta.url), { workerData: orders });
    const hostile = new Promise<HostileReport>((resolve, reject) => {
      worker.once('message', resolve);
      worker.once('error', reject);
    });
    const [attacked, report] = await Promise.all([feel(api, good, receiver, seconds, problems), hostile]);
    onPart?.('with it', attacked);
    during.push([seconds, memoryMb(server.pid, 'VmRSS')]);
    for (const look of looks) clearTimeout(look);
    await worker.terminate();
    const atMost = memoryMb(server.pid, 'VmHWM');
    if (atMost !== null && atMost > MEMORY_MB_MAX) problems.push(`the server took ${atMost} MB`);
    if (hasEnded) problems.push(`the server ended: ${server.stderr}`);
    const memory =
      atMost === null ? null : { calm: calmMb!, during: during.map(([at, mb]) => [at, mb!] as const), atMost };
    return { calm, attacked, hostile: report, memory, problems };
  } finally {
    receiver.close();
    await server.kill();
  }
}

const ALL = ['publish', 'read', 'manage'];

async function newToken(api: string, admin: string, name: string, tier: string, scopes: readonly string[]) {
  const headers = { Authorization: `Bearer ${admin}`, 'Content-Type': 'application/json' };
  const post = async <T>(path: string, body: unknown): Promise<T> => {
    const answer = await ask(api, path, { method: 'POST', headers, body: JSON.stringify(body) });
    if (answer.status >= 300) throw new Error(`${path}: ${answer.status} ${answer.text}`);
    return answer.json<T>();
  };
  const { id } = await post<{ id: string }>('/v2/admin/accounts', { name, tier });
  const { token } = await post<{ token: string }>('/v2/admin/tokens', { accountId: id, name, scopes });
  return token;
}

interface Arrivals {
  readonly url: string;
  /** When each body arrived first. */
  readonly at: Map<string, number>;
  close(): void;
}

async function startReceiver(): Promise<Arrivals> {
  const at = new Map<string, number>();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString();
      if (!at.has(body)) at.set(body, performance.now());
      response.end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    at,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Publishes at a steady pace from every account, and waits until all of it has arrived. */
async function feel(
  api: string,
  tokens: readonly string[],
  receiver: Arrivals,
  seconds: number,
  problems: string[],
): Promise<Felt> {
  const agent = new Agent({ keepAlive: true });
  const endsAt = performance.now() + seconds * 1000;
  const answeredMs: number[] = [];
  const publishedAt = new Map<string, number>();
  const one = async (token: string, body: string) => {
    const askedAt = performance.now();
    const headers = { Authorization: `Bearer ${token}` };
    try {
      const answer = await ask(api, `/v2/publish/${receiver.url}`, { method: 'POST', headers, body }, agent);
      if (answer.status !== 201) problems.push(`a well-behaved account was refused: ${answer.status} ${answer.text}`);
      else publishedAt.set(body, askedAt);
    } catch (error) {
      problems.push(`a well-behaved account got no answer: ${(error as Error).message}`);
    }
    answeredMs.push(performance.now() - askedAt);
  };
  const asking: Promise<void>[] = [];
  for (let round = 0; performance.now() < endsAt; round += 1) {
    for (const [index, token] of tokens.entries()) asking.push(one(token, `${endsAt} ${index} ${round}`));
    await wait(PAUSE_MS);
  }
  await Promise.all(asking);
  const giveUpAt = performance.now() + ARRIVE_WITHIN_MS;
  const missing = () => [...publishedAt.keys()].filter((body) => !receiver.at.has(body));
  while (missing().length > 0 && performance.now() < giveUpAt) await wait(50);
  if (missing().length > 0) problems.push(`${missing().length} messages of well-behaved accounts did not arrive`);
  agent.destroy();
  const deliveredMs = [...publishedAt].flatMap(([body, at]) => {
    const arrivedAt = receiver.at.get(body);
    return arrivedAt === undefined ? [] : [arrivedAt - at];
  });
  return { publishes: answeredMs.length, answered: percentiles(answeredMs), delivered: percentiles(deliveredMs) };
}

function percentiles(values: readonly number[]): Percentiles {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (part: number) => sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? 0;
  return { p50: at(0.5), p99: at(0.99), max: at(1) };
}

/** As the system counts it: now, or the most there ever was. */
function memoryMb(pid: number, name: 'VmRSS' | 'VmHWM'): number | null {
  try {
    const kib = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return kib === undefined ? null : Math.round((Number(kib) * 1024) / 1e6);
  } catch {
    return null;
  }
}

/** A part in one line. */
export function feltLine({ publishes, answered, delivered }: Felt): string {
  const show = ({ p50, p99, max }: Percentiles) =>
    `p50 ${p50.toFixed(1)}, p99 ${p99.toFixed(1)}, at most ${max.toFixed(0)} ms`;
  return `${publishes.toLocaleString('en')} publishes answered: ${show(answered)} · delivered: ${show(delivered)}`;
}

export function memoryLine(memory: ResidentMemory | null): string {
  if (memory === null) return 'resident memory of the server: this system does not tell';
  const { calm, during, atMost } = memory;
  const looks = during.map(([seconds, megabytes]) => `after ${seconds} s of the attacks ${megabytes} MB`);
  const verdict = atMost > MEMORY_MB_MAX ? 'TOO MUCH' : 'within the limit';
  return `resident memory of the server: before the attacks ${calm} MB, ${looks.join(', ')}; at most ${atMost} MB of ${MEMORY_MB_MAX} MB: ${verdict}`;
}
