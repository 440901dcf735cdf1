// What the tables say of bodies that messages share, the same on both stores: every one is had by a message, and every
// message that has one finds it.

export interface StoredBodies {
  readonly count: number;
  readonly bytes: number;
  /** That no message has any more. */
  readonly unused: number;
  /** Messages that do not find theirs, or that have one of their own besides. */
  readonly wrong: number;
}

/** What is wrong with them, in sentences. */
export function wrongBodies({ unused, wrong }: Pick<StoredBodies, 'unused' | 'wrong'>): string[] {
  return [
    ...(unused > 0 ? [`${unused} stored bodies belong to no message`] : []),
    ...(wrong > 0 ? [`${wrong} messages have no body, or have two bodies`] : []),
  ];
}

export const STORED_BODIES = `SELECT count(*) AS count, coalesce(sum(length(bytes)), 0) AS bytes,
  (SELECT count(*) FROM bodies b WHERE NOT EXISTS
     (SELECT 1 FROM messages m WHERE m.account_id = b.account_id AND m.body_id = b.id)) AS unused,
  (SELECT count(*) FROM messages m WHERE m.body_id IS NOT NULL AND (length(m.body) > 0 OR NOT EXISTS
     (SELECT 1 FROM bodies b WHERE b.account_id = m.account_id AND b.id = m.body_id))) AS wrong
  FROM bodies`;
