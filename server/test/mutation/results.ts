// What the last runs found, by module: kept in `results.json` with a hash of the module and its tests, so that only
// what has changed is tried again, and shown in `results.md`.

import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { EQUIVALENT } from './equivalent.ts';
import type { Mutant } from './mutants.ts';

/** Of a hundred mistakes that make a difference, so many must be noticed. */
export const SCORE_MIN = 90;

const DATA = join(import.meta.dirname, 'results.json');
const PAGE = join(import.meta.dirname, 'results.md');

export interface Result {
  /** Of the mistakes and the tests. */
  readonly hash: string;
  readonly made: number;
  /** The lines with the mistakes that no test noticed. */
  readonly lived: readonly string[];
}

export type Results = ReadonlyMap<string, Result>;

export function hashOf(source: string, mutants: readonly Mutant[], tests: readonly string[]): string {
  const hash = createHash('sha256').update(source).update(JSON.stringify(mutants));
  for (const test of tests) hash.update(readFileSync(test));
  return hash.digest('hex').slice(0, 16);
}

export function readResults(): Results {
  return new Map(existsSync(DATA) ? Object.entries(JSON.parse(readFileSync(DATA, 'utf8')) as object) : []);
}

export function writeResults(results: Results): void {
  const sorted = [...results].sort(([a], [b]) => (a < b ? -1 : 1));
  writeFileSync(DATA, `${JSON.stringify(Object.fromEntries(sorted), null, 2)}\n`);
  writeFileSync(PAGE, pageOf(new Map(sorted)));
}

function reasonOf(file: string, line: string): string | null {
  return EQUIVALENT.get(file)?.find(({ lines }) => lines.includes(line))?.why ?? null;
}

function notedOf(file: string): string[] {
  return (EQUIVALENT.get(file) ?? []).flatMap(({ lines }) => lines);
}

/** The lines that the others have not, or not as often: a reason for one mistake is none for another of the same text. */
function beyond(lines: readonly string[], others: readonly string[]): string[] {
  const left = [...others];
  return lines.filter((line) => {
    const at = left.indexOf(line);
    if (at !== -1) left.splice(at, 1);
    return at === -1;
  });
}

interface Count {
  readonly made: number;
  readonly noticed: number;
  readonly equivalent: number;
}

function countOf(file: string, { made, lived }: Result): Count {
  const equivalent = lived.length - beyond(lived, notedOf(file)).length;
  return { made, noticed: made - lived.length, equivalent };
}

/** The part of those that make a difference. */
export function scoreOf({ made, noticed, equivalent }: Count): number {
  return made === equivalent ? 100 : (100 * noticed) / (made - equivalent);
}

export function totalOf(results: Results): Count {
  const total = { made: 0, noticed: 0, equivalent: 0 };
  for (const [file, result] of results) {
    const count = countOf(file, result);
    total.made += count.made;
    total.noticed += count.noticed;
    total.equivalent += count.equivalent;
  }
  return total;
}

export function sentenceOf(count: Count): string {
  const { made, noticed, equivalent } = count;
  return `${made} mistakes, ${noticed} noticed, ${equivalent} that make no difference: ${scoreOf(count).toFixed(1)} %`;
}

/** Unnoticed mistakes that nobody has looked at, and notes about mistakes that are not made or that a test notices. */
export function faultsOf(results: Results): string[] {
  return [...results].flatMap(([file, { lived }]) => {
    const noted = notedOf(file);
    return [
      ...beyond(lived, noted).map((line) => `${file}: no test notices ${line}`),
      ...beyond(noted, lived).map((line) => `${file}: no such mistake lives: ${line}`),
    ];
  });
}

function pageOf(results: Results): string {
  const rows = [...results].map(([file, result]) => {
    const count = countOf(file, result);
    return `| ${file} | ${count.made} | ${count.noticed} | ${count.equivalent} | ${scoreOf(count).toFixed(1)} % |`;
  });
  const unnoticed = [...results].flatMap(([file, { lived }]) => [
    ...(lived.length > 0 ? ['', `### ${file}`, ''] : []),
    ...lived.map((line) => `* \`\` ${line} \`\`: ${reasonOf(file, line) ?? 'nobody has looked at it'}`),
  ]);
  return `${[
    '# Which small mistakes the tests notice',
    '',
    'Written by `npm run mutation`. A mistake that makes no difference is not counted in the score.',
    '',
    `**${sentenceOf(totalOf(results))}**`,
    '',
    '| Module | Mistakes | Noticed | No difference | Score |',
    '|---|---|---|---|---|',
    ...rows,
    '',
    '## Not noticed',
    ...unnoticed,
  ].join('\n')}\n`;
}
