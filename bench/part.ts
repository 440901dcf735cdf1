// What a measurement leaves behind: rows of numbers with names, as JSON for the report and as a table to read.

import {
  closeSync,
  existsSync,
  fdatasyncSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { cpus, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { median, type Pace, type Result } from './measure.ts';
import { slowPercent } from './steadiness.ts';

export interface Row {
  readonly name: string;
  readonly text?: Readonly<Record<string, string>>;
  readonly numbers: Readonly<Record<string, number | null>>;
}

export interface Part {
  readonly title: string;
  readonly columns: readonly (readonly [key: string, label: string])[];
  readonly rows: readonly Row[];
  readonly notes: readonly string[];
  /** How it was measured. */
  readonly pace: string;
  /** When and where. */
  readonly made?: string;
}

export interface Report {
  readonly machine: string;
  readonly date: string;
  readonly parts: Readonly<Record<string, Part>>;
}

const { values } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '20' },
    'warm-up': { type: 'string', default: '10' },
    connections: { type: 'string', default: '64' },
    json: { type: 'string' },
    peers: { type: 'boolean', default: false },
    sizes: { type: 'string' },
    accept: { type: 'boolean', default: false },
    minutes: { type: 'string', default: '10' },
    rate: { type: 'string', default: '300' },
    retention: { type: 'string', default: '30' },
  },
});

export const asked = values;
export const rounds = Number(values.rounds);
export const pace: Pace = {
  seconds: Number(values.seconds),
  warmUpSeconds: Number(values['warm-up']),
  connections: Number(values.connections),
};

export function sizesOr(...sizes: number[]): number[] {
  return values.sizes?.split(',').map(Number) ?? sizes;
}

export function paceText(): string {
  const { seconds, warmUpSeconds, connections } = pace;
  return `medians of ${rounds} interleaved rounds of ${seconds} s after ${warmUpSeconds} s of warm-up, ${connections} connections`;
}

const MS = 1000;

/** Latencies in milliseconds. */
export function numbersOf(result: Result): Record<string, number | null> {
  return {
    accepted: result.accepted,
    delivered: result.delivered,
    refused: result.refused,
    ackP50: result.answered.p50 / MS,
    ackP99: result.answered.p99 / MS,
    ackP999: result.answered.p999 / MS,
    receivedP50: result.received.p50 / MS,
    receivedP99: result.received.p99 / MS,
    cpuUs: result.cpuUs,
    cpuAcceptedUs: result.cpuAcceptedUs,
    databaseCpuUs: result.databaseCpuUs,
    allocatedBytes: result.allocatedBytes,
    rssMb: result.rssBytes / 1e6,
    fileBytes: result.fileBytes,
  };
}

export function markdown({ title, columns, rows, notes, pace: how }: Part): string {
  const lines = [`${title} (${how})`, '', `| | ${columns.map(([, label]) => label).join(' | ')} |`];
  lines.push(`|---|${columns.map(() => '---').join('|')}|`);
  for (const { name, text = {}, numbers } of rows) {
    const cells = columns.map(([key]) => text[key] ?? formatted(numbers[key] ?? null));
    lines.push(`| ${name} | ${cells.join(' | ')} |`);
  }
  for (const note of notes) lines.push('', note);
  return `${lines.join('\n')}\n`;
}

export function formatted(number: number | null): string {
  if (number === null || Number.isNaN(number)) return '–';
  const size = Math.abs(number);
  if (size >= 100) return Math.round(number).toLocaleString('en-US');
  return number.toFixed(size >= 10 ? 1 : 2);
}

/** Prints the table, and adds it to the file of `--json`, in place of an older one of the same name. */
export function publish(name: string, part: Part): void {
  process.stdout.write(`\n${machine()}\n\n${markdown(part)}`);
  if (values.json === undefined) return;
  const report: Report = existsSync(values.json)
    ? (JSON.parse(readFileSync(values.json, 'utf8')) as Report)
    : { machine: '', date: '', parts: {} };
  const date = new Date().toISOString().slice(0, 10);
  const parts = { ...report.parts, [name]: { ...part, made: `${date}: ${machine()}` } };
  const written: Report = { machine: machine(), date, parts };
  writeFileSync(values.json, `${JSON.stringify(written, null, 2)}\n`);
}

let known: string | null = null;

function machine(): string {
  const [{ model } = { model: 'unknown' }] = cpus();
  const memory = Math.round(totalmem() / 1024 ** 3);
  known ??= [
    `${cpus().length} × ${model}, ${memory} GiB, Node ${process.version}, fsync ${flushMs().toFixed(2)} ms`,
    `with nothing to do, a core runs at less than half of its speed for ${slowPercent().toFixed(1)} % of the time`,
    'publishers, receiver and databases share the machine',
  ].join('; ');
  return known;
}

function flushMs(): number {
  const folder = mkdtempSync(join(tmpdir(), 'postrider-bench-'));
  const file = openSync(join(folder, 'flush'), 'w');
  const times = Array.from({ length: 100 }, () => {
    writeSync(file, Buffer.alloc(4096));
    const startedAt = performance.now();
    fdatasyncSync(file);
    return performance.now() - startedAt;
  });
  closeSync(file);
  rmSync(folder, { recursive: true });
  return median(times);
}

/** All layouts in turn, round after round, so that whatever else the machine does falls on all of them. */
export async function interleaved<Layout extends { readonly name: string }, Outcome>(
  layouts: readonly Layout[],
  once: (layout: Layout) => Promise<Outcome>,
  summary: (outcome: Outcome) => string,
): Promise<Map<Layout, Outcome[]>> {
  const outcomes = new Map<Layout, Outcome[]>(layouts.map((layout) => [layout, []]));
  for (let round = 1; round <= rounds; round += 1) {
    for (const layout of layouts) {
      const outcome = await once(layout);
      outcomes.get(layout)!.push(outcome);
      process.stderr.write(`round ${round}: ${layout.name}: ${summary(outcome)}\n`);
    }
  }
  return outcomes;
}

export function deliveredText({ delivered }: Result): string {
  return `${Math.round(delivered)} delivered/s`;
}
