// Virtual time: the events of a run, fired one by one in the order of their time, and the clock of one simulated
// process, which stands between it and everything that could make it run on.

import type { Clock } from '../../src/runtime/world.ts';
import { ManualClock } from '../support/manual-clock.ts';

interface Event {
  readonly at: number;
  readonly fire: () => void;
}

/** A process that asks for the time this often between two events runs in circles. */
const CALLS_PER_EVENT_MAX = 20_000;
const LATER_MS_MAX = 2 ** 40;

export class Timeline {
  readonly clock = new ManualClock(Date.UTC(2026, 0, 1));
  /** By time, latest first; for one moment the newest first. */
  readonly #events: Event[] = [];
  #fired = 0;

  get fired(): number {
    return this.#fired;
  }

  get nowMs(): number {
    return this.clock.monotonicMs();
  }

  after(ms: number, fire: () => void): () => void {
    const event = { at: this.nowMs + Math.min(Math.max(0, Math.ceil(ms)), LATER_MS_MAX), fire };
    let at = this.#events.length;
    while (at > 0 && this.#events[at - 1]!.at <= event.at) at -= 1;
    this.#events.splice(at, 0, event);
    return () => {
      const found = this.#events.indexOf(event);
      if (found >= 0) this.#events.splice(found, 1);
    };
  }

  /** Moves time to the next event and fires it; false if there is none. */
  fireNext(): boolean {
    const event = this.#events.pop();
    if (!event) return false;
    this.#fired += 1;
    this.clock.advance(event.at - this.nowMs);
    event.fire();
    return true;
  }
}

/**
 * Time as one process sees it. Frozen, nothing that was set happens until it wakes; dead, nothing ever does. Store
 * replies and network answers come in through here too, so code of a process that is not running never runs.
 */
export class ProcessClock implements Clock {
  readonly #timeline: Timeline;
  readonly #held: (() => void)[] = [];
  #state: 'running' | 'frozen' | 'dead' = 'running';
  #eventNumber = -1;
  #calls = 0;

  constructor(timeline: Timeline) {
    this.#timeline = timeline;
  }

  get state(): 'running' | 'frozen' | 'dead' {
    return this.#state;
  }

  now(): number {
    this.#requireProgress();
    return this.#timeline.clock.now();
  }

  wallNow(): number {
    return this.now();
  }

  machineNow(): number {
    return this.now();
  }

  asleepMs(): number {
    return 0;
  }

  monotonicMs(): number {
    return this.#timeline.nowMs;
  }

  after(ms: number, fire: () => void): () => void {
    let isCancelled = false;
    const cancel = this.#timeline.after(ms, () => this.#run(() => isCancelled || fire()));
    return () => {
      isCancelled = true;
      cancel();
    };
  }

  soon(fire: () => void): void {
    this.#timeline.after(0, () => this.#run(fire));
  }

  shortly(fire: () => void): void {
    this.#timeline.after(5, () => this.#run(fire));
  }

  freeze(): void {
    this.#state = 'frozen';
  }

  /** What fell due in the meantime happens now, each as an event of its own. */
  wake(): void {
    this.#state = 'running';
    for (const fire of this.#held.splice(0)) this.#timeline.after(0, () => this.#run(fire));
  }

  kill(): void {
    this.#state = 'dead';
    this.#held.length = 0;
  }

  #run(fire: () => void): void {
    if (this.#state === 'running') fire();
    else if (this.#state === 'frozen') this.#held.push(fire);
  }

  #requireProgress(): void {
    if (this.#eventNumber !== this.#timeline.fired) {
      this.#eventNumber = this.#timeline.fired;
      this.#calls = 0;
    }
    this.#calls += 1;
    if (this.#calls > CALLS_PER_EVENT_MAX) throw new Error('endless loop: the simulated time does not advance');
  }
}
