// A reporter beside the one that prints: one line of JSON for each test that failed and each file that ended, so that
// `npm test` can repeat at its very end what failed in which of its passes, and which files took longest.

interface TestEvent {
  readonly type: string;
  readonly data: {
    readonly name?: string;
    readonly file?: string;
    readonly duration_ms?: number;
    readonly details?: { readonly error?: { readonly failureType?: string } };
  };
}

export type SummaryLine =
  | { readonly kind: 'failed'; readonly file: string; readonly name: string }
  | { readonly kind: 'file'; readonly file: string; readonly ms: number };

/** A suite fails with its tests: only the tests themselves are worth a line. */
function lineOf({ type, data }: TestEvent): SummaryLine | null {
  const file = data.file ?? '';
  if (type === 'test:fail' && data.details?.error?.failureType !== 'subtestsFailed') {
    return { kind: 'failed', file, name: data.name ?? '' };
  }
  if (type === 'test:summary' && data.file !== undefined) return { kind: 'file', file, ms: data.duration_ms ?? 0 };
  return null;
}

export default async function* summary(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const event of events) {
    const line = lineOf(event);
    if (line !== null) yield `${JSON.stringify(line)}\n`;
  }
}
