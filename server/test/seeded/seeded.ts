// A bug of the kind that a careless change makes, as a text that is replaced by another. The tests that should notice it
// are named with it. A bug that they do not notice is a missing test.

export interface SeededBug {
  /** What is wrong then, in one line. */
  readonly breaks: string;
  /** A folder or file below the root of the project in which the text stands exactly once. */
  readonly in: string;
  readonly find: string;
  readonly replace: string;
  /**
   * What should fail: a test file below server/test, or `file: words` for the tests of the file whose names contain
   * these words. They run one after another until one fails.
   */
  readonly noticedBy: readonly string[];
  /** How long a test may take with the bug, where that is longer than most tests do. */
  readonly testMsMax?: number;
  /** The tests run on PostgreSQL in place of SQLite. */
  readonly on?: 'postgres';
}

/** By promise: its number in docs/guarantees.md, or its words. */
export type SeededBugs = Readonly<Record<string, readonly SeededBug[]>>;

/** Tests of one file: all, or those whose names contain the words. */
export interface Notice {
  /** Below the root. */
  readonly file: string;
  readonly words: string | null;
}

export function noticesOf({ noticedBy }: Pick<SeededBug, 'noticedBy'>): Notice[] {
  return noticedBy.map((text) => {
    const at = text.indexOf(': ');
    const name = at === -1 ? text : text.slice(0, at);
    return { file: `server/test/${name}.test.ts`, words: at === -1 ? null : text.slice(at + 2) };
  });
}
