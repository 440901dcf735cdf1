// CPU time for a message by thread: the busiest thread bounds what more cores can do. Publishers and receiver are light
// (wrk and nginx), so that most of the machine is for the service.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../server/test/support/free-port.ts';
import { Child } from './child.ts';
import { wait } from './clock.ts';
import { pace } from './part.ts';
import { publishOf, type RequestShape } from './request.ts';
import { onSqlite, type Running } from './targets.ts';

const TICK_MS = 10;
const START_MS_MAX = 30_000;

export interface Measured {
  readonly delivered: number;
  /** CPU microseconds for a delivered message. */
  readonly threadsUs: Readonly<Record<string, number>>;
  readonly rssMb: number;
}

/** CPU milliseconds by the name of the thread; threads that share a name together. */
function threadsMs(pid: number): Map<string, number> {
  const sums = new Map<string, number>();
  for (const task of readdirSync(`/proc/${pid}/task`)) {
    const [head, rest] = readFileSync(`/proc/${pid}/task/${task}/stat`, 'utf8').split(') ') as [string, string];
    const fields = rest.split(' ');
    const name = head.slice(head.indexOf('(') + 1);
    sums.set(name, (sums.get(name) ?? 0) + (Number(fields[11]) + Number(fields[12])) * TICK_MS);
  }
  return sums;
}

async function metric(api: string, line: RegExp): Promise<number> {
  const text = await (await fetch(`${api}/metrics`)).text();
  return Number(line.exec(text)?.[1] ?? 0);
}

function endedSoFar(api: string): Promise<number> {
  return metric(api, /^postrider_messages_ended_total\{state="delivered"\} (\d+)$/m);
}

/** A connection stays with the lane that took it, so publishers that come before all lanes listen would find only some. */
async function allListen(api: string, lanes: number): Promise<void> {
  const giveUpMs = performance.now() + START_MS_MAX;
  while ((await metric(api, /^postrider_lanes (\d+)$/m)) < lanes) {
    if (performance.now() > giveUpMs) throw new Error(`not all of ${lanes} lanes listen`);
    await wait(20);
  }
}

async function startNginx(folder: string): Promise<{ readonly child: Child; readonly url: string }> {
  const port = await freePort();
  const file = join(folder, 'nginx.conf');
  writeFileSync(
    file,
    `daemon off; worker_processes 1; pid ${folder}/nginx.pid; error_log stderr crit;
     events { worker_connections 4096; }
     http { access_log off; keepalive_requests 1000000; client_body_temp_path ${folder}/body;
       server { listen 127.0.0.1:${port}; location / { return 204; } } }`,
  );
  const child = new Child(['-c', file, '-p', folder], { command: 'nginx' });
  const url = `http://127.0.0.1:${port}/`;
  while (
    !(await fetch(url).then(
      () => true,
      () => false,
    ))
  ) {
    if (child.hasEnded) throw new Error(`nginx did not start: ${child.output}`);
    await wait(20);
  }
  return { child, url };
}

function startWrk(folder: string, api: string, { path, headers, body }: RequestShape): Child {
  const script = join(folder, 'publish.lua');
  const lines = Object.entries(headers).map(
    ([name, value]) => `wrk.headers[${JSON.stringify(name)}] = ${JSON.stringify(value)}`,
  );
  writeFileSync(
    script,
    `wrk.method = "POST"\nwrk.path = ${JSON.stringify(path)}\nwrk.body = ${JSON.stringify(body)}\n${lines.join('\n')}\n`,
  );
  const seconds = pace.warmUpSeconds + pace.seconds + 30;
  return new Child(['-t', '1', '-c', String(pace.connections), '-d', `${seconds}s`, '-s', script, api], {
    command: 'wrk',
  });
}

async function measureThreads(running: Running): Promise<Measured> {
  const [api] = running.apis as [string];
  const pid = running.children[0]!.process.pid!;
  const sink = await startNginx(running.folder);
  const publisher = startWrk(running.folder, api, publishOf(sink.url, running.token));
  try {
    await wait(pace.warmUpSeconds * 1000);
    const [before, endedBefore, startedAt] = [threadsMs(pid), await endedSoFar(api), performance.now()];
    await wait(pace.seconds * 1000);
    const [after, endedAfter, endedAt] = [threadsMs(pid), await endedSoFar(api), performance.now()];
    if (publisher.hasEnded) throw new Error(`wrk ended: ${publisher.output}`);
    const count = endedAfter - endedBefore;
    const spent = [...after].map(([name, ms]) => [name, ((ms - (before.get(name) ?? 0)) * 1000) / count] as const);
    return {
      delivered: (count * 1000) / (endedAt - startedAt),
      threadsUs: Object.fromEntries(spent),
      rssMb: running.rssBytes / 1e6,
    };
  } finally {
    await publisher.end();
    await sink.child.end('SIGTERM');
  }
}

export async function measureLanes(lanes: number): Promise<Measured> {
  const running = await onSqlite.start({ flags: ['--lanes', String(lanes)] });
  try {
    if (lanes > 1) await allListen(running.apis[0]!, lanes);
    return await measureThreads(running);
  } finally {
    await running.stop();
  }
}

const LANE = /^(node-MainThread|MainThread|node|lane-\d+)$/;

/** Of each lane. */
export function lanesUs(threadsUs: Measured['threadsUs']): number[] {
  return Object.entries(threadsUs)
    .filter(([thread]) => LANE.test(thread))
    .map(([, us]) => us);
}

/** Of the lane or the writer that is busiest. */
export function busiestUs(threadsUs: Measured['threadsUs']): number {
  return Math.max(...lanesUs(threadsUs), threadsUs.writer ?? 0);
}
