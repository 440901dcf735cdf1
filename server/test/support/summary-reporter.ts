// A reporter beside the one that prints: one line of JSON for each test that failed or was skipped and each file that
// ended, so that `npm test` can repeat at its very end what failed and was skipped in which of its passes, how many tests
// passed, and where the time went.

interface TestEvent {
  readonly type: string;
  readonly data: {
    readonly name?: string;
    readonly file?: string;
    readonly duration_ms?: number;
    readonly skip?: boolean | string;
    readonly counts?: { readonly passed: number; readonly failed: number };
    readonly details?: { readonly error?: { readonly failureType?: string } };
  };
}

export type SummaryLine =
  | { readonly kind: 'failed'; readonly file: string; readonly name: string }
  | { readonly kind: 'skipped'; readonly file: string; readonly name: string; readonly why: string }
  | { readonly kind: 'file'; readonly file: string; readonly ms: number; readonly passed: number };

/** A suite fails with its tests: only the tests themselves are worth a line. */
function lineOf({ type, data }: TestEvent): SummaryLine | null {
  const file = data.file ?? '';
  if (type === 'test:fail' && data.details?.error?.failureType !== 'subtestsFailed') {
    return { kind: 'failed', file, name: data.name ?? '' };
  }
  if (type === 'test:pass' && data.skip !== undefined && data.skip !== false) {
    const why = typeof data.skip === 'string' ? data.skip : '';
    return { kind: 'skipped', file, name: data.name ?? '', why };
  }
  if (type === 'test:summary' && data.file !== undefined) {
    return { kind: 'file', file, ms: data.duration_ms ?? 0, passed: data.counts?.passed ?? 0 };
  }
  return null;
}

export default async function* summary(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const event of events) {
    const line = lineOf(event);
    if (line !== null) yield `${JSON.stringify(line)}\n`;
  }
}
