// What must not be lost between the thousands of lines of a run of tests: what failed and was skipped, where the time
// went, how many passed. The table of minutes in CONTRIBUTING.md is made from it.

import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import type { Command } from './commands.ts';
import { isAllowedInCi, packagesFor } from './support/machine.ts';
import type { SummaryLine } from './support/summary-line.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const PAGE = join(ROOT, 'CONTRIBUTING.md');
const SLOWEST_SHOWN_MAX = 12;
const TABLE_ROWS_MAX = 12;
const SKIPPED_FILES_MAX = 3;

interface Line {
  readonly title: string;
  readonly file: string;
}
interface FileLine extends Line {
  readonly ms: number;
  readonly passed: number;
  /** Of the processor, with child processes that it has waited for: of Chromium, only the first. Without the database. Null where the system does not say. */
  readonly processorMs: number | null;
}

export interface Summary {
  readonly command: Command;
  readonly isGood: boolean;
  readonly tookMs: number;
  /** Of the time of all processors: what nobody on the machine used. Null where that is not known. */
  readonly idleShare: number | null;
  /** Of the processor, for the server of all files. Null where the system does not say. */
  readonly databaseMs: number | null;
  readonly files: readonly FileLine[];
  readonly failed: readonly (Line & { readonly name: string })[];
  readonly skipped: readonly (Line & { readonly name: string; readonly why: string })[];
}

/** What one file of one pass reported. */
export type TitledLine = SummaryLine & { readonly title: string };

export interface Ended {
  readonly command: Command;
  readonly lines: readonly TitledLine[];
  /** In which test-process.ts has written what each file took of the processor. */
  readonly folder: string;
  readonly isGood: boolean;
  readonly tookMs: number;
  readonly idleShare: number | null;
  readonly databaseMs: number | null;
}

export function summaryOf({ lines, folder, ...ended }: Ended): Summary {
  const processor = new Map(
    globSync('*.processor', { cwd: folder }).flatMap((name) =>
      readFileSync(join(folder, name), 'utf8')
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as { file: string; ms: number })
        .map(({ file, ms }) => [`${name.replace(/\.\w+$/, '')} ${file}`, ms]),
    ),
  );
  return {
    ...ended,
    files: lines
      .filter((line) => line.kind === 'file')
      .map((line) => ({ ...line, processorMs: processor.get(`${line.title} ${line.file}`) ?? null })),
    failed: lines.filter((line) => line.kind === 'failed'),
    skipped: lines.filter((line) => line.kind === 'skipped'),
  };
}

/** For CI: a test that is skipped there without need has failed. */
export function withoutSkips(summary: Summary): Summary {
  const skipped = Map.groupBy(summary.skipped, ({ why }) => (isAllowedInCi(why) ? 'allowed' : 'failed'));
  const failed = (skipped.get('failed') ?? []).map((each) => ({ ...each, name: `${each.name}: skipped: ${each.why}` }));
  return {
    ...summary,
    isGood: summary.isGood && failed.length === 0,
    failed: [...summary.failed, ...failed],
    skipped: skipped.get('allowed') ?? [],
  };
}

