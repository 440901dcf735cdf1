// A cursor carries a mark of its list, filters and order. With another list, filter or order its position would mean
// something else, so the cursor is refused. Cursors of messages and events are numbers, because the public clients read
// them as numbers.

import { createHash } from 'node:crypto';
import type { PageRequest } from '../../../store/ports/message-store.ts';
import { ApiError } from '../errors.ts';

const MARK_DIGITS = 8;
const MARKED_NUMBER = new RegExp(`^(\\d{1,16})\\.(\\d{${MARK_DIGITS}})(\\d{0,6})$`);
const MARKED_KEY = new RegExp(`^([\\w-]{1,1400})\\.(\\d{${MARK_DIGITS}})$`);

/** The orders by name. The public clients use `latestFirst` and `earliestFirst`. */
export const ORDER_BY_NAME: ReadonlyMap<string, PageRequest['order']> = new Map([
  ['latestFirst', 'newestFirst'],
  ['newestFirst', 'newestFirst'],
  ['earliestFirst', 'oldestFirst'],
  ['oldestFirst', 'oldestFirst'],
]);

/** The mark for a cursor of this list with these parameters. It leaves out `count`, which may differ between pages. */
export function cursorMarkOf(list: string, parameters: object): string {
  const { count: _count, cursor: _cursor, order, ...filters } = parameters as Readonly<Record<string, unknown>>;
  const given = Object.entries(filters)
    .filter(([, value]) => value !== undefined && value !== null && value !== '')
    .map(([name, value]) => [name, [value].flat().map(String)] as const)
    .sort(([one], [other]) => (one < other ? -1 : 1));
  const way = order === undefined ? 'newestFirst' : ORDER_BY_NAME.get(String(order));
  const digest = createHash('sha256')
    .update(JSON.stringify([list, given, way]))
    .digest();
  return String(digest.readUInt32BE() % 10 ** MARK_DIGITS).padStart(MARK_DIGITS, '0');
}

export interface NumberPosition {
  readonly position: number;
  /** How many events of this position were already returned. 0: all of them, so the page begins after the position. */
  readonly seen: number;
}

export function toNumberCursor({ position, seen }: NumberPosition, mark: string): string {
  return `${position}.${mark}${seen === 0 ? '' : seen}`;
}

export function parseNumberCursor(text: string, mark: string): NumberPosition {
  const [, position, given, seen] = MARKED_NUMBER.exec(text) ?? [];
  if (position === undefined || !Number.isSafeInteger(Number(position))) throw notOurs();
  if (given !== mark) throw ofAnother();
  return { position: Number(position), seen: Number(seen) };
}

export function toKeyCursor(key: string, mark: string): string {
  return `${Buffer.from(key).toString('base64url')}.${mark}`;
}

export function parseKeyCursor(text: string, mark: string): string {
  const [, encoded, given] = MARKED_KEY.exec(text) ?? [];
  const key = encoded === undefined ? '' : Buffer.from(encoded, 'base64url').toString();
  // A cursor that is not text, or that no store can hold, was not made by us.
  if (key === '' || key.includes('\0') || toKeyCursor(key, given!) !== text) throw notOurs();
  if (given !== mark) throw ofAnother();
  return key;
}

function notOurs(): ApiError {
  return new ApiError('bad_parameter', 'cursor: must be the cursor of an earlier page');
}

function ofAnother(): ApiError {
  return new ApiError(
    'bad_parameter',
    'cursor: belongs to another list, or to other filters or another order; use the same filters and order as for the page before',
  );
}
