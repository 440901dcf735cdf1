// A real sender to a receiver on this machine, with the clock in the test's hands.

import type { TestContext } from 'node:test';
import { type EgressPolicy, parseAllowList } from '../../../src/delivery/egress/egress.ts';
import type { Delivery, Sender, SendReport } from '../../../src/delivery/engine/sender.ts';
import { createNetworkSender, type NetworkSenderOptions } from '../../../src/delivery/http/network-sender.ts';
import type { Outcome } from '../../../src/rules/delivery/message.ts';
import { type Clock, systemWorld } from '../../../src/runtime/world.ts';

/** Here a connection rests until the test moves the clock by this. */
export const REST_MS = 5;

export interface ManualClock extends Clock {
  advance(ms: number): void;
  readonly timerCount: number;
}

export function manualClock(startAt = 1_800_000_000_000): ManualClock {
  let elapsedMs = 0;
  const timers = new Set<{ readonly at: number; readonly fire: () => void }>();
  const after: Clock['after'] = (ms, fire) => {
    const timer = { at: elapsedMs + ms, fire };
    timers.add(timer);
    return () => timers.delete(timer);
  };
  return {
    now: () => startAt + elapsedMs,
    wallNow: () => startAt + elapsedMs,
    machineNow: () => startAt + elapsedMs,
    asleepMs: () => 0,
    monotonicMs: () => elapsedMs,
    after,
    soon: (fire) => void setImmediate(fire),
    shortly: (fire) => void after(REST_MS, fire),
    advance(ms) {
      elapsedMs += ms;
      for (const timer of [...timers].filter(({ at }) => at <= elapsedMs)) {
        timers.delete(timer);
        timer.fire();
      }
    },
    get timerCount() {
      return timers.size;
    },
  };
}

export function policyOf(allowList: string): EgressPolicy {
  const allowed = parseAllowList(allowList);
  if ('problem' in allowed) throw new Error(allowed.problem);
  return { allowed, own: [] };
}

export interface TestSender {
  readonly sender: Sender;
  readonly clock: ManualClock;
  /** Every batch, in the order it was handed over. */
  readonly batches: (readonly SendReport[])[];
  send(delivery: Partial<Delivery> & { readonly url: string }): Promise<SendReport>;
  outcome(delivery: Partial<Delivery> & { readonly url: string }): Promise<Outcome>;
}

export function startSender(t: TestContext, options: Partial<NetworkSenderOptions> = {}): TestSender {
  const clock = manualClock();
  const world = { ...systemWorld(), clock };
  const sender = createNetworkSender({
    world,
    policy: policyOf('127.0.0.0/8 ::1'),
    hostConnectionsMax: 64,
    headerPrefix: 'Service-',
    ...options,
  });
  t.after(() => sender.close());

  const batches: (readonly SendReport[])[] = [];
  const waiting = new Map<string, (report: SendReport) => void>();
  sender.onReports((reports) => {
    batches.push(reports);
    for (const report of reports) {
      const done = waiting.get(report.lease);
      if (done === undefined) throw new Error(`reported twice, or never sent: ${report.lease}`);
      waiting.delete(report.lease);
      done(report);
    }
  });
  let count = 0;
  const send: TestSender['send'] = (delivery) => {
    count += 1;
    const lease = `lse_${count}`;
    const reported = new Promise<SendReport>((done) => waiting.set(lease, done));
    sender.send([
      {
        lease,
        messageId: `msg_${count}`,
        accountId: 'acc_1',
        method: 'POST',
        headers: [],
        body: Buffer.from('hello'),
        timeoutMs: 30_000,
        mustStartBefore: null,
        signingKey: 'sig_test',
        ...delivery,
      },
    ]);
    return reported;
  };
  return {
    sender,
    clock,
    batches,
    send,
    outcome: async (delivery) => {
      const { outcome } = await send(delivery);
      if (outcome === 'unsent') throw new Error('it was not sent');
      return outcome;
    },
  };
}

/** Looks again at every turn of the event loop, and gives up long after anything healthy would have happened. */
export async function until(condition: () => boolean): Promise<void> {
  const giveUpAtMs = performance.now() + 20_000;
  while (!condition()) {
    if (performance.now() > giveUpAtMs) throw new Error(`waited in vain for ${condition}`);
    await new Promise((turn) => setImmediate(turn));
  }
}
