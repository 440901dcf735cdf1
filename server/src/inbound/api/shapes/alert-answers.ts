// The schemas of API responses about alerts.

import { TARGET_FORMATS } from '../../../rules/alerts/alert.ts';
import Type, { type TSchema } from './schema.ts';

const Ms = Type.Integer({ description: 'Milliseconds since 1970.' });
const optional = <T extends TSchema>(schema: T) => Type.Optional(schema);
const open = (properties: Record<string, TSchema>) => Type.Object(properties, { additionalProperties: false });
const DurationText = Type.String({ description: 'A duration, such as `5m`.' });
const alertScope = { host: optional(Type.String()), queue: optional(Type.String()), label: optional(Type.String()) };
export const AlertRuleAnswer = Type.Union([
  open({ type: Type.Literal('messageFailed'), count: Type.Integer(), window: DurationText, ...alertScope }),
  open({
    type: Type.Literal('failureRate'),
    share: Type.Number(),
    window: DurationText,
    minimum: Type.Integer(),
    ...alertScope,
  }),
  open({ type: Type.Literal('queueStalled'), olderThan: DurationText, queue: optional(Type.String()) }),
  open({ type: Type.Literal('hostFailing'), attempts: Type.Integer(), host: optional(Type.String()) }),
  open({ type: Type.Literal('scheduleFailed'), schedule: optional(Type.String()) }),
  open({ type: Type.Literal('quotaNear'), share: Type.Number() }),
  open({ type: Type.Literal('diskLow'), freeBytes: Type.Integer() }),
]);
export const AlertTargetAnswer = open({ url: Type.String(), format: Type.String({ enum: [...TARGET_FORMATS] }) });
export const AlertAnswer = open({
  alertId: Type.String(),
  rule: AlertRuleAnswer,
  target: AlertTargetAnswer,
  remindEvery: optional(DurationText),
  state: Type.String({ enum: ['calm', 'firing'] }),
  since: optional(Ms),
  notifiedAt: optional(Type.Integer({ description: 'When its target was last notified. Milliseconds since 1970.' })),
  messageId: optional(Type.String({ description: 'The last message to its target.' })),
  text: optional(Type.String({ description: 'The text of that message.' })),
  problem: optional(
    Type.String({ description: 'Why its target could not be notified, although it should have been.' }),
  ),
  evaluatedAt: optional(
    Type.Integer({
      description: 'The time of the last evaluation without a `problem`. Milliseconds since 1970.',
    }),
  ),
  createdAt: Ms,
  updatedAt: Ms,
});
export const AlertTestAnswer = open({ messageId: Type.String(), url: Type.String() });
