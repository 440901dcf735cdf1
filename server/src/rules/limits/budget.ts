// A row of the table of budgets in budgets.ts: what is limited, for whom, and what happens when the limit is exceeded.

export const KIB = 1024;
export const MIB = 1024 * KIB;

export interface Budget {
  /** What is limited, as docs/limits.md shows it. */
  readonly what: string;
  readonly unit: string;
  /** The maximum for one request, message, response or attempt; null when only the sum is limited. */
  readonly each: number | null;
  /** The maximum for one account. `share`: at most as much as then stays free in the pool of the node. */
  readonly account: number | 'share' | null;
  /** The maximum for the node. A string names the setting that has the value. */
  readonly node: number | string | null;
  /** What happens when the limit is exceeded, as docs/limits.md shows it. */
  readonly beyond: string;
}

/** A row as it is written in the table. A limit that it does not name is null. */
type Row = Pick<Budget, 'what' | 'unit' | 'beyond'> & Partial<Budget>;

export function budgets<K extends string>(table: Readonly<Record<K, Row>>): Readonly<Record<K, Budget>> {
  const rows = Object.entries<Row>(table).map(([key, row]) => [key, { each: null, account: null, node: null, ...row }]);
  return Object.fromEntries(rows) as Record<K, Budget>;
}

/** Functions that return a limit of the table. They throw if the limit is not a number. */
export function numericLimits<K extends string>(table: Readonly<Record<K, Budget>>) {
  const numberOf = (key: K, whose: 'node' | 'account' | 'each') => {
    const value = table[key][whose];
    if (typeof value !== 'number') throw new Error(`the budget "${key}" has no number under "${whose}"`);
    return value;
  };
  return {
    /** The size of a pool. */
    nodeMax: (key: K) => numberOf(key, 'node'),
    /** The limit for one account. */
    accountMax: (key: K) => numberOf(key, 'account'),
    /** The limit for one request, message, response or attempt. */
    eachMax: (key: K) => numberOf(key, 'each'),
  };
}

/** `2097152` bytes as `2 MiB`, other numbers with separators. */
export function showAmount(amount: number, unit: string): string {
  if (unit !== 'bytes') return `${amount.toLocaleString('en-US')} ${unit}`;
  if (amount >= MIB && amount % MIB === 0) return `${amount / MIB} MiB`;
  if (amount >= KIB && amount % KIB === 0) return `${amount / KIB} KiB`;
  return `${amount.toLocaleString('en-US')} bytes`;
}
