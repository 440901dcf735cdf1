// Our client for plain HTTP and undici, beside each other, against the same receivers, which close, reset, delay, split and
// add at every stage. Each response has the id of its request. The clock is moved a millisecond at a time, so that no delay
// depends on the machine; sockets are real.

import { once } from 'node:events';
import { connect } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { createDial, type Dial } from '../../../src/delivery/egress/dial.ts';
import { WireWindow } from '../../../src/delivery/engine/wire-window.ts';
import { NetworkAttempt } from '../../../src/delivery/http/attempt.ts';
import { Connections } from '../../../src/delivery/http/connections.ts';
import type { Outcome } from '../../../src/rules/delivery/message.ts';
import { nodeMax } from '../../../src/rules/limits/budgets.ts';
import { parseTargetUrl } from '../../../src/rules/publish/destination.ts';
import { Pool } from '../../../src/runtime/collections/pool.ts';
import { Deadlines } from '../../../src/runtime/deadlines.ts';
import { Chance } from '../../simulation/chance.ts';
import { CA } from './certificates.ts';
import { type ManualClock, manualClock, policyOf, until } from './senders.ts';
import { type Plan, planOf, verdictOf } from './unruly-plan.ts';
import { UnrulyReceiver } from './unruly-receiver.ts';

const CLIENTS = ['ours', 'undici', 'undici over TLS'] as const;
export type ClientName = (typeof CLIENTS)[number];

/** That of a request to which no response comes. The others have more than all of these together. */
const HANGING_MS = 100;
const TIMEOUT_MS = 1_000_000;
const IDLE_MS_MAX = 5_000;
/** Real time without an end, after which those that hang are brought to theirs. */
const QUIET_MS = 10;
/** Real time in which something must happen. */
const STUCK_MS = 30_000;
const AT_ONCE = 6;

export interface ReceiversReport {
  exchanges: number;
  receivers: number;
  /** Requests on a connection that had served before. */
  reused: number;
  readonly problems: string[];
}

export interface ReceiversOptions {
  readonly seed: number;
  readonly receivers?: number;
  /** Requests to each receiver, by each client. */
  readonly requests?: number;
  /** A clock with which connections do not rest, to show that the campaign sees it. */
  readonly isRestless?: boolean;
}

export async function receiversCampaign(options: ReceiversOptions): Promise<ReceiversReport> {
  const { seed, receivers = 4, requests = 40, isRestless = false } = options;
  const report: ReceiversReport = { exchanges: 0, receivers: 0, reused: 0, problems: [] };
  for (let number = 0; number < receivers; number += 1) {
    const chance = new Chance((seed + number * 31) % 2 ** 31);
    const isOrderly = chance.isTrue(40);
    const most = chance.pick([1, 2, 4, 64]);
    const drainsAfter = chance.isTrue(15) ? chance.below(requests) : null;
    const plans = new Map<string, Plan>();
    for (let count = 0; count < requests; count += 1) {
      const plan = planOf(seed, number * 1_000 + count, isOrderly);
      plans.set(plan.id, plan);
    }
    const verdicts = new Map<ClientName, ReadonlyMap<string, string>>();
    for (const client of CLIENTS) {
      const trial = new ClientTrial(client, plans, most, isRestless);
      verdicts.set(client, await trial.run(drainsAfter));
      report.receivers += 1;
      report.exchanges += trial.verdicts.size;
      report.reused += trial.reusedCount;
      report.problems.push(...trial.problems.map((problem) => `${client}, receiver ${number}: ${problem}`));
    }
    if (drainsAfter === null) report.problems.push(...differences(plans, verdicts));
  }
  return report;
}

/** Only where a plan allows one verdict is it the receiver's doing alone, and not that of a race. */
function differences(
  plans: ReadonlyMap<string, Plan>,
  verdicts: ReadonlyMap<ClientName, ReadonlyMap<string, string>>,
): string[] {
  const problems: string[] = [];
  for (const { id, verdicts: right, undiciVerdict } of plans.values()) {
    const all = CLIENTS.map((client) => verdicts.get(client)!.get(id));
    if (right.length === 1 && undiciVerdict === null && new Set(all).size > 1)
      problems.push(`${id}: ${CLIENTS.join(', ')} say ${all.join(', ')}`);
  }
  return problems;
}

/** One client and one receiver. */
class ClientTrial {
  readonly verdicts = new Map<string, string>();
  readonly problems: string[] = [];
  reusedCount = 0;
  readonly #client: ClientName;
  readonly #plans: ReadonlyMap<string, Plan>;
  readonly #clock: ManualClock;
  readonly #receiver: UnrulyReceiver;
  readonly #connections: Connections;
  readonly #answers = new Pool(nodeMax('answers'));
  readonly #deadlines: Deadlines;
  readonly #wire: WireWindow;
  readonly #waiting: Plan[];
  readonly #running = new Map<string, NetworkAttempt>();

