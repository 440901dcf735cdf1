// Rows as a table for people: aligned columns, the last of them cut to the width of the terminal.

import { cutTo, printable, widthOf } from './printable.ts';

export interface Column {
  readonly title: string;
  readonly isNumber?: boolean;
  /** Whether the column may be left out on a narrow terminal. The last such column is left out first. */
  readonly isExtra?: boolean;
  /** Whether the values of the column are states, which have colours. */
  readonly isState?: boolean;
}

export interface TableText {
  readonly lines: readonly string[];
  /** The titles of the columns that were left out. */
  readonly leftOut: readonly string[];
}

const GAP = '  ';
/** The smallest width of the last column, however narrow the terminal is. */
const LAST_WIDTH_MIN = 12;
/** If the last column would be narrower than this, other columns are left out. */
const LAST_WIDTH_WANTED = 24;

/** Lays out the rows. If `widthMax` is null, nothing is cut or left out, because a program may read the output. */
export function tableText(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  widthMax: number | null = null,
  paintState: (padded: string, state: string) => string = (padded) => padded,
): TableText {
  const safe = rows.map((row) => row.map(printable));
  const filled = columns.flatMap((column, index) => {
    const width = Math.max(widthOf(column.title), ...safe.map((row) => widthOf(row[index]!)));
    // A column without any value is left out.
    const isEmpty = safe.length > 0 && safe.every((row) => row[index] === '');
    return isEmpty ? [] : [{ ...column, index, width }];
  });
  const shown = widthMax === null ? filled : fitting(filled, widthMax);
  const before = beforeLast(shown);
  const lastMax = widthMax === null ? Number.POSITIVE_INFINITY : Math.max(LAST_WIDTH_MIN, widthMax - before);
  const isCut = ({ isNumber }: Measured, at: number) => at === shown.length - 1 && !isNumber;
  const cellsOf = (cells: readonly string[]) =>
    shown.map((column, at) => {
      const cell = cells[column.index]!;
      return isCut(column, at) ? cutTo(cell, lastMax) : padded(cell, column);
    });
  const lineOf = (cells: readonly string[]) => cells.join(GAP).trimEnd();
  const painted = (cells: readonly string[]) =>
    cellsOf(cells).map((text, at) => (shown[at]!.isState ? paintState(text, cells[shown[at]!.index]!) : text));
  return {
    lines: [lineOf(cellsOf(columns.map(({ title }) => title))), ...safe.map((row) => lineOf(painted(row)))],
    leftOut: filled.filter((column) => !shown.includes(column)).map(({ title }) => title),
  };
}

interface Measured extends Column {
  readonly index: number;
  readonly width: number;
}

function padded(cell: string, { width, isNumber }: Measured): string {
  const fill = ' '.repeat(width - widthOf(cell));
  return isNumber ? fill + cell : cell + fill;
}

const beforeLast = (columns: readonly Measured[]) =>
  columns.slice(0, -1).reduce((sum, { width }) => sum + width + GAP.length, 0);

function fitting(columns: readonly Measured[], widthMax: number): readonly Measured[] {
  const wanted = Math.min(columns.at(-1)?.width ?? 0, LAST_WIDTH_WANTED);
  if (beforeLast(columns) + wanted <= widthMax) return columns;
  const extra = columns.findLast(({ isExtra }) => isExtra);
  return extra === undefined
    ? columns
    : fitting(
        columns.filter((column) => column !== extra),
        widthMax,
      );
}

/** Names and values, one pair on each line. A pair without a value has no line. */
export function factsText(facts: readonly (readonly [name: string, value: string | null | undefined])[]): string[] {
  const known = facts.filter((fact): fact is readonly [string, string] => typeof fact[1] === 'string');
  const width = Math.max(0, ...known.map(([name]) => widthOf(name)));
  return known.map(([name, value]) => `${name}${' '.repeat(width - widthOf(name))}${GAP}${printable(value)}`);
}
