// Writes docs/performance.md: bench/page.md, with what was measured between its marks, and the pictures beside it. And the
// short table between the marks of the README. What the results do not have stays as it was.
// npx node bench/report.ts <results.json>

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { goals, SLOW } from './goal-verdicts.ts';
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
  ['durability', 'a response means'],
  ['delivered', 'delivered/s'],
  ['ackP50', 'response p50, ms'],
  ['ackP99', 'p99'],
  ['receivedP99', 'received p99, ms'],
  ['cpuUs', 'CPU µs a message'],
  ['databaseCpuUs', 'of the database'],
  ['rssMb', 'memory, MB'],
];

/** Of the rows of the goals, each service once: saturated, on the machine's own disk. */
function shortTable({ goals: part }: Report['parts']): string | null {
  if (!part) return null;
  const isVariant = (name: string) => name.endsWith(SLOW) || /^Postrider.*,/.test(name);
  const rows = part.rows.filter(({ name, numbers }) => numbers.accepted !== undefined && !isVariant(name));
  return markdown({ ...part, title: part.made ?? '', columns: SHORT, rows, notes: [] });
}

/** Of the notes of the goals, those behind the verdicts, which have a table of their own. */
const NOTES = 2;

/** The verdicts, and then the rows they rest on. */
function goalsText({ goals: part }: Report['parts']): string | null {
  if (!part) return null;
  const lines = goals(part.rows).map(({ goal, measured, verdict }) => `| ${goal} | ${measured} | ${verdict} |`);
  const table = ['| Goal | Measured | |', '|---|---|---|', ...lines].join('\n');
  return `${part.made}.\n\n${table}\n\n${markdown({ ...part, notes: part.notes.slice(-NOTES) })}`;
}

function textFor(name: string, report: Report): string | null {
  if (name === 'goals') return goalsText(report.parts);
  if (name === 'short') return shortTable(report.parts);
  // Of the run with all parts.
  if (!report.parts['side-by-side'] && ['machine', 'targets'].includes(name)) return null;
  if (name === 'machine') return `${report.date}: ${report.machine}.\n`;
  if (name === 'targets') return verdictTable(report);
  const part = report.parts[name];
  return part ? markdown(part) : null;
}

const [file] = process.argv.slice(2);
if (file === undefined) throw new Error('node bench/report.ts <results.json>');
const report = JSON.parse(readFileSync(file, 'utf8')) as Report;

/** The text between the marks of a page, by their names. */
function marked(page: string): Map<string, string> {
  return new Map([...page.matchAll(MARKED)].map(([whole, name]) => [name!, whole]));
}

/** `text` with what was measured, or else with what `before` has in the same place. */
function fill(text: string, before: string): string {
  const kept = marked(before);
  return text.replace(MARKED, (_, name: string) => {
    const measured = textFor(name, report);
    if (measured === null && kept.has(name)) return kept.get(name)!;
    return `<!-- bench:${name} -->\n${measured ?? 'Not measured.\n'}<!-- /bench -->`;
  });
}

function rewrite(file: string, template = file): void {
  writeFileSync(file, fill(readFileSync(template, 'utf8'), readFileSync(file, 'utf8')));
}

rewrite(join(DOCS, 'performance.md'), join(import.meta.dirname, 'page.md'));
rewrite(README);
if (report.parts['side-by-side']) plotAll(report, DOCS);
