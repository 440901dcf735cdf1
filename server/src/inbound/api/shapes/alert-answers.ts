// The schemas of API responses about alerts.

import { TARGET_FORMATS } from '../../../rules/alerts/alert.ts';
import Type, { type TSchema } from './schema.ts';

const Ms = Type.Integer({ description: 'Milliseconds since 1970.' });
const optional = <T extends TSchema>(schema: T) => Type.Optional(schema);
const closedObject = (properties: Record<string, TSchema>) => Type.Object(properties, { additionalProperties: false });
const DurationText = Type.String({ description: 'A duration, such as `5m`.' });
const alertScope = { host: optional(Type.String()), queue: optional(Type.String()), label: optional(Type.String()) };
export const AlertRuleAnswer = Type.Union([
  closedObject({ type: Type.Literal('messageFailed'), count: Type.Integer(), window: DurationText, ...alertScope }),
  closedObject({
    type: Type.Literal('failureRate'),
    share: Type.Number(),
    window: DurationText,
    minimum: Type.Integer(),
    ...alertScope,
  }),
  closedObject({ type: Type.Literal('queueStalled'), olderThan: DurationText, queue: optional(Type.String()) }),
  closedObject({ type: Type.Literal('hostFailing'), attempts: Type.Integer(), host: optional(Type.String()) }),
  closedObject({ type: Type.Literal('scheduleFailed'), schedule: optional(Type.String()) }),
  closedObject({ type: Type.Literal('quotaNear'), share: Type.Number() }),
  closedObject({ type: Type.Literal('diskLow'), freeBytes: Type.Integer() }),
]);
export const AlertTargetAnswer = closedObject({
  url: Type.String(),
  format: Type.String({ enum: [...TARGET_FORMATS] }),
});
export const AlertAnswer = closedObject({
  alertId: Type.String(),
  rule: AlertRuleAnswer,
  target: AlertTargetAnswer,
  remindEvery: optional(DurationText),
  state: Type.String({ enum: ['calm', 'firing'] }),
  since: optional(Ms),
  notifiedAt: optional(Type.Integer({ description: 'When the target was last notified. Milliseconds since 1970.' })),
  messageId: optional(Type.String({ description: 'Id of the last message to the target.' })),
  text: optional(Type.String({ description: 'Text of the last message to the target.' })),
  problem: optional(
    Type.String({ description: 'Why the target could not be notified, although it should have been.' }),
  ),
  evaluatedAt: optional(
    Type.Integer({
      description: 'The time of the last evaluation without a `problem`. Milliseconds since 1970.',
    }),
  ),
  createdAt: Ms,
  updatedAt: Ms,
});
export const AlertTestAnswer = closedObject({ messageId: Type.String(), url: Type.String() });
