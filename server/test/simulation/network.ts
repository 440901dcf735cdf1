// The network and everyone behind it: a Sender whose requests take time, get lost, arrive, and are answered well or
// badly, all by seeded dice. It notes what the receivers got.

import type { Delivery, Sender, SendReport } from '../../src/delivery/engine/sender.ts';
import { WireWindow } from '../../src/delivery/engine/wire-window.ts';
import type { HeaderList, Outcome } from '../../src/rules/delivery/message.ts';
import type { Clock } from '../../src/runtime/world.ts';
import type { Chance } from './chance.ts';
import { POISON_HOST, SLOW_HOST } from './draft.ts';
import type { ProcessClock, Timeline } from './timeline.ts';

/** How a request goes: what the receiver answers, or how far it gets. */
export type Fate =
  | 'ok'
  | 'redirect'
  | 'clientError'
  | 'serverError'
  | 'tooMany'
  | 'status489'
  | 'markedFinal'
  | 'slow'
  | 'hang'
  | 'resetAfter'
  | 'resetBefore'
  | 'connectHang'
  | 'refusedByPolicy';

const MOODS: Readonly<Record<string, Readonly<Partial<Record<Fate, number>>>>> = {
  good: { ok: 96, slow: 3, serverError: 1 },
  mixed: {
    ok: 45,
    redirect: 3,
    clientError: 6,
    serverError: 14,
    tooMany: 8,
    status489: 2,
    markedFinal: 2,
    slow: 8,
    hang: 3,
    resetAfter: 4,
    resetBefore: 4,
    connectHang: 1,
    refusedByPolicy: 1,
  },
  broken: { ok: 12, serverError: 40, resetAfter: 12, resetBefore: 14, hang: 8, connectHang: 6, tooMany: 8 },
  limited: { ok: 30, tooMany: 60, slow: 10 },
  refusing: { refusedByPolicy: 40, status489: 20, markedFinal: 20, ok: 20 },
};
const MOOD_NAMES = Object.keys(MOODS);
/** Of a host that is down. */
const DOWN: Readonly<Partial<Record<Fate, number>>> = { serverError: 50, resetBefore: 40, resetAfter: 10 };

export const TRANSIT_MS_MAX = 300;
/** How often a receiver that may say later how its work has ended does so. */
const ACCEPTED_PERCENT = 85;
/** How often a request that was given up while it was on its way arrives all the same. */
const LATE_PERCENT = 30;

export interface NetworkLog {
  readonly fate: (fate: Fate) => void;
  readonly started: (delivery: Delivery) => void;
  /** `writtenAt`: when its first byte was written, on the clock of the service. */
  readonly arrived: (delivery: Delivery, writtenAt: number) => void;
  /** What has just arrived had been given up by its sender. */
  readonly late: () => void;
}

export class SimulatedNetwork {
  readonly #timeline: Timeline;
  readonly #chance: Chance;
  readonly #log: NetworkLog;
  readonly #headerPrefix: string;
  readonly #moods = new Map<string, string>();
  /** Hosts that are down, until they are taken out again. */
  readonly down = new Set<string>();
  isHealthy = false;

  constructor(timeline: Timeline, chance: Chance, headerPrefix: string, log: NetworkLog) {
    this.#timeline = timeline;
    this.#chance = chance;
    this.#headerPrefix = headerPrefix;
    this.#log = log;
  }

  /** The sender of one process. */
  sender(clock: ProcessClock, time: Pick<Clock, 'now'>): SimulatedSender {
    return new SimulatedSender(clock, time, this);
  }

  /** Lets a host behave differently from now on. */
  changeMood(host: string): string {
    const mood = this.#chance.pick(MOOD_NAMES);
    this.#moods.set(host, mood);
    return mood;
  }

