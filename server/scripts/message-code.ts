// Generates the code that moves messages in and out of rows and between threads, from the table of their fields.
// Written out field by field it is as fast as code by hand; a loop over the table would cost time for every message.

import {
  ACCEPTED_FIELDS,
  type Field,
  type Kind,
  LATER_FIELDS,
  MESSAGE_COLUMNS,
} from '../src/store/rows/message-fields.ts';

const ACCEPTED: readonly (readonly [string, Field])[] = Object.entries(ACCEPTED_FIELDS);
const LATER: readonly (readonly [string, Field])[] = Object.entries(LATER_FIELDS);

const JSON_KINDS: ReadonlySet<Kind> = new Set<Kind>(['headers', 'texts', 'json']);

function imported(names: readonly string[], from: string): string {
  const line = `import { ${names.join(', ')} } from '${from}';`;
  return line.length <= 120 ? line : `import {\n${names.map((name) => `  ${name},\n`).join('')}} from '${from}';`;
}

function sorted(names: Iterable<string>): string[] {
  return [...new Set(names)].sort();
}

// Rows.

/** The type of a column in a row. */
function rowType(name: string, kind: Kind, isNullable: boolean): string {
  const field = [...ACCEPTED, ...LATER].find(([, each]) => 'column' in each && each.column === name)?.[0];
  const bare = (): string => {
    if (name === 'state') return 'RowState';
    if (kind === 'flag') return 'Flag';
    if (kind === 'bytes') return 'Uint8Array';
    if (kind === 'text' && field !== undefined && !isNullable) return `Message['${field}']`;
    return kind === 'text' || JSON_KINDS.has(kind) ? 'string' : 'number';
  };
  return isNullable ? `${bare()} | null` : bare();
}

function readValue(name: string, field: Field): string {
  if ('read' in field) return `${field.read}(row)`;
  const value = `row.${field.column}`;
  if (field.kind === 'texts') return `${value} === null ? [] : (JSON.parse(${value}) as string[])`;
  if (!JSON_KINDS.has(field.kind)) return value;
  return field.or === 'null' ? `parsedOrNull(${value})` : `JSON.parse(${value}) as Message['${name}']`;
}

export function messageRowCode(madeFrom: string): string {
  const fields = [...ACCEPTED, ...LATER];
  const always = fields.filter(([, field]) => field.or !== 'absent');
  const absent = fields.filter(([, field]) => field.or === 'absent');
  const readers = fields.flatMap(([, field]) => ('read' in field ? [field.read] : []));
  const lines = MESSAGE_COLUMNS.filter(({ isRead }) => isRead).map(
    ({ name, kind, isNullable }) => `  ${name}: ${rowType(name, kind, isNullable)};\n`,
  );
  const optional = absent.map(([name, field]) =>
    'read' in field
      ? `  const ${name} = ${field.read}(row);\n  if (${name} !== undefined) message.${name} = ${name};\n`
      : `  if (row.${field.column} !== null) message.${name} = row.${field.column};\n`,
  );
  return `${madeFrom}
// The row of a message, and its conversion to a message.

import type { Message } from '../../rules/delivery/message.ts';
import type { Flag, RowState } from './message-columns.ts';
${imported(sorted([...readers, 'parsedOrNull']), './message-columns.ts')}

export interface MessageRow {
${lines.join('')}  has_begun_retry?: Flag | null;
}

type Writable<T> = { -readonly [Name in keyof T]: T[Name] };

export function toMessage(row: MessageRow): Message {
  const message: Writable<Message> = {
${always.map(([name, field]) => `    ${name}: ${readValue(name, field)},\n`).join('')}  };
${optional.join('')}  return message;
}
`;
}

// New rows.

