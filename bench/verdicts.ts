// The targets of growth and of the tail, held against what was measured: each verdict names the numbers it rests on. What
// a message costs is judged by goal-verdicts.ts, from one run.

import { formatted, type Report, type Row } from './part.ts';
import { BODY_BYTES } from './request.ts';

const NOT_MEASURED = '–';

export interface Verdict {
  readonly id: string;
  readonly target: string;
  readonly measured: string;
  /** Null when it was not measured. */
  readonly isMet: boolean | null;
}

interface Check {
  readonly text: string;
  readonly isMet: boolean | null;
}

export function verdicts(report: Report): Verdict[] {
  const look = new Look(report);
  return [
    verdict('T3', 'at half load: p50 ≤ 2 ×, p99 ≤ 3 × the floor’s response, received p99 ≤ 10 ms', [
      look.timesFloor('half.ackP50', 2, 'response p50'),
      look.timesFloor('half.ackP99', 3, 'response p99'),
      look.atMost('side-by-side', 'Postrider on SQLite', 'half.receivedP99', 10, 'ms received p99'),
    ]),
    verdict('T4', 'batches of 100: ≥ 30,000 accepted/s', [
      look.atLeast('batch', '100 a request, delayed', 'accepted', 30_000, 'accepted/s'),
    ]),
    verdict('T5', '1,000,000 delayed behind: ≥ 0.9 of empty, start ≤ 5 s, idle < 1 %, memory + ≤ 50 MB', [
      look.atLeast('delayed', '1,000,000 delayed', 'against', 0.9, 'of empty'),
      look.atMost('delayed', '1,000,000 delayed', 'startMs', 5000, 'ms to start'),
      look.atMost('idle', '1,000,000 delayed', 'percent', 1, '% of a core idle'),
      look.moreMemory('delayed', '0 delayed', '1,000,000 delayed', 50),
    ]),
    verdict('T6', '10,000 FIFO queues ≥ 0.7 of unordered; one queue ≤ 1 ms a message beyond the round trip', [
      look.atLeast('fifo', '10,000 queues', 'against', 0.7, 'of unordered'),
      look.atMost('fifo', '1 queue, full, drained', 'beyondMs', 1, 'ms a message in one queue beyond the round trip'),
    ]),
    verdict('T7', 'PostgreSQL ≥ 0.4 of SQLite', [
      look.ratio('nodes', 'PostgreSQL, 1 node', 'SQLite, 1 node', 'delivered', 0.4, 'of SQLite'),
    ]),
    verdict('T8', 'file bytes of an open message ≤ 2 × its body', [
      look.atMost('delayed', '1,000,000 delayed', 'openBytes', 2 * BODY_BYTES, 'bytes in the file'),
    ]),
    verdict('T9', 'with 5,000,000 ended messages behind ≥ 0.9 of empty', [look.largestHistory(0.9)]),
  ];
}

function verdict(id: string, target: string, checks: readonly Check[]): Verdict {
  const isMet = checks.some((check) => check.isMet === null) ? null : checks.every((check) => check.isMet === true);
  const isMissed = checks.some((check) => check.isMet === false);
  return { id, target, measured: checks.map(({ text }) => text).join('; '), isMet: isMissed ? false : isMet };
}

class Look {
  readonly #report: Report;

  constructor(report: Report) {
    this.#report = report;
  }

  atLeast(part: string, row: string, key: string, least: number, unit: string): Check {
    const value = this.#value(part, row, key);
    return { text: `${formatted(value)} ${unit}`, isMet: value === null ? null : value >= least };
  }

  atMost(part: string, row: string, key: string, most: number, unit: string): Check {
    const value = this.#value(part, row, key);
    return { text: `${formatted(value)} ${unit}`, isMet: value === null ? null : value <= most };
  }

  ratio(part: string, row: string, reference: string, key: string, least: number, unit: string): Check {
    const value = divided(this.#value(part, row, key), this.#value(part, reference, key));
    return { text: `${formatted(value)} ${unit}`, isMet: value === null ? null : value >= least };
  }

  timesFloor(key: string, most: number, unit: string): Check {
    const ours = this.#value('side-by-side', 'Postrider on SQLite', key);
    const value = divided(ours, this.#value('side-by-side', 'floor: store in a worker, signed', key));
    return { text: `${formatted(value)} × the floor’s ${unit}`, isMet: value === null ? null : value <= most };
  }

  moreMemory(part: string, reference: string, row: string, most: number): Check {
    const [more, less] = [this.#value(part, row, 'idleMb'), this.#value(part, reference, 'idleMb')];
    const value = more === null || less === null ? null : more - less;
    const text = value !== null && value < 0 ? `${formatted(-value)} MB less` : `${formatted(value)} MB more`;
    return { text, isMet: value === null ? null : value <= most };
  }

  largestHistory(least: number): Check {
    const row = this.#rows('history').at(-1);
    const value = row?.numbers.against ?? null;
    const isMet = value === null ? null : value >= least;
    const isLarge = (row?.numbers.size ?? 0) >= 5_000_000;
    return { text: `${formatted(value)} of empty with ${row?.name ?? NOT_MEASURED}`, isMet: isLarge ? isMet : null };
  }

  #rows(part: string): readonly Row[] {
    return this.#report.parts[part]?.rows ?? [];
  }

  #value(part: string, row: string, key: string): number | null {
    return this.#rows(part).find(({ name }) => name === row)?.numbers[key] ?? null;
  }
}

export function divided(value: number | null, by: number | null): number | null {
  return value === null || by === null || by === 0 ? null : value / by;
}
