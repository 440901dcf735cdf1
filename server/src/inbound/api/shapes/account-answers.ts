// The schemas of API responses about accounts: their identity, their keys, and their usage.

import { Cursor } from './answers.ts';
import Type, { type TSchema } from './schema.ts';

const Ms = Type.Integer({ description: 'Milliseconds since 1970.' });
const optional = <T extends TSchema>(schema: T) => Type.Optional(schema);
const open = (properties: Record<string, TSchema>) => Type.Object(properties, { additionalProperties: false });

export const KeysAnswer = open({ current: Type.String(), next: Type.String() });
export const UsageAnswer = open({
  fromDay: Type.String(),
  toDay: Type.String(),
  usage: Type.Array(open({ day: Type.String(), kind: Type.String(), count: Type.Integer() })),
  storedBytes: Type.Integer({ description: 'What the account stores now.' }),
  storedBytesMax: optional(Type.Integer({ description: 'The limit of its tier. Absent: no limit.' })),
  cursor: Cursor,
});
export const AccountAnswer = open({
  id: Type.String(),
  name: Type.String(),
  tier: Type.String(),
  createdAt: Ms,
  suspendedAt: optional(
    Type.Integer({ description: 'Since when the account is suspended. Absent if it is not suspended.' }),
  ),
});
export const AccountsAnswer = open({ accounts: Type.Array(AccountAnswer), cursor: Cursor });
