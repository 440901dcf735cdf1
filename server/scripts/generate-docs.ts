// Writes the docs and code that are generated from the program's tables. `generate-docs.ts` writes them;
// `generate-docs.ts --check` only lists stale files and then exits with 1.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { defaultOf, environmentName, SETTING_KEYS, SETTINGS, type Setting } from '../src/node/settings/config.ts';
import { type Budget, showAmount } from '../src/rules/limits/budget.ts';
import { BUDGETS } from '../src/rules/limits/budgets.ts';
import { DEFAULT_TIERS, TIER_LIMITS, type TierLimit } from '../src/rules/limits/tier.ts';
import { type Setting as PublishSetting, SETTING_TABLE } from '../src/rules/publish/setting-table.ts';
import { PROBLEMS } from '../src/rules/requests/problem.ts';
import { cliPage } from './cli-page.ts';
import { docsExamples } from './docs-examples.ts';
import { messageRowCode, postgresMessageCode, sqliteMessageCode } from './message-code.ts';
import { sdkErrorCodes, sdkSettingNames, sdkSettingOptions } from './sdk-settings.ts';
import { sdkTypes } from './sdk-shapes.ts';

const SETTINGS_FILE = 'server/src/rules/publish/setting-table.ts';
const FIELDS_FILE = 'server/src/store/rows/message-fields.ts';
const root = join(import.meta.dirname, '..', '..');

const examples = await docsExamples(madeFrom('server/scripts/sdk-examples.ts'));

const PAGES: readonly { readonly path: string; readonly render: () => string }[] = [
  { path: 'docs/configuration.md', render: configurationPage },
  { path: 'docs/cli.md', render: () => cliPage(generatedFrom('cli/src/table/'), table) },
  { path: 'docs/errors.md', render: errorsPage },
  { path: 'docs/limits.md', render: limitsPage },
  { path: 'docs/api.md', render: () => withPart('docs/api.md', 'settings', settingsPart()) },
  { path: 'server/src/inbound/docs/docs-examples.ts', render: () => examples },
  { path: 'console/src/parts/setting-table.ts', render: consoleSettings },
  { path: 'sdk/src/setting-names.ts', render: () => sdkSettingNames(madeFrom(SETTINGS_FILE)) },
  { path: 'sdk/src/setting-options.ts', render: () => sdkSettingOptions(madeFrom(SETTINGS_FILE)) },
  { path: 'sdk/src/error-codes.ts', render: () => sdkErrorCodes(madeFrom('server/src/rules/requests/problem.ts')) },
  { path: 'sdk/src/shapes.ts', render: () => sdkTypes(madeFrom('server/src/inbound/api/shapes/answers.ts')) },
  { path: 'server/src/store/rows/message-row.ts', render: () => messageRowCode(madeFrom(FIELDS_FILE)) },
  { path: 'server/src/store/sqlite/thread/message-code.ts', render: () => sqliteMessageCode(madeFrom(FIELDS_FILE)) },
  {
    path: 'server/src/store/postgres/messages/message-code.ts',
    render: () => postgresMessageCode(madeFrom(FIELDS_FILE)),
  },
];

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), `|${'---|'.repeat(head.length)}`, ...rows.map(line)].join('\n');
}

function generatedFrom(source: string): string {
  return `<!-- Made from ${source} by "npm run docs". Change that file, not this one. -->`;
}

function configurationPage(): string {
  const rows = SETTING_KEYS.map((key) => {
    const setting: Setting<unknown> = SETTINGS[key];
    const { flag, kind, description, commands, meanings = {} } = setting;
    const shown = commands.map((command) => {
      const isRequired = command === 'migrate-store' && key === 'store';
      return { command, value: isRequired ? 'required' : kind.show(defaultOf(setting, command)) };
    });
    const isSame = shown.every(({ value }) => value === shown[0]!.value);
    const defaultText = isSame
      ? `\`${shown[0]!.value}\``
      : shown.map(({ command, value }) => `${command}: \`${value}\``).join('<br>');
    const others = Object.entries(meanings).map(([command, meant]) => `<br>${command}: ${meant}`);
    const meaning = `${description}${others.join('')}`;
    const flagText = `\`--${flag}${kind.placeholder === null ? '' : ` ${kind.placeholder}`}\``;
    return [flagText, `\`${environmentName(flag)}\``, defaultText, commands.join(', '), meaning];
  });
  const limits = (Object.keys(TIER_LIMITS) as TierLimit[]).map((limit) => {
    const { canBeUnlimited, meaning } = TIER_LIMITS[limit];
    const { free, paid } = DEFAULT_TIERS;
    return [`\`${limit}\``, String(free[limit]), String(paid[limit]), canBeUnlimited ? 'yes' : 'no', meaning];
  });
  return `${generatedFrom('server/src/node/settings/config.ts')}

# Configuration

Every setting can be given as a flag or as an environment variable; the flag wins. An empty variable counts as absent.
A value that cannot be used stops the start, and every problem is listed at once. \`postrider serve --help\` shows this
table.

${table(['Flag', 'Environment', 'Default', 'Commands', 'Meaning'], rows)}

Sizes take \`KiB\`, \`MiB\`, \`GiB\`, \`KB\`, \`MB\`, \`GB\` or a plain number of bytes. Durations are one or more numbers with a
unit (\`ms\`, \`s\`, \`m\`, \`h\`, \`d\`), such as \`1m30s\`; a plain number is seconds.

## Tiers

Each account has a tier. \`--tiers\` changes single limits; the others keep their defaults:

\`\`\`sh
postrider serve --tiers '{"free":{"bodyBytesMax":2097152},"paid":{"retriesMax":null}}'
\`\`\`

${table(['Limit', 'free', 'paid', 'May be `null` (unlimited)', 'Meaning'], limits)}
`;
}

