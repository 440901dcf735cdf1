// How many rows of an account there are in each table that names an account, whatever tables there are.

/** The names of these tables, as a list in JSON. */
export const ACCOUNT_TABLES = {
  sqlite: `SELECT json_group_array(DISTINCT m.name) AS names FROM sqlite_schema m, pragma_table_info(m.name) c
    WHERE m.type = 'table' AND c.name = 'account_id'`,
  postgres: `SELECT json_agg(table_name::text)::text AS names FROM information_schema.columns
    WHERE table_schema = current_schema() AND column_name = 'account_id'`,
};

export type AccountRows = Readonly<Record<string, number>>;

/** Counts the rows of an account, and those of its sessions and attempts, which need not name it. */
export function countAccountRows(names: string, accountId: string): string {
  const tables = JSON.parse(names) as string[];
  const counts = tables.map((table) => `(SELECT count(*) FROM ${table} WHERE account_id = '${accountId}') AS ${table}`);
  const sessions = `(SELECT count(*) FROM sessions s JOIN tokens t ON t.id = s.token_id
    WHERE t.account_id = '${accountId}') AS sessions`;
  const attempts = `(SELECT count(*) FROM attempts a JOIN messages m ON m.seq = a.message_seq
    WHERE m.account_id = '${accountId}') AS attempts`;
  const unnamed = tables.includes('attempts') ? [sessions] : [sessions, attempts];
  return `SELECT ${[...counts, ...unnamed].join(', ')},
    (SELECT count(*) FROM accounts WHERE id = '${accountId}') AS accounts,
    (SELECT count(*) FROM attempts a WHERE NOT EXISTS (SELECT 1 FROM messages m WHERE m.seq = a.message_seq)) AS lost_attempts`;
}

/** Those of a result that are not 0. */
export function withRows(counts: Readonly<Record<string, unknown>>): AccountRows {
  const numbers = Object.entries(counts).map(([table, count]) => [table, Number(count)] as const);
  return Object.fromEntries(numbers.filter(([, count]) => count > 0));
}
