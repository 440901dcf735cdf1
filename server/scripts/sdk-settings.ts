// Generates the parts of the SDK that come from tables of the server: the names of the settings, the options of a
// publish with their types, and the codes of errors.

import { SETTING_TABLE, type Setting, type SettingValue } from '../src/rules/publish/setting-table.ts';
import { PROBLEMS } from '../src/rules/requests/problem.ts';

const TYPES: Readonly<Record<SettingValue, string>> = {
  text: 'string',
  count: 'number',
  duration: 'Duration',
  instant: 'number | Date',
  list: 'string | readonly string[]',
  flag: 'boolean',
  method: "'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'",
  callback: 'string | CallbackOptions',
  headers: 'Readonly<Record<string, string>>',
  limits: 'string | FlowLimits',
  overlap: "'allow' | 'skip'",
  outage: "'retry' | 'park'",
};

const ofSetting = (of: Setting['of']) => (SETTING_TABLE as readonly Setting[]).filter((each) => each.of === of);

const quoted = (text: string) => `'${text}'`;

export function sdkSettingNames(opening: string): string {
  const types = (of: Setting['of']) =>
    ofSetting(of).map(({ name }) => (name.endsWith('-') ? `\`${name}\${string}\`` : quoted(name)));
  const others = [...types('message'), ...types('schedule')];
  return `${opening}

/** Settings of one delivery: of a message, or of a callback. */
export type DeliverySettingName =
${types('delivery')
  .map((type) => `  | ${type}`)
  .join('\n')};

/** The headers of a publish, without their prefix. */
export type SettingName =
  | DeliverySettingName
  | \`Callback-\${DeliverySettingName}\`
  | \`Failure-Callback-\${DeliverySettingName}\`
${others.map((type) => `  | ${type}`).join('\n')};
`;
}

export function sdkSettingOptions(opening: string): string {
  return `${opening}
// The options of a publish. Each is a header of the API in camel case: \`retryDelay\` is \`Retry-Delay\`.

type Unit = 'ms' | 's' | 'm' | 'h' | 'd';

/** Seconds, or numbers with units, such as \`90s\`, \`1d12h\` or \`1h30m10s\`. */
export type Duration =
  | number
  | \`\${number}\${Unit}\`
  | \`\${number}\${Unit}\${number}\${Unit}\`
  | \`\${number}\${Unit}\${number}\${Unit}\${number}\${Unit}\`;

/** How one delivery is made: that of a message, or that of a callback. */
export interface DeliveryOptions {
${ofSetting('delivery').map(option).join('')}}

/** A callback with settings of its own. Without them, it has the retries of its message. */
export interface CallbackOptions extends DeliveryOptions {
  readonly url: string;
}

/** Limits of a flow-control key. */
export interface FlowLimits {
  readonly parallelism?: number | undefined;
  readonly rate?: number | undefined;
  readonly period?: Duration | undefined;
}

export interface MessageOptions extends DeliveryOptions {
${ofSetting('message').map(option).join('')}}

export interface ScheduleOptions extends MessageOptions {
${ofSetting('schedule').map(option).join('')}}
`;
}

function option({ name, value, help, default: byDefault }: Setting): string {
  const isRequired = byDefault === 'required';
  const key = value === 'headers' ? 'headers' : camelCase(name);
  const text = value === 'headers' ? 'Headers for the destination, by name' : help;
  const otherwise = ['none', 'required', 'made'].includes(byDefault) ? '' : ` Default: ${byDefault}.`;
  const type = isRequired ? TYPES[value] : `${TYPES[value]} | undefined`;
  return `  /** ${text}.${otherwise} */\n  readonly ${key}${isRequired ? '' : '?'}: ${type};\n`;
}

function camelCase(name: string): string {
  return name.charAt(0).toLowerCase() + name.slice(1).replace(/-([A-Z])/g, '$1');
}

export function sdkErrorCodes(opening: string): string {
  return `${opening}

/** What is wrong with a call. docs/errors.md says what each code means. */
export type ErrorCode =
${Object.keys(PROBLEMS)
  .map((code) => `  | ${quoted(code)}`)
  .join('\n')};
`;
}