function errorsPage(): string {
  const rows = Object.entries(PROBLEMS).map(([code, [status, meaning]]) => [`\`${code}\``, String(status), meaning]);
  return `${generatedFrom('server/src/rules/requests/problem.ts')}

# Errors

Every error response is JSON: \`{"error": "<what is wrong, which field, what to do>", "code": "<code>"}\`. The code is
stable and meant for programs; the text is meant for people and may change.

${table(['Code', 'Status', 'Meaning'], rows)}
`;
}

/** Returns the page with the part between its marks replaced. */
function withPart(path: string, name: string, part: string): string {
  const [start, end] = [`<!-- ${name} -->\n\n`, `\n\n<!-- /${name} -->`];
  const [before, rest] = readFileSync(join(root, path), 'utf8').split(start);
  const after = rest?.split(end)[1];
  if (before === undefined || after === undefined) throw new Error(`${path} has no part between the marks "${name}"`);
  return before + start + part + end + after;
}

function settingsPart(): string {
  const shownName = (name: string) => (name.endsWith('-') ? `${name}<Name>` : name);
  const rows = (SETTING_TABLE as readonly PublishSetting[])
    .filter(({ of }) => of !== 'schedule')
    .map(({ name, default: value, help, docs }) => [
      `\`Service-${shownName(name)}\``,
      value,
      docs ?? (/^[A-Z]{2}/.test(help) ? help : help.charAt(0).toLowerCase() + help.slice(1)),
    ]);
  const ofCallback = (SETTING_TABLE as readonly PublishSetting[])
    .filter(({ of }) => of === 'delivery')
    .map(({ name }) => `\`-${shownName(name)}\``);
  const callbacks = [
    `\`Service-Callback\` with ${ofCallback.join(', ')}`,
    'those of the message for retries, else as above',
    'how the callback is delivered; likewise `Service-Failure-Callback-…`',
  ];
  return table(
    ['Header', 'Default', 'Meaning'],
    [['`Content-Type`', 'none', 'forwarded unchanged'], ...rows, callbacks],
  );
}

function madeFrom(source: string): string {
  return `// Made from ${source} by "npm run docs". Change that file, not this one.`;
}

function consoleSettings(): string {
  const rows = SETTING_TABLE.map(({ name, help, example }) => {
    const fields = Object.entries({ name, help: help.replaceAll('`', ''), example });
    return `  {\n${fields.map(([key, value]) => `    ${key}: ${quoted(value)},\n`).join('')}  },\n`;
  });
  return `${madeFrom(SETTINGS_FILE)}

export interface KnownSetting {
  /** Without the prefix; one that ends in "-" is the start of a name. */
  readonly name: string;
  readonly help: string;
  readonly example: string;
}

export const KNOWN_SETTINGS: readonly KnownSetting[] = [
${rows.join('')}];
`;
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}

function limitsPage(): string {
  const cell = (amount: Budget['account'] | Budget['node'], unit: string): string => {
    if (amount === null) return '';
    if (typeof amount === 'number') return showAmount(amount, unit);
    return amount === 'share' ? 'its share' : `\`${amount}\``;
  };
  const rows = Object.values(BUDGETS).map(({ what, unit, each, account, node, beyond }) => [
    what,
    cell(each, unit),
    cell(account, unit),
    cell(node, unit),
    beyond,
  ]);
  return `${generatedFrom('server/src/rules/limits/budgets.ts')}

# Limits

Everything that a caller or a receiver can make a node hold has a limit. The limit is checked before the node allocates
anything. A refused request changes nothing.

**Its share**: an account can use only as much of a pool as it leaves free. A single account can use half of the
pool. Several accounts that want more than the pool has get equal parts, and another account still finds room.

**Lanes**: over a data directory a node may have several lanes (\`--lanes\`). Each of them has an equal part of what the node has.

${table(['What', 'Each', 'Account', 'Node', 'When exceeded'], rows)}

A debounce key and an open ack have no limit of their own. The key is a part of the message that waits for it. Of an attempt that
awaits its ack, one row is kept beside its message. So they are limited as messages are: by \`messagesPerDayMax\` and \`storedBytesMax\`.

The limits of a tier (body size, retries, delay, timeout, endpoints of a topic) are in
[configuration.md](configuration.md#tiers). \`/metrics\` shows the use of every pool: \`postrider_pool_used\`,
\`postrider_pool_max\`, \`postrider_pool_refused_total\`.
`;
}

function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return '';
    throw error;
  }
}

const stale = PAGES.filter(({ path, render }) => readOrEmpty(join(root, path)) !== render());
if (process.argv.includes('--check')) {
  for (const { path } of stale) console.error(`${path} is stale: run "npm run docs" and commit the result`);
  process.exitCode = stale.length > 0 ? 1 : 0;
} else {
  for (const { path, render } of stale) {
    writeFileSync(join(root, path), render());
    console.log(`wrote ${path}`);
  }
}
