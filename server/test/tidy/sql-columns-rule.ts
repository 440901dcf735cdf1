// Finds SQL that depends on which columns a table has: nodes of this version work while a newer one adds columns. A prepared
// statement that returns `*` then fails, and an INSERT without a list of columns writes into the wrong ones.

import type { SourceView } from './source-view.ts';
import { sqlText } from './sql-decision-rule.ts';

const PATTERN = new RegExp(
  [
    String.raw`\b(?:SELECT|RETURNING)\s+(?:ALL\s+|DISTINCT\s+)?\*`,
    String.raw`,\s*\*(?=\s*(?:,|\bFROM\b))`,
    String.raw`\b\w+\.\*`,
    String.raw`\bINSERT\s+(?:OR\s+\w+\s+)?INTO\s+(?:\w+\s+)?(?:AS\s+\w+\s+)?(?:SELECT|VALUES|DEFAULT|TABLE|WITH)\b`,
    String.raw`\bNATURAL\s+(?:\w+\s+)?JOIN\b`,
    String.raw`\b(?:row_to_json|to_jsonb?|json_populate_record\w*|jsonb_populate_record\w*)\(\s*\w+\s*\)`,
    String.raw`\bCOPY\s+\w+\s+(?:FROM|TO)\b`,
  ].join('|'),
  'g',
);

const WHOLE_TABLES = 'a move copies and compares whatever columns there are, on a store that no service uses';

interface Allowed {
  /** Below server/src/store/. */
  readonly file: string;
  /** A part of the line. */
  readonly sql: string;
  readonly reason: string;
}

const ALLOWED: readonly Allowed[] = [
  { file: 'sqlite/move.ts', sql: 'a.* FROM attempts', reason: WHOLE_TABLES },
  { file: 'sqlite/move.ts', sql: 'SELECT t.*', reason: WHOLE_TABLES },
  { file: 'sqlite/move-check.ts', sql: 'SELECT *', reason: WHOLE_TABLES },
  { file: 'sqlite/move-check.ts', sql: 'SELECT q.*', reason: WHOLE_TABLES },
  { file: 'sqlite/move-check.ts', sql: 'SELECT a.*', reason: WHOLE_TABLES },
];

export function findUnnamedColumns(path: string, view: SourceView): { at: number; message: string }[] {
  const file = path.replace(/^server\/src\/store\//, '');
  const allowed = ALLOWED.filter((each) => each.file === file);
  const text = sqlText(view);
  const used = new Set<Allowed>();
  const found = [...text.matchAll(PATTERN)].flatMap(({ index }) => {
    const start = text.lastIndexOf('\n', index) + 1;
    const end = text.indexOf('\n', index);
    const line = text.slice(start, end === -1 ? undefined : end).trim();
    const reason = allowed.find(({ sql }) => line.includes(sql));
    if (reason) used.add(reason);
    return reason ? [] : [{ at: index, message: `${line}: name the columns: a newer node may add one` }];
  });
  const gone = allowed
    .filter((each) => !used.has(each))
    .map(({ sql }) => ({ at: -1, message: `"${sql}" is no longer here: take it off the list in sql-columns-rule.ts` }));
  return [...found, ...gone];
}
