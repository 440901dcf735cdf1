// Shows the progress of long work: on a terminal one line that is overwritten, elsewhere a new line from time to time.

import type { Clock } from '../../../server/src/runtime/world.ts';
import type { OutputStream } from './terminal.ts';
import { spanText } from './time-text.ts';

const TERMINAL_EVERY_MS = 100;
const PLAIN_EVERY_MS = 5000;
/** Width of the bar, including its brackets. */
const BAR_WIDTH = 26;
const BAR_WIDTH_MIN = 8;
/**
 * Columns that stay empty at the end of the line, for the ^C that the terminal itself writes there. Without them the
 * line would wrap, and a wrapped line cannot be erased.
 */
const RESERVED = 3;
const COLUMNS_ASSUMED = 100;
/** How long the work must run before a rate is shown, because rates vary too much at first. */
const RATE_MS_MIN = 1000;

export class ProgressBar {
  readonly #sink: OutputStream;
  readonly #clock: Clock;
  readonly #isSilent: boolean;
  #startedMs: number | null = null;
  #startedWith = 0;
  #shownMs: number | null = null;
  #isLineOpen = false;

  constructor(sink: OutputStream, clock: Clock, isSilent: boolean) {
    this.#sink = sink;
    this.#clock = clock;
    this.#isSilent = isSilent;
  }

  show(done: number, total: number, unit: string): void {
    if (this.#isSilent) return;
    const nowMs = this.#clock.monotonicMs();
    if (this.#startedMs === null) {
      this.#startedMs = nowMs;
      this.#startedWith = done;
      // Without a terminal the first line comes later: short work needs no line at all.
      if (!this.#sink.isTTY) this.#shownMs = nowMs;
    }
    const everyMs = this.#sink.isTTY ? TERMINAL_EVERY_MS : PLAIN_EVERY_MS;
    if (this.#shownMs !== null && nowMs - this.#shownMs < everyMs) return;
    this.#shownMs = nowMs;
    const text = progressText(done, total, unit, done - this.#startedWith, nowMs - this.#startedMs);
    if (!this.#sink.isTTY) {
      this.#sink.write(`${text}\n`);
      return;
    }
    // Some terminals report a width of 0.
    const widthMax = (this.#sink.columns || COLUMNS_ASSUMED) - RESERVED;
    const room = widthMax - text.length - 1;
    const line = room < BAR_WIDTH_MIN ? text : `${barText(done, total, Math.min(BAR_WIDTH, room))} ${text}`;
    this.#sink.write(`\r\u001b[K${line.slice(0, widthMax)}`);
    this.#isLineOpen = true;
  }

  /** Erases the line of the bar, so that later output takes its place. */
  end(): void {
    if (this.#isLineOpen) this.#sink.write('\r\u001b[K');
    this.#isLineOpen = false;
  }
}

function percent(done: number, total: number): number {
  return total === 0 ? 100 : Math.min(100, Math.floor((done / total) * 100));
}

export function barText(done: number, total: number, width = BAR_WIDTH): string {
  const inside = width - 2;
  const filled = Math.round((inside * percent(done, total)) / 100);
  return `[${'#'.repeat(filled)}${'-'.repeat(inside - filled)}]`;
}

export function progressText(done: number, total: number, unit: string, newlyDone: number, ms: number): string {
  const parts = [`${percent(done, total)} %`, `${done} of ${total} ${unit}`];
  const rate = (newlyDone / Math.max(1, ms)) * 1000;
  if (ms >= RATE_MS_MIN && rate > 0) {
    parts.push(`${Math.round(rate)}/s`, `${spanText(((total - done) / rate) * 1000)} left`);
  }
  return parts.join(' · ');
}