const print = (text: string) => process.stdout.write(`${text}\n`);
const seconds = (ms: number) => `${(ms / 1000).toFixed(0).padStart(5)} s`;
const minutes = (ms: number) => `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
const busy = (idleShare: number | null) =>
  idleShare === null ? '' : ` (processors ${Math.round(100 * (1 - idleShare))} % busy)`;
const described = ({ title, file }: Line) => `${relative(ROOT, file)} (${title})`;

interface Total {
  readonly passed: number;
  readonly failed: number;
}

/** `isLast`: ends with a line that says how many passed and failed in all runs. */
export function printSummary(summaries: readonly Summary[], isLast: boolean): Total {
  const last = summaries.at(-1);
  if (last) printTimes(last);
  if (last) printSkipped(last);
  const failed = summaries.flatMap((each) => each.failed);
  const often = [...Map.groupBy(failed, (each) => `${described(each)}: ${each.name}`)];
  if (often.length > 0) print('\nFailed:');
  for (const [name, { length }] of often.toSorted(([, a], [, b]) => b.length - a.length)) {
    print(`  ${summaries.length > 1 ? `${length} of ${summaries.length} × ` : ''}${name}`);
  }
  // A file that ends before it has reported its tests fails without a line of its own.
  const unseen = summaries.filter((each) => !each.isGood && each.failed.length === 0).length;
  if (unseen > 0) print('\nA run failed, and no test of it said so: see above.');
  const passed = summaries.reduce((sum, { files }) => sum + files.reduce((all, each) => all + each.passed, 0), 0);
  const total = { passed, failed: failed.length + unseen };
  const took = summaries.map(({ tookMs, idleShare }) => `${minutes(tookMs)}${busy(idleShare)}`).join(', ');
  print(`\nnpm ${last?.command === 'test' ? 'test' : `run ${last?.command}`} took ${took}.`);
  if (isLast) print(`${total.passed} passed, ${total.failed} failed`);
  return total;
}

/** What was skipped, why, and how to get what is missing. */
function printSkipped({ skipped }: Summary): void {
  if (skipped.length === 0) return;
  print('\nSkipped:');
  const reasons = Map.groupBy(skipped, ({ why }) => why || 'without a reason');
  for (const [why, tests] of reasons) {
    const files = [...new Set(tests.map(({ file }) => relative(ROOT, file)))];
    const more = files.length > SKIPPED_FILES_MAX ? ` and ${files.length - SKIPPED_FILES_MAX} more` : '';
    print(`  ${tests.length} × ${why}: ${files.slice(0, SKIPPED_FILES_MAX).join(', ')}${more}`);
  }
  const packages = packagesFor(reasons.keys());
  if (packages.length > 0)
    print(`On Debian, as root, this installs what is missing: apt-get install ${packages.join(' ')}`);
}

function printTimes({ files, databaseMs }: Summary): void {
  print('\nWhere the time went, several files at once; in brackets, of the processor:');
  for (const { folder, ms, processorMs } of byFolder(files))
    print(`  ${seconds(ms)} (${seconds(processorMs)})  ${folder}`);
  if (databaseMs !== null) print(`          (${seconds(databaseMs)})  the PostgreSQL server of all of them`);
  print('\nMost of the processor:');
  const most = files.toSorted((a, b) => (b.processorMs ?? b.ms) - (a.processorMs ?? a.ms));
  for (const each of most.slice(0, SLOWEST_SHOWN_MAX)) {
    print(`  ${seconds(each.ms)} (${seconds(each.processorMs ?? 0)})  ${described(each)}`);
  }
}

function byFolder(files: readonly FileLine[]) {
  const folders = Map.groupBy(files, ({ file, title }) => `${relative(ROOT, dirname(file))} (${title})`);
  return [...folders]
    .map(([folder, some]) => ({
      folder,
      files: some.length,
      passed: some.reduce((sum, each) => sum + each.passed, 0),
      ms: some.reduce((sum, each) => sum + each.ms, 0),
      processorMs: some.reduce((sum, each) => sum + (each.processorMs ?? 0), 0),
    }))
    .sort((a, b) => b.ms - a.ms);
}

/** Between the two marks of the command in CONTRIBUTING.md. */
export function writeTable({ command, files, tookMs, idleShare, databaseMs }: Summary): void {
  const folders = byFolder(files);
  const [shown, others] = [folders.slice(0, TABLE_ROWS_MAX), folders.slice(TABLE_ROWS_MAX)];
  const row = (name: string, some: typeof folders, moreMs = 0) => {
    const sum = (of: 'files' | 'passed' | 'ms' | 'processorMs') => some.reduce((all, each) => all + each[of], 0);
    const [wall, processor] = [sum('ms') / 60_000, (sum('processorMs') + moreMs) / 60_000];
    return `| ${name} | ${sum('files')} | ${sum('passed')} | ${wall.toFixed(1)} | ${processor.toFixed(1)} |`;
  };
  const table = [
    `It took ${minutes(tookMs)}${busy(idleShare)}. The minutes of files that ran at the same time are added up. Of Chromium,`,
    'only its first process is counted.',
    '',
    '| Where | Files | Tests | Minutes | Of the processor |',
    '|---|---|---|---|---|',
    ...shown.map((each) => row(`\`${each.folder.replace(' (', '` (')}`, [each])),
    ...(others.length > 0 ? [row('others', others)] : []),
    ...(databaseMs === null ? [] : [row('the PostgreSQL server', [], databaseMs)]),
    row('all', folders, databaseMs ?? 0),
  ].join('\n');
  const [begin, end] = [`<!-- minutes of ${command} -->`, `<!-- end of ${command} -->`];
  const page = readFileSync(PAGE, 'utf8');
  const [before, rest] = page.split(begin);
  const after = rest?.split(end)[1];
  if (after === undefined) throw new Error(`CONTRIBUTING.md has no ${begin}`);
  writeFileSync(PAGE, `${before}${begin}\n${table}\n${end}${after}`);
}