  /** One request on its way. `report` is called at most once, unless the process died. */
  start(
    delivery: Delivery,
    clock: ProcessClock,
    wire: WireWindow,
    time: Pick<Clock, 'now'>,
    on: { readonly report: (outcome: SendReport['outcome']) => void; readonly written: () => void },
  ): Exchange {
    const fate = this.#fateOf(delivery);
    let writtenAt = 0;
    this.#log.fate(fate);
    return new Exchange(delivery, fate, clock, this.#timeline, this.#chance, {
      isOpen: () => wire.mayWrite(delivery.mustStartBefore),
      started: () => {
        writtenAt = time.now();
        this.#log.started(delivery);
      },
      arrived: () => this.#log.arrived(delivery, writtenAt),
      late: () => this.#log.late(),
      answer: () => this.#answer(fate, isTakenOn(delivery.headers, this.#headerPrefix)),
      ...on,
    });
  }

  #fateOf(delivery: Delivery): Fate {
    if (this.isHealthy) return 'ok';
    const host = new URL(delivery.url).hostname;
    if (host === POISON_HOST) return 'hang';
    if (host === SLOW_HOST) return 'slow';
    if (this.down.has(host)) return this.#chance.weighted(DOWN);
    return this.#chance.weighted(MOODS[this.#moods.get(host) ?? 'good']!);
  }

  /** `isTakenOn`: the receiver may say later how its work has ended. */
  #answer(fate: Fate, isTakenOn: boolean): Outcome {
    const isAccepted = isTakenOn && this.#chance.isTrue(ACCEPTED_PERCENT);
    const status =
      {
        redirect: [301, 302, 307],
        clientError: [400, 404, 410],
        serverError: [500, 502, 503],
        tooMany: [429],
        status489: [489],
        markedFinal: [422],
      }[fate as string] ?? (isAccepted ? [202] : [200, 201, 204]);
    const headers: [string, string][] = [['Content-Type', 'text/plain']];
    if (fate === 'tooMany') headers.push(['Retry-After', this.#chance.pick(['0', '1', '5', '30', '90'])]);
    if (fate === 'markedFinal') headers.push([`${this.#headerPrefix}NonRetryable-Error`, 'true']);
    return {
      kind: 'answered',
      status: this.#chance.pick(status),
      headers,
      body: new TextEncoder().encode(fate),
      isBodyCut: false,
    };
  }
}

/** Connect (a matter of the process), transit (on the wire, whatever becomes of the process), answer. */
class Exchange {
  readonly delivery: Delivery;
  isSent = false;
  readonly #report: (outcome: SendReport['outcome']) => void;
  #isOver = false;

  constructor(
    delivery: Delivery,
    fate: Fate,
    clock: ProcessClock,
    timeline: Timeline,
    chance: Chance,
    on: {
      isOpen: () => boolean;
      started: () => void;
      arrived: () => void;
      late: () => void;
      answer: () => Outcome;
      written: () => void;
      report: (outcome: SendReport['outcome']) => void;
    },
  ) {
    this.delivery = delivery;
    this.#report = on.report;
    clock.after(delivery.timeoutMs, () => this.end({ kind: 'timedOut', timeoutMs: delivery.timeoutMs }));
    if (fate === 'connectHang') return;
    clock.after(chance.isTrue(80) ? chance.between(0, 20) : chance.between(20, 1500), () => {
      if (this.#isOver) return;
      if (fate === 'refusedByPolicy') return this.end({ kind: 'refusedByPolicy', reason: 'the address is private' });
      if (fate === 'resetBefore') return this.end({ kind: 'unreachable', reason: 'the connection was refused' });
      if (!on.isOpen()) return this.end('unsent');
      this.isSent = true;
      on.started();
      timeline.after(chance.between(0, TRANSIT_MS_MAX), () => {
        // What a process had sent when it died, or when it gave up and closed its connection, may arrive or not.
        const isGivenUp = this.#isOver;
        if (clock.state === 'dead' ? chance.isTrue(50) : isGivenUp && !chance.isTrue(LATE_PERCENT)) return;
        on.arrived();
        if (isGivenUp) return on.late();
        clock.after(0, () => {
          if (!this.#isOver) on.written();
        });
        if (fate === 'hang') return;
        const answer = fate === 'resetAfter' ? null : on.answer();
        const answerMs = fate === 'slow' ? chance.between(500, 40_000) : chance.between(0, 400);
        timeline.after(answerMs, () => {
          clock.after(0, () => this.end(answer ?? { kind: 'unreachable', reason: 'the connection was reset' }));
        });
      });
    });
  }

  /** It is never sent, and not reported. */
  drop(): void {
    this.#isOver = true;
  }

  end(outcome: SendReport['outcome']): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#report(outcome);
  }
}

export class SimulatedSender implements Sender {
  readonly #clock: ProcessClock;
  readonly #time: Pick<Clock, 'now'>;
  readonly #network: SimulatedNetwork;
  readonly #wire: WireWindow;
  readonly #running = new Set<Exchange>();
  #listener: (reports: readonly SendReport[]) => void = () => {};
  #onWritten: (leases: readonly string[]) => void = () => {};
  #ended: SendReport[] = [];
  onSend: (deliveries: readonly Delivery[]) => void = () => {};
  /** Called with what is still running when the sender is closed. */
  onCutOff: (messageIds: readonly string[]) => void = () => {};

