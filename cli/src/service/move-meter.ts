// Shows the progress of a move: on a terminal one line that is overwritten, elsewhere a new line from time to time.

import type { MoveProgress } from '../../../server/src/node/main.ts';
import type { Clock } from '../../../server/src/runtime/world.ts';

const TERMINAL_EVERY_MS = 100;
const PLAIN_EVERY_MS = 5000;
const BAR_WIDTH = 24;
const COLUMNS_ASSUMED = 100;
/** How long the move must run before a rate is shown, because rates vary too much at first. */
const RATE_MS_MIN = 1000;

export interface MeterOutput {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

export class MoveMeter {
  readonly #out: MeterOutput;
  readonly #clock: Clock;
  #phase: MoveProgress['phase'] | null = null;
  /** When the phase began. `#startedWith`: the rows that an earlier run had done then. The rate leaves them out. */
  #startedMs = 0;
  #startedWith = 0;
  #shownMs = 0;
  #isLineOpen = false;

  constructor(out: MeterOutput, clock: Clock) {
    this.#out = out;
    this.#clock = clock;
  }

  show(progress: MoveProgress): void {
    const nowMs = this.#clock.monotonicMs();
    const isNewPhase = progress.phase !== this.#phase;
    if (isNewPhase) {
      this.end();
      this.#phase = progress.phase;
      this.#startedMs = nowMs;
      this.#startedWith = progress.done;
    }
    const everyMs = this.#out.isTTY ? TERMINAL_EVERY_MS : PLAIN_EVERY_MS;
    if (!isNewPhase && nowMs - this.#shownMs < everyMs) return;
    this.#shownMs = nowMs;
    const text = this.#text(progress, nowMs - this.#startedMs);
    if (!this.#out.isTTY) {
      this.#out.write(`${text}\n`);
      return;
    }
    // Some terminals report a width of 0.
    const line = `${bar(progress)} ${text}`.slice(0, (this.#out.columns || COLUMNS_ASSUMED) - 1);
    this.#out.write(`\r\u001b[K${line}`);
    this.#isLineOpen = true;
  }

  /** Erases the line of the bar, so that later output takes its place. */
  end(): void {
    if (this.#isLineOpen) this.#out.write('\r\u001b[K');
    this.#isLineOpen = false;
  }

  #text({ phase, table, done, total }: MoveProgress, ms: number): string {
    const parts = [`${phase} ${percent(done, total)} %`, `${done} of ${total} rows`];
    const rate = ((done - this.#startedWith) / Math.max(1, ms)) * 1000;
    if (ms >= RATE_MS_MIN && rate > 0) {
      parts.push(`${Math.round(rate)} rows/s`, `${duration((total - done) / rate)} left`);
    }
    return [...parts, table].join(' · ');
  }
}

function percent(done: number, total: number): number {
  return total === 0 ? 100 : Math.floor((done / total) * 100);
}

function bar({ done, total }: MoveProgress): string {
  const filled = Math.round((BAR_WIDTH * percent(done, total)) / 100);
  return `[${'#'.repeat(filled)}${'-'.repeat(BAR_WIDTH - filled)}]`;
}

function duration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}
