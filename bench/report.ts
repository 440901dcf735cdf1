// Writes docs/performance.md: bench/page.md, with what was measured between its marks, and the pictures beside it.
// npx node bench/report.ts <results.json>

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { markdown, type Report } from './part.ts';
import { plotAll } from './plot.ts';
import { verdicts } from './verdicts.ts';

const DOCS = join(import.meta.dirname, '../docs');
const MARKED = /<!-- bench:([\w-]+) -->\n[\s\S]*?<!-- \/bench -->/g;

function verdictTable(report: Report): string {
  const lines = ['| | Target | Measured | |', '|---|---|---|---|'];
  for (const { id, target, measured, isMet } of verdicts(report)) {
    const word = isMet === null ? 'not measured' : isMet ? 'met' : '**missed**';
    lines.push(`| ${id} | ${target} | ${measured} | ${word} |`);
  }
  return `${lines.join('\n')}\n`;
}

function textFor(name: string, report: Report): string | null {
  if (name === 'machine') return `${report.date}: ${report.machine}.\n`;
  if (name === 'targets') return verdictTable(report);
  const part = report.parts[name];
  return part ? markdown(part) : null;
}

const [file] = process.argv.slice(2);
if (file === undefined) throw new Error('node bench/report.ts <results.json>');
const report = JSON.parse(readFileSync(file, 'utf8')) as Report;
const page = readFileSync(join(import.meta.dirname, 'page.md'), 'utf8');
const filled = page.replace(
  MARKED,
  (_, name: string) => `<!-- bench:${name} -->\n${textFor(name, report) ?? 'Not measured.\n'}<!-- /bench -->`,
);
writeFileSync(join(DOCS, 'performance.md'), filled);
plotAll(report, DOCS);
