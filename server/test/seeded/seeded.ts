// A bug of the kind that a careless change makes, as a text that is replaced by another. The tests that should notice it
// are named with it. A bug that they do not notice is a missing test.

export interface SeededBug {
  /** What is wrong then, in one line. */
  readonly breaks: string;
  /** A folder or file below the root of the project in which the text stands exactly once. */
  readonly in: string;
  readonly find: string;
  readonly replace: string;
  /** Test files below server/test that should fail. */
  readonly noticedBy: readonly string[];
  /** The tests run on PostgreSQL in place of SQLite. */
  readonly on?: 'postgres';
}

/** By promise: its number in docs/guarantees.md, or its words. */
export type SeededBugs = Readonly<Record<string, readonly SeededBug[]>>;
