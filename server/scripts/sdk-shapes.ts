// Generates the types of the SDK, sdk/src/shapes.ts, from the schemas of API responses. A schema with a name of its own
// becomes an exported type. Where the same schema appears inside another one, that name is used.

import { FILTER_NAMES } from '../src/inbound/api/lists/filters.ts';
import * as accounts from '../src/inbound/api/shapes/account-answers.ts';
import * as alerts from '../src/inbound/api/shapes/alert-answers.ts';
import * as answers from '../src/inbound/api/shapes/answers.ts';
import type { TSchema } from '../src/inbound/api/shapes/schema.ts';

/** The names of the SDK, in the order in which they are written. */
const TYPES: Readonly<Record<string, TSchema>> = {
  HeaderMap: answers.Headers,
  Scope: answers.ScopeName,
  MessageState: answers.MessageState,
  EventState: answers.EventState,
  ChangedName: answers.ChangedName,
  JobAction: answers.JobAction,
  Published: answers.PublishResult,
  BatchResult: answers.BatchResult,
  Message: answers.MessageSummary,
  Attempt: answers.AttemptAnswer,
  MessageWithAttempts: answers.MessageAnswer,
  UpdatedMessage: answers.UpdatedMessage,
  MessagePage: answers.MessagesAnswer,
  DeadLetter: answers.DeadLetterAnswer,
  DeadLetterPage: answers.DeadLettersAnswer,
  Cancelled: answers.CancelledAnswer,
  Ack: answers.AckAnswer,
  Why: answers.WhyAnswer,
  StateCounts: answers.StateCountsAnswer,
  MessageEvent: answers.EventAnswer,
  EventPage: answers.EventsAnswer,
  Queue: answers.QueueAnswer,
  Endpoint: answers.EndpointAnswer,
  Topic: answers.TopicAnswer,
  ScheduleRun: answers.ScheduleRunAnswer,
  Schedule: answers.ScheduleAnswer,
  CronTimes: answers.CronAnswer,
  AlertRule: alerts.AlertRuleAnswer,
  AlertTarget: alerts.AlertTargetAnswer,
  Alert: alerts.AlertAnswer,
  FlowKey: answers.FlowKeyAnswer,
  Parallelism: answers.ParallelismAnswer,
  Host: answers.HostAnswer,
  Job: answers.JobAnswer,
  JobPage: answers.JobsAnswer,
  BulkCount: answers.BulkCountAnswer,
  QueueStanding: answers.QueueStandingAnswer,
  Overview: answers.OverviewAnswer,
  ActivityBucket: answers.ActivityBucketAnswer,
  Activity: answers.ActivityAnswer,
  FailureGroup: answers.FailureGroupAnswer,
  FailureGroups: answers.FailureGroupsAnswer,
  OwnAccount: answers.OwnAccountAnswer,
  Account: accounts.AccountAnswer,
  Token: answers.TokenAnswer,
  NewToken: answers.NewTokenAnswer,
  SigningKeys: accounts.KeysAnswer,
  Usage: accounts.UsageAnswer,
  AuditEntry: accounts.AuditEntryAnswer,
  AuditPage: accounts.AuditAnswer,
  ServiceNode: answers.NodeAnswer,
  SinkRequest: answers.SinkRequestAnswer,
  ServiceClock: answers.ClockAnswer,
};

/** Types that extend another type with more fields. */
const EXTENDED: ReadonlyMap<string, string> = new Map([
  ['MessageWithAttempts', 'Message'],
  ['DeadLetter', 'Message'],
  ['NewToken', 'Token'],
]);

const LINE_MAX = 118;
/** Written once at the top of the file. */
const SAID_ONCE = 'Milliseconds since 1970.';

interface Schema {
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly patternProperties?: Readonly<Record<string, Schema>>;
  readonly description?: string;
}

const SCALARS = new Map([
  ['string', 'string'],
  ['integer', 'number'],
  ['number', 'number'],
  ['boolean', 'boolean'],
  ['null', 'null'],
]);

/** Schemas that describe the same values have the same text. */
function identity(schema: Schema): string {
  return JSON.stringify({ ...schema, description: undefined });
}

const NAMES = new Map(Object.entries(TYPES).map(([name, schema]) => [identity(schema as Schema), name]));