  constructor(clock: ProcessClock, time: Pick<Clock, 'now'>, network: SimulatedNetwork) {
    this.#clock = clock;
    this.#time = time;
    this.#network = network;
    this.#wire = new WireWindow({ monotonicMs: () => clock.monotonicMs(), now: () => time.now() });
  }

  get running(): Delivery[] {
    return [...this.#running].map(({ delivery }) => delivery);
  }

  send(deliveries: readonly Delivery[]): void {
    this.onSend(deliveries);
    for (const delivery of deliveries) {
      const startedAt = this.#time.now();
      const { lease } = delivery;
      const exchange = this.#network.start(delivery, this.#clock, this.#wire, this.#time, {
        written: () => this.#onWritten([lease]),
        report: (outcome) => {
          this.#running.delete(exchange);
          this.#ended.push({ lease, startedAt, endedAt: this.#time.now(), outcome });
          if (this.#ended.length === 1) this.#clock.after(1, () => this.#handOver());
        },
      });
      this.#running.add(exchange);
    }
  }

  onReports(listener: (reports: readonly SendReport[]) => void): void {
    this.#listener = listener;
  }

  onWritten(listener: (leases: readonly string[]) => void): void {
    this.#onWritten = listener;
  }

  mayStartUntil(untilMs: number): void {
    if (!this.#wire.extend(untilMs)) return;
    for (const exchange of this.#running) {
      if (!exchange.isSent) exchange.end('unsent');
    }
  }

  drop(leases: readonly string[]): readonly string[] {
    return leases.filter((lease) => {
      const exchange = [...this.#running].find(({ delivery, isSent }) => delivery.lease === lease && !isSent);
      exchange?.drop();
      return exchange !== undefined && this.#running.delete(exchange);
    });
  }

  async close(): Promise<void> {
    this.onCutOff([...this.#running].flatMap(({ delivery, isSent }) => (isSent ? [delivery.messageId] : [])));
    for (const exchange of this.#running) {
      exchange.end(exchange.isSent ? { kind: 'interrupted', reason: 'cut off', cause: 'drain' } : 'unsent');
    }
    this.#handOver();
  }

  #handOver(): void {
    if (this.#ended.length === 0) return;
    const reports = this.#ended;
    this.#ended = [];
    this.#listener(reports);
  }
}

function isTakenOn(headers: HeaderList, prefix: string): boolean {
  return headerOf(headers, `${prefix}Ack-Url`) !== null;
}

/** The header of that name, in any case. */
export function headerOf(headers: HeaderList, name: string): string | null {
  return headers.find(([other]) => other.toLowerCase() === name.toLowerCase())?.[1] ?? null;
}
