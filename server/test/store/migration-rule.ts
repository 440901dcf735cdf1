// What a migration of PostgreSQL may do, so that nodes of the version before go on working beside it: it adds, and holds no
// table for long. Every statement must have one of the known forms; another one needs an exception with its reason.

import type { Migration } from '../../src/store/migrations.ts';
import { statementsOf } from '../../src/store/postgres/sessions/schema-upgrade.ts';

/** Makes the tables: nobody has a database without them. */
const BASELINE = 1;

/** Why a statement that breaks the rule does no harm: by the file and the beginning of the statement. */
export const EXCEPTIONS: ReadonlyMap<string, string> = new Map([
  [
    '0003-beyond-indexes.sql: DROP INDEX CONCURRENTLY IF EXISTS messages_ready',
    'no version that used it was released; with both, every message that waits for a slot would be indexed twice',
  ],
]);

/** Answers what is wrong, a line for each statement. */
export function migrationProblems({ version, name, sql }: Migration, exceptions = EXCEPTIONS): string[] {
  if (version <= BASELINE) return [];
  const statements = statementsOf(sql);
  const made = new Set(statements.flatMap((text) => /^CREATE TABLE (\w+)/.exec(text)?.[1] ?? []));
  const areIndexes = statements.filter((text) => /\bCONCURRENTLY\b/.test(text)).length;
  const problems = statements.flatMap((text) => problemOf(text, made) ?? []);
  if (areIndexes > 0 && areIndexes < statements.length) {
    problems.push('CONCURRENTLY cannot be in a transaction: indexes go into a file of their own');
  }
  return problems
    .filter((problem) => ![...exceptions.keys()].some((key) => `${name}: ${problem}`.includes(key)))
    .map((problem) => `${name}: ${problem}`);
}

function problemOf(text: string, made: ReadonlySet<string>): string | null {
  if (/^CREATE (?:TABLE|SEQUENCE) /.test(text)) return null;
  if (/^DROP INDEX CONCURRENTLY /.test(text)) return `${text}: an older node may need it: drop it one version later`;
  if (/^CREATE (?:UNIQUE )?INDEX CONCURRENTLY \w+/.test(text)) {
    return /^CREATE UNIQUE/.test(text) ? `${text}: an older node may write what a new constraint refuses` : null;
  }
  const [, indexed] = /^CREATE (?:UNIQUE )?INDEX \w+ ON (\w+)/.exec(text) ?? [];
  if (indexed !== undefined) return made.has(indexed) ? null : `${text}: it refuses writes: CONCURRENTLY`;
  const [, table, change] = /^ALTER TABLE (\w+) (.*)$/s.exec(text) ?? [];
  if (table === undefined || change === undefined) return `${text}: not one of the known forms`;
  if (made.has(table)) return null;
  if (/^SET \((?:autovacuum_\w+|fillfactor) ?=/.test(change)) return null;
  if (!/^ADD COLUMN \w+ /.test(change)) return `${text}: an older node may need what it changes`;
  if (/, (?:ADD|DROP|ALTER|RENAME) /.test(change)) return `${text}: one change a statement`;
  if (/\b(?:CHECK|REFERENCES|UNIQUE|PRIMARY KEY|GENERATED)\b/.test(change)) {
    return `${text}: it reads the whole table, and may refuse what an older node writes`;
  }
  const [, value] = /\bDEFAULT (.*)$/s.exec(change) ?? [];
  if (/\bNOT NULL\b/.test(change) && value === undefined) return `${text}: an older node does not write it: DEFAULT`;
  if (value?.includes('(')) return `${text}: a default that is reckoned for every row rewrites the table`;
  return null;
}
