// The schemas of API responses about accounts: their identity, their keys, their usage, and their audit.

import { AUDIT_RESULTS, AUDIT_VIAS } from '../../../rules/accounts/audit.ts';
import { Cursor } from './answers.ts';
import Type, { type TSchema } from './schema.ts';

const Ms = Type.Integer({ description: 'Milliseconds since 1970.' });
const optional = <T extends TSchema>(schema: T) => Type.Optional(schema);
const closedObject = (properties: Record<string, TSchema>) => Type.Object(properties, { additionalProperties: false });

export const KeysAnswer = closedObject({ current: Type.String(), next: Type.String() });
export const UsageAnswer = closedObject({
  fromDay: Type.String(),
  toDay: Type.String(),
  usage: Type.Array(closedObject({ day: Type.String(), kind: Type.String(), count: Type.Integer() })),
  storedBytes: Type.Integer({ description: 'How many bytes the account stores now.' }),
  storedBytesMax: optional(Type.Integer({ description: 'The limit for `storedBytes`. Absent: no limit.' })),
  cursor: Cursor,
});
export const AccountAnswer = closedObject({
  id: Type.String(),
  name: Type.String(),
  tier: Type.String(),
  createdAt: Ms,
  suspendedAt: optional(
    Type.Integer({ description: 'Since when the account is suspended. Absent if it is not suspended.' }),
  ),
  deletingSince: optional(
    Type.Integer({
      description: 'Since when the account is being deleted. Absent if it is not. It cannot be stopped.',
    }),
  ),
  outage: optional(Type.String({ enum: ['park'] })),
});
export const AccountsAnswer = closedObject({ accounts: Type.Array(AccountAnswer), cursor: Cursor });
export const AuditEntryAnswer = closedObject({
  auditId: Type.String(),
  time: Ms,
  lastTime: optional(Type.Integer({ description: 'Of several equal calls, the time of the last one.' })),
  count: optional(Type.Integer({ description: 'How many equal calls there were. Absent: one.' })),
  accountId: optional(Type.String({ description: 'Account of the caller. Absent: the caller was not known.' })),
  via: Type.String({
    enum: [...AUDIT_VIAS],
    description: 'How the caller was known: by a token, by a session of the console, on the machine itself, or not.',
  }),
  tokenId: optional(Type.String()),
  tokenName: optional(Type.String()),
  address: optional(
    Type.String({ description: 'Address of the caller; its network, such as `203.0.113.0/24`, if it was not known.' }),
  ),
  call: Type.String({
    description:
      'Method and route, or a command. `*`: there were too many different calls, so they are counted together.',
  }),
  target: optional(Type.String({ description: 'Name or id of what was called for.' })),
  result: Type.String({ enum: [...AUDIT_RESULTS] }),
  status: optional(Type.Integer()),
  code: optional(Type.String({ description: 'Code of the error.' })),
  requestId: optional(Type.String({ description: 'The `X-Request-Id` of the call; of several, of the first one.' })),
});
export const AuditAnswer = closedObject({ audit: Type.Array(AuditEntryAnswer), cursor: Cursor });
