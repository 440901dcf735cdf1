// Something for every field of a new message that stands in its column as it is: a field that is added is tried as well.

import fc from 'fast-check';
import type { NewMessage } from '../../src/rules/delivery/message.ts';
import { ACCEPTED_FIELDS, type Field, type Kind } from '../../src/store/rows/message-fields.ts';

type Fields = { [Name in keyof NewMessage]: fc.Arbitrary<NewMessage[Name]> };
/** Those whose values are of their own kind. */
type Special = 'kind' | 'method' | 'flow' | 'redaction' | 'deduplication' | 'debounce' | 'callback' | 'failureCallback';
type SpecialFields = Pick<Fields, Special>;

/** `ofKind`: the values of each kind. The others are given by name, and so are those that must be narrower. */
export function anyMessageFields(
  ofKind: Readonly<Record<Exclude<Kind, 'flag' | 'json'>, fc.Arbitrary<unknown>>>,
  named: SpecialFields & Partial<Fields>,
): Fields {
  const fields: (readonly [string, fc.Arbitrary<unknown>])[] = [];
  for (const [name, field] of Object.entries<Field>(ACCEPTED_FIELDS)) {
    const { kind, or } = 'columns' in field ? { kind: field.columns[0]!.kind, or: undefined } : field;
    if (kind === 'flag' || kind === 'json') continue;
    fields.push([name, or === 'null' ? fc.option(ofKind[kind]) : ofKind[kind]]);
  }
  return { ...(Object.fromEntries(fields) as Fields), ...named };
}