export function sdkTypes(madeFrom: string): string {
  const types = Object.entries(TYPES).map(([name, schema]) => declaration(name, schema as Schema));
  return `${madeFrom}
// What the API answers, and the filters it takes, as types. Times are milliseconds since 1970.

${types.join('\n')}
${filterTypes()}`;
}

/** Filters whose values are not a list of texts. */
const FILTER_TYPES: ReadonlyMap<string, string> = new Map([
  ['retried', "'true' | 'false' | 'any'"],
  ['fromDate', 'string | number'],
  ['toDate', 'string | number'],
  ['text', 'string'],
]);

function filterTypes(): string {
  const names = new Set<string>([...FILTER_NAMES.messages, ...FILTER_NAMES.deadLetters]);
  // The singular name of the list.
  names.delete('messageId');
  const lines = [...names].map((name) => `  readonly ${name}?: ${FILTER_TYPES.get(name) ?? 'readonly string[]'};`);
  return `/** A filter of messages: several values of one key mean any of them, several keys mean all of them. */
export interface MessageFilter {
${lines.join('\n')}
}

export interface PageRequest {
  readonly count?: number;
  readonly cursor?: string;
  readonly order?: 'newestFirst' | 'oldestFirst';
}
`;
}

function declaration(name: string, schema: Schema): string {
  if (!schema.properties) return alias(name, schema);
  const base = EXTENDED.get(name);
  const inherited = new Set(base === undefined ? [] : propertiesOf(TYPES[base] as Schema).map(({ line }) => line));
  const lines = propertiesOf(schema)
    .filter(({ line }) => !inherited.has(line))
    .map(({ line, description }) => {
      const comment = description === undefined || description === SAID_ONCE ? '' : `  /** ${description} */\n`;
      return comment + (line.length < LINE_MAX ? `  ${line}` : inSeveralLines(line));
    });
  return `export interface ${name}${base === undefined ? '' : ` extends ${base}`} {\n${lines.join('\n')}\n}\n`;
}

function alias(name: string, schema: Schema): string {
  const line = `export type ${name} = ${unnamed(schema)};`;
  if (line.length <= LINE_MAX) return `${line}\n`;
  const types = schema.enum?.map(literal) ?? schema.anyOf!.map(typeOf);
  const members = types.map((type) => (type.length < LINE_MAX - 2 ? `  | ${type}` : memberInLines(type)));
  return `export type ${name} =\n${members.join('\n')};\n`;
}

/** For a member of a union that is an object. */
function memberInLines(type: string): string {
  const fields = type.slice('{ '.length, -' }'.length).split('; ');
  return `  | {\n${fields.map((field) => `      ${field};`).join('\n')}\n    }`;
}

/** For a property that is an object. */
function inSeveralLines(line: string): string {
  const [start, inner] = line.split(/(?<=\{) /);
  const fields = inner!.slice(0, -' };'.length).split('; ');
  return `  ${start}\n${fields.map((field) => `    ${field};`).join('\n')}\n  };`;
}

function propertiesOf({ properties = {}, required = [] }: Schema) {
  return Object.entries(properties).map(([key, schema]) => ({
    line: `readonly ${key}${required.includes(key) ? '' : '?'}: ${typeOf(schema)};`,
    description: schema.description,
  }));
}

function typeOf(schema: Schema): string {
  return NAMES.get(identity(schema)) ?? unnamed(schema);
}

function unnamed(schema: Schema): string {
  const { const: only, enum: values, anyOf, type, items, properties, patternProperties } = schema;
  if (only !== undefined) return literal(only);
  if (values) return values.map(literal).join(' | ');
  if (anyOf) return anyOf.map(typeOf).join(' | ');
  if (type === 'array') {
    const item = typeOf(items!);
    return `readonly ${/[ |]/.test(item) && !item.startsWith('{') ? `(${item})` : item}[]`;
  }
  if (patternProperties) return `Readonly<Record<string, ${typeOf(Object.values(patternProperties)[0]!)}>>`;
  if (properties)
    return `{ ${propertiesOf(schema)
      .map(({ line }) => line)
      .join(' ')} }`.replace('; }', ' }');
  return SCALARS.get(type ?? '') ?? 'unknown';
}

function literal(value: unknown): string {
  return typeof value === 'string' ? `'${value}'` : String(value);
}
