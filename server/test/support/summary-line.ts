// One line for each test that failed or was skipped and each file that ended, made from what the test runner reports, so
// that `npm test` can repeat at its very end what failed and was skipped, how many tests passed, and where the time went.

import type { TestEvent } from 'node:test/reporters';

export type SummaryLine =
  | { readonly kind: 'failed'; readonly file: string; readonly name: string }
  | { readonly kind: 'skipped'; readonly file: string; readonly name: string; readonly why: string }
  | { readonly kind: 'file'; readonly file: string; readonly ms: number; readonly passed: number };

/** A suite fails with its tests: only the tests themselves are worth a line. */
export function summaryLineOf({ type, data }: TestEvent): SummaryLine | null {
  if (type === 'test:fail') {
    // The types do not know it.
    const { failureType } = data.details.error as { failureType?: string };
    if (failureType === 'subtestsFailed') return null;
    return { kind: 'failed', file: data.file ?? '', name: data.name };
  }
  if (type === 'test:pass' && data.skip !== undefined && data.skip !== false) {
    const why = typeof data.skip === 'string' ? data.skip : '';
    return { kind: 'skipped', file: data.file ?? '', name: data.name, why };
  }
  if (type === 'test:summary' && data.file !== undefined) {
    return { kind: 'file', file: data.file, ms: data.duration_ms, passed: data.counts.passed };
  }
  return null;
}
