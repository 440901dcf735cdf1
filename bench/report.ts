// Writes docs/performance.md: bench/page.md, with what was measured between its marks, and the pictures beside it. And the
// short table between the marks of the README.
// npx node bench/report.ts <results.json>

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { markdown, type Part, type Report } from './part.ts';
import { plotAll } from './plot.ts';
import { verdicts } from './verdicts.ts';

const DOCS = join(import.meta.dirname, '../docs');
const README = join(import.meta.dirname, '../README.md');
const MARKED = /<!-- bench:([\w-]+) -->\n[\s\S]*?<!-- \/bench -->/g;

function verdictTable(report: Report): string {
  const lines = ['| | Target | Measured | |', '|---|---|---|---|'];
  for (const { id, target, measured, isMet } of verdicts(report)) {
    const word = isMet === null ? 'not measured' : isMet ? 'met' : '**missed**';
    lines.push(`| ${id} | ${target} | ${measured} | ${word} |`);
  }
  return `${lines.join('\n')}\n`;
}

const SHORT: Part['columns'] = [
  ['durability', 'an answer means'],
  ['delivered', 'delivered/s'],
  ['half.ackP50', 'at half of that: answer p50, ms'],
  ['half.ackP99', 'p99'],
  ['half.receivedP50', 'received p50, ms'],
  ['half.receivedP99', 'p99'],
];

function shortTable(report: Report): string | null {
  const whole = report.parts['side-by-side'];
  if (!whole) return null;
  const rows = whole.rows.filter(({ numbers }) => numbers.delivered !== undefined);
  const title = `${report.date}, ${report.machine}`;
  return markdown({ ...whole, title, columns: SHORT, rows, notes: [] });
}

function textFor(name: string, report: Report): string | null {
  if (name === 'short') return shortTable(report);
  if (name === 'machine') return `${report.date}: ${report.machine}.\n`;
  if (name === 'targets') return verdictTable(report);
  const part = report.parts[name];
  return part ? markdown(part) : null;
}

const [file] = process.argv.slice(2);
if (file === undefined) throw new Error('node bench/report.ts <results.json>');
const report = JSON.parse(readFileSync(file, 'utf8')) as Report;

function fill(text: string): string {
  return text.replace(
    MARKED,
    (_, name: string) => `<!-- bench:${name} -->\n${textFor(name, report) ?? 'Not measured.\n'}<!-- /bench -->`,
  );
}

writeFileSync(join(DOCS, 'performance.md'), fill(readFileSync(join(import.meta.dirname, 'page.md'), 'utf8')));
writeFileSync(README, fill(readFileSync(README, 'utf8')));
plotAll(report, DOCS);
