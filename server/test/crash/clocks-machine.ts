// A machine in virtual time whose wall clock can be wrong, that can sleep and stand still; what a process sees of it; and
// a receiver that answers everything.

import type { Delivery, Sender, SendReport } from '../../src/delivery/engine/sender.ts';
import type { Clock } from '../../src/runtime/world.ts';
import { OK } from '../conformance/given.ts';

/** When every machine begins. */
export const START = Date.UTC(2026, 0, 1, 8);

interface Timer {
  readonly atMs: number;
  readonly fire: () => void;
}

/** The clocks of a machine. Its time passes only as the campaign says. */
export class Machine {
  /** The time that has really passed. */
  passedMs = 0;
  /** How far the wall clock is off. */
  offMs = 0;
  asleepMs = 0;
  bootedMs = -3_600_000;
  readonly timers = new Set<Timer>();

  get trueAt(): number {
    return START + this.passedMs;
  }

  get monotonicMs(): number {
    return this.passedMs - this.asleepMs - this.bootedMs;
  }

  /** Time passes, and every timer fires at its time. */
  async pass(ms: number, quiet: () => Promise<void>): Promise<void> {
    const endMs = this.monotonicMs + ms;
    for (await quiet(); ; await quiet()) {
      const nextMs = Math.min(...[...this.timers].map(({ atMs }) => atMs));
      this.passedMs += Math.max(0, Math.min(nextMs, endMs) - this.monotonicMs);
      const due = [...this.timers].filter(({ atMs }) => atMs <= this.monotonicMs).sort((a, b) => a.atMs - b.atMs);
      if (due.length === 0) return;
      for (const timer of due) if (this.timers.delete(timer)) timer.fire();
    }
  }
}

/** What a process, or a lane of it, sees of the machine. When it has ended, no timer of it fires. */
export class ProcessClock implements Clock {
  readonly #machine: Machine;
  readonly #timers = new Set<Timer>();
  #isOver = false;

  constructor(machine: Machine) {
    this.#machine = machine;
  }

  readonly now = () => this.#machine.trueAt + this.#machine.offMs;
  readonly wallNow = this.now;
  readonly machineNow = this.now;
  readonly monotonicMs = () => this.#machine.monotonicMs;
  readonly asleepMs = () => this.#machine.asleepMs;

  after(ms: number, fire: () => void): () => void {
    if (this.#isOver) return () => {};
    const timer = { atMs: this.#machine.monotonicMs + Math.max(0, Math.ceil(ms)), fire };
    const { timers } = this.#machine;
    timers.add(timer);
    this.#timers.add(timer);
    return () => void timers.delete(timer);
  }

  soon(fire: () => void): void {
    queueMicrotask(() => {
      if (!this.#isOver) fire();
    });
  }

  shortly(fire: () => void): void {
    this.after(5, fire);
  }

  end(): void {
    this.#isOver = true;
    for (const timer of this.#timers) this.#machine.timers.delete(timer);
  }
}

/** A receiver that answers everything, some of it after a long time. */
export class Answering implements Sender {
  readonly #clock: ProcessClock;
  readonly #arrive: (messageId: string) => number;
  #report: (reports: readonly SendReport[]) => void = () => {};
  #untilMs = Number.POSITIVE_INFINITY;

  /** `arrive` returns how long the answer takes. */
  constructor(clock: ProcessClock, arrive: (messageId: string) => number) {
    this.#clock = clock;
    this.#arrive = arrive;
  }

  send(deliveries: readonly Delivery[]): void {
    for (const { lease, messageId } of deliveries) {
      const startedAt = this.#clock.now();
      const isLate = this.#clock.monotonicMs() >= this.#untilMs;
      this.#clock.after(isLate ? 0 : this.#arrive(messageId), () =>
        this.#report([{ lease, startedAt, endedAt: this.#clock.now(), outcome: isLate ? 'unsent' : OK }]),
      );
    }
  }

  mayStartUntil(untilMs: number): void {
    this.#untilMs = untilMs;
  }

  onReports(listener: (reports: readonly SendReport[]) => void): void {
    this.#report = listener;
  }

  drop(): readonly string[] {
    return [];
  }

  onWritten(): void {}
  async close(): Promise<void> {}
}
