// One line for each test that failed or was skipped and each file that ended, made from what the test runner reports, so
// that `npm test` can repeat at its very end what failed and was skipped, how many tests passed, and where the time went.

import { join } from 'node:path';
import type { TestEvent } from 'node:test/reporters';

const ROOT = join(import.meta.dirname, '..', '..', '..');
/** Its suites are test files. */
export const GROUP = join(import.meta.dirname, 'group.ts');

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
  if (type === 'test:summary' && data.file !== undefined && data.file !== GROUP) {
    return { kind: 'file', file: data.file, ms: data.duration_ms, passed: data.counts.passed };
  }
  return null;
}

/** Of the files of a group: which tests passed is counted until the suite of their file ends. */
export class GroupLines {
  readonly #passed = new Map<string, number>();

  lineOf({ type, data }: TestEvent): SummaryLine | null {
    if (type !== 'test:pass' && type !== 'test:fail') return null;
    const { file = '' } = data;
    const isSuite = data.details.type === 'suite';
    if (type === 'test:pass' && !isSuite && !data.skip) this.#passed.set(file, (this.#passed.get(file) ?? 0) + 1);
    if (file !== GROUP || data.nesting > 0) return null;
    const ended = join(ROOT, data.name);
    const passed = this.#passed.get(ended) ?? 0;
    this.#passed.delete(ended);
    return { kind: 'file', file: ended, ms: data.details.duration_ms, passed };
  }
}
