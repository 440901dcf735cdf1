// Draws what a message costs as the work around it grows: one picture for each measurement that has sizes, as SVG by
// hand, legible on light and dark grounds.
// npx node bench/plot.ts <results.json> [folder]

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { formatted, type Part, type Report } from './part.ts';

interface Plot {
  readonly part: string;
  readonly file: string;
  readonly title: string;
  readonly xLabel: string;
  /** Of a row; null leaves it out. */
  readonly x: (row: Part['rows'][number]) => number | null;
  readonly series: readonly (readonly [key: string, label: string])[];
}

const PLOTS: readonly Plot[] = [
  {
    part: 'delayed',
    file: 'performance-delayed.svg',
    title: 'CPU µs a message, with delayed messages behind',
    xLabel: 'delayed messages',
    x: ({ numbers }) => numbers.size ?? null,
    series: [['cpuUs', 'node']],
  },
  {
    part: 'history',
    file: 'performance-history.svg',
    title: 'CPU µs a message, with ended messages behind',
    xLabel: 'ended messages',
    x: ({ numbers }) => numbers.size ?? null,
    series: [['cpuUs', 'node']],
  },
  {
    part: 'fifo',
    file: 'performance-queues.svg',
    title: 'CPU µs a message, over FIFO queues (0: unordered)',
    xLabel: 'queues',
    x: ({ numbers }) => numbers.queues ?? null,
    series: [['cpuUs', 'node']],
  },
  {
    part: 'nodes',
    file: 'performance-nodes.svg',
    title: 'CPU µs a message, over nodes on one PostgreSQL',
    xLabel: 'nodes',
    x: ({ name, numbers }) => (name.startsWith('PostgreSQL') ? (numbers.nodes ?? null) : null),
    series: [
      ['cpuUs', 'all nodes together'],
      ['databaseCpuUs', 'database'],
    ],
  },
];

const WIDTH = 640;
const HEIGHT = 300;
const LEFT = 60;
const RIGHT = 20;
const TOP = 56;
const BOTTOM = 48;
const GRID_LINES = 4;
const STYLE = `
  text { font: 13px system-ui, sans-serif; fill: #57606a }
  .title { font-weight: 600; font-size: 15px }
  .grid { stroke: #8c959f; stroke-opacity: .3 }
  .line { fill: none; stroke-width: 2 }
  .s0 { stroke: #2f81f7 } .d0 { fill: #2f81f7 }
  .s1 { stroke: #d4731c } .d1 { fill: #d4731c }
  @media (prefers-color-scheme: dark) { text { fill: #adbac7 } }
`;

/** The sizes stand at equal distances: each is some multiple of the one before. The scale starts at nothing. */
function svg({ title, xLabel, x, series }: Plot, rows: Part['rows']): string {
  const points = rows.filter((row) => x(row) !== null).toSorted((a, b) => x(a)! - x(b)!);
  const most = niceAbove(Math.max(1, ...points.flatMap(({ numbers }) => series.map(([key]) => numbers[key] ?? 0))));
  const xOf = (index: number) => LEFT + ((index + 0.5) * (WIDTH - LEFT - RIGHT)) / points.length;
  const yOf = (value: number) => HEIGHT - BOTTOM - (value / most) * (HEIGHT - TOP - BOTTOM);
  const parts: string[] = [`<text class="title" x="${LEFT}" y="20">${title}</text>`];
  for (let line = 0; line <= GRID_LINES; line += 1) {
    const value = (most * line) / GRID_LINES;
    const y = yOf(value).toFixed(1);
    parts.push(`<line class="grid" x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${y}" y2="${y}"/>`);
    parts.push(`<text x="${LEFT - 8}" y="${y}" dy="4" text-anchor="end">${Math.round(value)}</text>`);
  }
  for (const [index, row] of points.entries()) {
    const label = x(row)!.toLocaleString('en-US');
    parts.push(`<text x="${xOf(index).toFixed(1)}" y="${HEIGHT - 26}" text-anchor="middle">${label}</text>`);
  }
  parts.push(`<text x="${(LEFT + WIDTH - RIGHT) / 2}" y="${HEIGHT - 6}" text-anchor="middle">${xLabel}</text>`);
  for (const [number, [key, label]] of series.entries()) {
    const at = points.map(({ numbers }, index) => [xOf(index), yOf(numbers[key] ?? 0), numbers[key] ?? 0] as const);
    const path = at.map(([px, py]) => `${px.toFixed(1)},${py.toFixed(1)}`).join(' ');
    parts.push(`<polyline class="line s${number}" points="${path}"/>`);
    // Above the first line, below the others: two that are close would hide each other's numbers.
    const labelDown = number === 0 ? -9 : 18;
    for (const [px, py, value] of at) {
      parts.push(`<circle class="d${number}" cx="${px.toFixed(1)}" cy="${py.toFixed(1)}" r="4"/>`);
      parts.push(
        `<text x="${px.toFixed(1)}" y="${(py + labelDown).toFixed(1)}" text-anchor="middle">${formatted(value)}</text>`,
      );
    }
    const legendX = LEFT + number * 170;
    parts.push(`<circle class="d${number}" cx="${legendX + 5}" cy="36" r="4"/>`);
    parts.push(`<text x="${legendX + 15}" y="40">${label}</text>`);
  }
  const size = `viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}"`;
  const head = `<svg xmlns="http://www.w3.org/2000/svg" ${size} role="img" aria-label="${title}">`;
  return `${head}\n<style>${STYLE}</style>\n${parts.join('\n')}\n</svg>\n`;
}

function niceAbove(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 4, 6, 8, 10].map((step) => step * power).find((step) => step >= value * 1.1) ?? 20 * power;
}

/** Answers the names of the files it wrote. */
export function plotAll({ parts }: Report, folder: string): string[] {
  return PLOTS.flatMap((plot) => {
    const part = parts[plot.part];
    if (!part) return [];
    writeFileSync(join(folder, plot.file), svg(plot, part.rows));
    return [plot.file];
  });
}

if (import.meta.main) {
  const [file, folder = join(import.meta.dirname, '../docs')] = process.argv.slice(2);
  const written = plotAll(JSON.parse(readFileSync(file!, 'utf8')) as Report, folder);
  process.stdout.write(`${written.join('\n')}\n`);
}
