// The response to a batch: an entry for each element, or one error if none is accepted.

import type { NewMessage } from '../../rules/delivery/message.ts';
import { ApiError, type ErrorResponse } from '../api/errors.ts';

/** For a batch without a valid element: how many elements the error lists with their reason. */
const REASONS_MAX = 10;

/** The messages that were made from one element of a batch, or the error of the element. */
export type PlannedElement = readonly NewMessage[] | ApiError;

export interface MessageResult {
  readonly messageId: string;
  readonly url?: string;
  readonly deduplicated?: true;
  /** With a debounce key: for how many messages it stands. */
  readonly debounced?: number;
}

/** The entry of an element to a topic is an array of results, that of an element to a URL is one result without URL. */
export function batchEntries(slots: readonly PlannedElement[], results: readonly MessageResult[]): unknown[] {
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
export function batchErrorBody(slots: readonly PlannedElement[]): ErrorResponse['body'] {
  const problems = slots.flatMap((slot) => (slot instanceof ApiError ? [slot.problem] : []));
  const [first] = problems;
  if (problems.length === 1) return { error: first!.message, code: first!.code };
  const reasons = problems.slice(0, REASONS_MAX).map(({ message }, index) => `[${index}] ${message}`);
  const more = problems.length > REASONS_MAX ? `; and ${problems.length - REASONS_MAX} more` : '';
  return { error: reasons.join('; ') + more, code: first!.code };
}
