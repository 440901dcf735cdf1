// The Sender that really sends, in the thread it is made in: signs each job, makes its attempt, and reports what came
// of it, all that ended at about the same time together. It decides nothing about retries.

import { nodeMax } from '../domain/budgets.ts';
import { parseTargetUrl, type TargetUrl } from '../domain/destination.ts';
import { Pool } from '../domain/pool.ts';
import type { World } from '../world.ts';
import { Attempt } from './attempt.ts';
import { Connections } from './connections.ts';
import { createDial, type Network, systemNetwork } from './dial.ts';
import type { EgressPolicy } from './egress.ts';
import { Lookups } from './lookups.ts';
import type { Sender, SendJob, SendReport } from './sender.ts';
import { putStandardWebhookHeaders, signJwt } from './sign.ts';
import { WireWindow } from './wire-window.ts';

export interface UndiciSenderOptions {
  readonly world: World;
  readonly policy: EgressPolicy;
  /** Connections to one host and port; a job beyond it waits, within its own deadline. */
  readonly hostConnectionsMax: number;
  /** Of our own headers, such as `Service-`; without its hyphen it is also the issuer of the signatures. */
  readonly headerPrefix: string;
  readonly network?: Network;
}

export interface UndiciSender extends Sender {
  /** What accounts share here, by its name in the table of budgets. */
  readonly pools: Readonly<Record<'lookups' | 'answers', Pool>>;
}

export function createUndiciSender(options: UndiciSenderOptions): UndiciSender {
  const { world, policy, hostConnectionsMax, headerPrefix, network = systemNetwork } = options;
  const { clock } = world;
  const lookups = new Lookups(clock, (hostname) => network.lookup(hostname));
  const dial = createDial({ policy, network, lookups });
  const issuer = headerPrefix.replace(/-$/, '');
  const signatureName = `${headerPrefix}Signature`;
  const wire = new WireWindow(clock);
  const connections = new Connections({ clock, dial, wire, hostConnectionsMax });
  const answers = new Pool(nodeMax('answers'));
  const running = new Map<string, Attempt>();
  /** Not begun; what is called takes it back. */
  const waiting = new Map<string, () => void>();
  let listener: (reports: readonly SendReport[]) => void = () => {};
  let onWritten: (leases: readonly string[]) => void = () => {};
  let ended: SendReport[] = [];
  let isClosed = false;
  /** It is taken back, and not reported. */
  let dropping: string | null = null;

  function report(lease: string, startedAt: number, outcome: SendReport['outcome']): void {
    ended.push({ lease, startedAt, endedAt: clock.now(), outcome });
    if (ended.length === 1) clock.soon(handOver);
  }

  function handOver(): void {
    if (ended.length === 0) return;
    const reports = ended;
    ended = [];
    listener(reports);
  }

  function start(job: SendJob): void {
    if (isClosed) {
      report(job.lease, clock.now(), 'unsent');
      return;
    }
    const target = parseTargetUrl(job.url);
    if ('problem' in target) {
      report(job.lease, clock.now(), { kind: 'refusedByPolicy', reason: target.problem });
      return;
    }
    if (connections.hasIdle(target)) begin(job, target);
    else beginWithLookup(job, target);
  }

  /** Before its name can be looked up the attempt has not begun: no deadline runs, and nothing is signed. */
  function beginWithLookup(job: SendJob, target: TargetUrl): void {
    let hasBegun = false;
    const takeBack = lookups.whenFree(job.accountId, target.hostname, () => {
      hasBegun = true;
      waiting.delete(job.lease);
      begin(job, target);
    });
    if (!hasBegun) waiting.set(job.lease, takeBack);
  }

  function begin(job: SendJob, target: TargetUrl): void {
    const startedAt = clock.now();
    const { lease, accountId, method, body, timeoutMs } = job;
    const headers = allHeaders(job, target);
    // None of these may see the job: they stay until the end, and its body need not.
    const onEnd = (outcome: SendReport['outcome']) => {
      running.delete(lease);
      if (lease !== dropping) report(lease, startedAt, outcome);
    };
    const attempt = new Attempt({ clock, connections, wire, answers }, onEnd, () => onWritten([lease]));
    running.set(lease, attempt);
    attempt.start({ accountId, target, method, headers, body, timeoutMs });
  }

  function giveBackWaiting(): void {
    for (const [lease, takeBack] of [...waiting]) {
      takeBack();
      waiting.delete(lease);
      report(lease, clock.now(), 'unsent');
    }
  }

  /** Answers whether not a byte of it was written. */
  function drop(lease: string): boolean {
    const takeBack = waiting.get(lease);
    if (takeBack) {
      takeBack();
      return waiting.delete(lease);
    }
    dropping = lease;
    const isUnsent = running.get(lease)?.dropUnsent() ?? false;
    dropping = null;
    return isUnsent;
  }

  /** One list from the first to the last, and no list besides: this is done for every attempt. */
  function allHeaders({ signingKey: key, messageId, url, body, headers }: SendJob, target: TargetUrl): string[] {
    const all = ['Host', target.hostHeader];
    for (const header of headers) all.push(header[0], header[1]);
    const nowMs = clock.machineNow();
    const jti = `jwt_${Buffer.from(world.random.bytes(16)).toString('base64url')}`;
    all.push(signatureName, signJwt({ key, issuer, url, body, nowMs, jti }));
    putStandardWebhookHeaders(all, { key, messageId, body, nowMs });
    return all;
  }

  return {
    pools: { lookups: lookups.pool, answers },
    send(jobs) {
      for (const job of jobs) start(job);
    },
    onReports(report) {
      listener = report;
    },
    onWritten(written) {
      onWritten = written;
    },
    mayStartUntil(untilMs) {
      if (!wire.extend(untilMs)) return;
      giveBackWaiting();
      for (const attempt of running.values()) attempt.dropUnsent();
    },
    drop: (leases) => leases.filter(drop),
    async close() {
      isClosed = true;
      giveBackWaiting();
      for (const attempt of running.values()) attempt.interrupt('cut off: this server is shutting down');
      await connections.close();
      handOver();
    },
  };
}
