// Well-behaved accounts beside an attack: they publish at a steady pace, and see how soon their publishes are answered and
// their messages arrive.

import { readFileSync } from 'node:fs';
import { Agent, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { ask } from '../../support/client.ts';

/** What the well-behaved accounts saw, in milliseconds. */
export interface Felt {
  readonly publishes: number;
  readonly answered: Percentiles;
  readonly delivered: Percentiles;
}

export interface Percentiles {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

/** Between two publishes of one account: 20 in a second. */
const PAUSE_MS = 50;
/** For the last messages of the well-behaved to arrive. */
const ARRIVE_WITHIN_MS = 60_000;

export const ALL = ['publish', 'read', 'manage'];

export async function newToken(api: string, admin: string, name: string, tier: string, scopes: readonly string[]) {
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

export interface Arrivals {
  readonly url: string;
  /** When each body arrived first. */
  readonly at: Map<string, number>;
  close(): void;
}

export async function startReceiver(): Promise<Arrivals> {
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
export async function feel(
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
export function memoryMb(pid: number, name: 'VmRSS' | 'VmHWM'): number | null {
  try {
    const kib = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return kib === undefined ? null : Math.round((Number(kib) * 1024) / 1e6);
  } catch {
    return null;
  }
}
