// The response to a batch: an entry for each element, or one error if none is accepted.

import type { NewMessage } from '../../rules/delivery/message.ts';
import { ApiError, type ErrorResponse } from '../api/errors.ts';

/** For a batch without a valid element: how many elements the error lists with their reason. */
const REASONS_MAX = 10;

export type Slot = readonly NewMessage[] | ApiError;

export interface Result {
  readonly messageId: string;
  readonly url?: string;
  readonly deduplicated?: true;
}

/** An element to a topic has an array of results with URLs, an element to a URL only the id (Spec 4.2). */
export function batchEntries(slots: readonly Slot[], results: readonly Result[]): unknown[] {
  let at = 0;
  return slots.map((slot) => {
    if (slot instanceof ApiError) return { error: slot.problem.message, code: slot.problem.code };
    const own = results.slice(at, at + slot.length);
    at += slot.length;
    if (slot[0]!.topicName !== null) return own;
    const { url: _url, ...rest } = own[0]!;
    return rest;
  });
}

/** Makes one error object of all reasons, because the public clients accept no array for an error. */
export function refusedBatch(slots: readonly Slot[]): ErrorResponse['body'] {
  const problems = slots.flatMap((slot) => (slot instanceof ApiError ? [slot.problem] : []));
  const [first] = problems;
  if (problems.length === 1) return { error: first!.message, code: first!.code };
  const reasons = problems.slice(0, REASONS_MAX).map(({ message }, index) => `[${index}] ${message}`);
  const more = problems.length > REASONS_MAX ? `; and ${problems.length - REASONS_MAX} more` : '';
  return { error: reasons.join('; ') + more, code: first!.code };
}