/** Column by column, except for the body: what a new row gets from the message. */
function writtenValues(): { readonly column: string; readonly value: string; readonly isNullable: boolean }[] {
  return ACCEPTED.flatMap(([name, field]) => {
    const value = `message.${name}`;
    if ('columns' in field) {
      return field.columns.map(({ column, isNullable = false, write }) => ({
        column,
        value: write === undefined ? value : `${write}(message)`,
        isNullable,
      }));
    }
    if (field.kind === 'bytes') return [];
    const isNullable = field.or !== undefined;
    if (field.kind === 'texts') {
      return [
        { column: field.column, value: `${value}.length > 0 ? JSON.stringify(${value}) : null`, isNullable: true },
      ];
    }
    const text = isNullable ? `${value} && JSON.stringify(${value})` : `JSON.stringify(${value})`;
    return [{ column: field.column, value: JSON_KINDS.has(field.kind) ? text : value, isNullable }];
  });
}

function writers(): string[] {
  return sorted(
    ACCEPTED.flatMap(([, field]) => ('columns' in field ? field.columns.flatMap(({ write }) => write ?? []) : [])),
  );
}

export function sqliteMessageCode(madeFrom: string): string {
  const put = ACCEPTED.map(([name, field]) => {
    const value = `message.${name}`;
    const kind = 'kind' in field ? field.kind : null;
    if (kind === 'headers') return `  putHeaders(to, ${value});\n`;
    if (kind === 'texts') return `  putEach(to, ${value}, putValue);\n`;
    return kind === 'bytes' ? `  to.putBody(${value});\n` : `  to.put(${value});\n`;
  });
  const taken = ACCEPTED.map(([name, field]) => {
    const kind = 'kind' in field ? field.kind : null;
    if (kind === 'headers') return `    ${name}: takeHeaders(from),\n`;
    if (kind === 'texts') return `    ${name}: takeEach(from, takeValue<string>),\n`;
    return kind === 'bytes' ? `    ${name}: from.takeBody(),\n` : `    ${name}: from.take(),\n`;
  });
  return `${madeFrom}
// A new message on its way to the writer's thread, and into its row.

import type { NewMessage } from '../../../rules/delivery/message.ts';
import type { RowState } from '../../rows/message-columns.ts';
${imported(writers(), '../../rows/message-columns.ts')}
import { ACCEPTED_COLUMNS } from '../../rows/message-fields.ts';
import type { RowGroup } from '../deliveries/row-group.ts';
${imported(['type Packing', 'putEach', 'putHeaders', 'putValue', 'takeEach', 'takeHeaders', 'takeValue', 'type Unpacking'], './packing.ts')}

export function putMessage(to: Packing, message: NewMessage): void {
${put.join('')}}

/** The properties of an object literal are taken in the order in which they are written. */
export function takeMessage(from: Unpacking): NewMessage {
  return {
${taken.join('')}  };
}

/** What the store gives a new row. */
export interface RowStart {
  readonly seq: number;
  readonly state: RowState;
  readonly firstDueAt: number;
  readonly claim: { readonly lease: string; readonly node: string; readonly at: number } | null;
  readonly body: Uint8Array;
  readonly bodyId: number | null;
  readonly storedBytes: number;
}

export const INSERTED_COLUMNS: readonly string[] = [
  'seq',
  ...ACCEPTED_COLUMNS.map(({ name }) => name),
  'state',
  'first_due_at',
  'lease',
  'node',
  'claimed_at',
  'body',
  'body_id',
  'stored_bytes',
];

export function addRow(to: RowGroup, message: NewMessage, start: RowStart): void {
  const { claim } = start;
  to.add(
    start.seq,
${writtenValues()
  .map(({ value }) => `    ${value},\n`)
  .join('')}    start.state,
    start.firstDueAt,
    claim?.lease ?? null,
    claim?.node ?? null,
    claim?.at ?? null,
    start.body,
    start.bodyId,
    start.storedBytes,
  );
}
`;
}

export function postgresMessageCode(madeFrom: string): string {
  const fields = writtenValues().map(({ column, value, isNullable }) => {
    const isMixed = value.includes(' ');
    return `    ${column}: ${isNullable ? `${isMixed ? `(${value})` : value} ?? undefined` : value},\n`;
  });
  return `${madeFrom}
// The columns of a new row that come from its message, without the body. An absent property becomes null.

import type { NewMessage } from '../../../rules/delivery/message.ts';
${imported(writers(), '../../rows/message-columns.ts')}

export function acceptedRow(message: NewMessage) {
  return {
${fields.join('')}  };
}
`;
}
