// Rows as a table for people: aligned columns, the last of them cut to the width of the terminal.

import { cutTo, printable, widthOf } from './printable.ts';

export interface Column {
  readonly title: string;
  readonly isNumber?: boolean;
}

const GAP = '  ';
/** The last column keeps at least this, however narrow the terminal is. */
const LAST_WIDTH_MIN = 12;

/** Without `widthMax` nothing is cut, for output that a program may read. */
export function tableText(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  widthMax: number | null = null,
): string[] {
  const safe = rows.map((row) => row.map(printable));
  const shown = columns.flatMap((column, index) => {
    // A column without any value says nothing.
    const isEmpty = safe.length > 0 && safe.every((row) => row[index] === '');
    return isEmpty ? [] : [{ ...column, index }];
  });
  const lines = [shown.map(({ title }) => title), ...safe.map((row) => shown.map(({ index }) => row[index]!))];
  const widths = shown.map((_, at) => Math.max(...lines.map((line) => widthOf(line[at]!))));
  const before = widths.slice(0, -1).reduce((sum, width) => sum + width + GAP.length, 0);
  const lastMax = widthMax === null ? Number.POSITIVE_INFINITY : Math.max(LAST_WIDTH_MIN, widthMax - before);
  return lines.map((line) =>
    line
      .map((cell, at) => {
        if (at === line.length - 1 && !shown[at]!.isNumber) return cutTo(cell, lastMax);
        const fill = ' '.repeat(widths[at]! - widthOf(cell));
        return shown[at]!.isNumber ? fill + cell : cell + fill;
      })
      .join(GAP)
      .trimEnd(),
  );
}

/** Names and values below each other. An absent value leaves its line out. */
export function factsText(facts: readonly (readonly [name: string, value: string | null | undefined])[]): string[] {
  const known = facts.filter((fact): fact is readonly [string, string] => typeof fact[1] === 'string');
  const width = Math.max(0, ...known.map(([name]) => widthOf(name)));
  return known.map(([name, value]) => `${name}${' '.repeat(width - widthOf(name))}${GAP}${printable(value)}`);
}