  constructor(client: ClientName, plans: ReadonlyMap<string, Plan>, most: number, isRestless: boolean) {
    this.#client = client;
    this.#plans = plans;
    this.#waiting = [...plans.values()];
    const clock = manualClock();
    const restless = { soon: (fire: () => void) => fire(), shortly: (fire: () => void) => fire() };
    this.#clock = clock;
    this.#receiver = new UnrulyReceiver(clock, plans, client === 'undici over TLS');
    this.#wire = new WireWindow(clock);
    this.#deadlines = new Deadlines(clock);
    this.#connections = new Connections({
      clock: isRestless ? { ...clock, monotonicMs: () => clock.monotonicMs(), ...restless } : clock,
      dial: dialOf(client),
      wire: this.#wire,
      hostConnectionsMax: most,
    });
  }

  async run(drainsAfter: number | null): Promise<ReadonlyMap<string, string>> {
    const port = await this.#receiver.start();
    const waiting = this.#waiting;
    let seenCount = -1;
    let seenAtMs = performance.now();
    let movedAtMs = 0;
    while (waiting.length > 0 || this.#running.size > 0) {
      while (waiting.length > 0 && this.#running.size < AT_ONCE) this.#start(waiting.shift()!, port);
      if (drainsAfter !== null && this.verdicts.size >= drainsAfter) break;
      if (this.verdicts.size !== seenCount) {
        seenCount = this.verdicts.size;
        seenAtMs = performance.now();
      }
      if (performance.now() - seenAtMs > STUCK_MS) {
        this.problems.push(`nothing ends: ${[...this.#running.keys()].join(', ')}`);
        break;
      }
      // A millisecond takes at least one in reality: the kernel may be slow as well.
      if (performance.now() - movedAtMs >= 1) {
        movedAtMs = performance.now();
        const isQuiet = movedAtMs - seenAtMs > QUIET_MS && this.#hasHanging();
        for (let ms = 0; ms < (isQuiet ? HANGING_MS : 1); ms += 1) this.#clock.advance(1);
      }
      await new Promise((turn) => setImmediate(turn));
    }
    await this.#finish();
    return this.verdicts;
  }

  #hasHanging(): boolean {
    return [...this.#running.keys()].some((id) => this.#plans.get(id)!.hangs);
  }

  /** What is still under way is cut off, as a drain does. Then nothing may be left. */
  async #finish(): Promise<void> {
    const cutOff = [...this.#running.values()];
    for (const attempt of cutOff) attempt.interrupt('drained');
    if (this.#running.size > 0) this.problems.push('a drain leaves attempts');
    this.reusedCount = this.#receiver.reusedCount;
    if (this.#answers.used > 0) this.problems.push(`${this.#answers.used} bytes of responses are held`);
    this.#receiver.hangUp();
    // No timer is needed for that: what a receiver closes is dropped when the close arrives.
    await this.#empties('connections that the receiver closed', () => this.#connections.openCount === 0);
    this.#clock.advance(IDLE_MS_MAX);
    await this.#connections.close();
    await this.#empties('sockets of the receiver', () => this.#receiver.sockets.size === 0);
    if (this.#connections.originCount > 0) this.problems.push('an origin is held');
  }

  async #empties(what: string, isEmpty: () => boolean): Promise<void> {
    await until(isEmpty).catch(() => this.problems.push(`${what} stay open`));
  }

  #start(plan: Plan, port: number): void {
    const { id } = plan;
    const target = parseTargetUrl(`${this.#client === 'ours' ? 'http' : 'https'}://127.0.0.1:${port}/`);
    if ('problem' in target) throw new Error(target.problem);
    const owner = {
      attemptEnded: (_lease: string, _at: number, outcome: Outcome | 'unsent') => this.#end(plan, outcome),
      bodyWritten: () => {},
    };
    const { deadlines, wire, answers } = { deadlines: this.#deadlines, wire: this.#wire, answers: this.#answers };
    const attempt = new NetworkAttempt({ connections: this.#connections, deadlines, wire, answers }, owner, id, 0);
    this.#running.set(id, attempt);
    attempt.start({
      accountId: 'a',
      target,
      method: 'POST',
      headers: [['X-Id', id]],
      signature: [],
      body: Buffer.alloc(plan.requestBytes, 'q'),
      timeoutMs: plan.hangs ? HANGING_MS : TIMEOUT_MS,
      mustStartBefore: null,
    });
  }

  #end(plan: Plan, outcome: Outcome | 'unsent'): void {
    const { id } = plan;
    if (!this.#running.delete(id)) this.problems.push(`${id} ended twice`);
    // Not a byte was written, so it is tried again, as the engine does.
    if (outcome === 'unsent') {
      this.#waiting.unshift(plan);
      return;
    }
    if (outcome.kind === 'interrupted') return;
    const verdict = outcome.kind === 'answered' ? answered(outcome) : outcome.kind;
    this.verdicts.set(id, verdict);
    if (outcome.kind === 'answered') {
      const given = outcome.headers.find(([name]) => name === 'X-Id')?.[1];
      if (given !== id) this.problems.push(`${id} was given the response to ${given}`);
    }
    const isRight = plan.verdicts.includes(verdict) || (this.#client !== 'ours' && verdict === plan.undiciVerdict);
    if (!isRight) {
      const reason = 'reason' in outcome ? `: ${outcome.reason}` : '';
      this.problems.push(`${id} is ${verdict}${reason}, not ${plan.verdicts.join(' or ')}`);
    }
  }
}

function answered({ status, body, isBodyCut }: Outcome & { readonly kind: 'answered' }): string {
  return verdictOf(status, Buffer.from(body).toString('latin1')) + (isBodyCut ? ' cut' : '');
}

/** undici is given a plain connection too: it asks nobody what lies below. */
function dialOf(client: ClientName): Dial {
  const lookups = { find: async (_accountId: string, hostname: string) => [hostname] };
  const plain = createDial({ policy: policyOf('127.0.0.0/8'), network: { connect }, lookups });
  if (client === 'ours') return plain;
  return async (target, accountId, signal) => {
    const socket = await plain({ ...target, protocol: 'http:' }, accountId, signal);
    if (client === 'undici') return socket;
    const secured = connectTls({ socket, ca: CA, host: '127.0.0.1', ALPNProtocols: ['http/1.1'] });
    await once(secured, 'secureConnect');
    return secured;
  };
}
