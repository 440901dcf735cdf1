// The one table of settings. The Config type, the parsing of flags and environment, `--help`, the start-up summary
// and docs/configuration.md are all made from it. No other file reads the environment.

import { SCOPES, type Scope } from '../../rules/accounts/account.ts';
import { AUDIT_DAYS_DEFAULT } from '../../rules/accounts/audit.ts';
import { LANES_MAX } from '../../rules/limits/lanes.ts';
import { DEFAULT_TIERS } from '../../rules/limits/tier.ts';
import { NODE_ROLES, type NodeRole } from '../../rules/nodes/node.ts';
import { FORWARD_HEADER_BYTES_MAX, FORWARD_HEADERS_MAX } from '../../rules/publish/headers.ts';
import { helpPage } from './help-page.ts';
import { misspeltVariables, quote, readFlags } from './read-flags.ts';
import {
  alsoIn,
  both,
  type Command,
  defaultOf,
  onlyIn,
  readSetting,
  type Setting,
  type Source,
  setting,
} from './setting.ts';
import { contradictionsOf } from './setting-contradictions.ts';
import {
  adminToken,
  bytes,
  cidrs,
  duration,
  hostNames,
  integer,
  integerOrNone,
  metricsToken,
  name,
  nullable,
  oneOf,
  onOff,
  origins,
  port,
  publicUrl,
  scopes,
  share,
  storeUrl,
  text,
  tiers,
  tokenLife,
} from './setting-kind.ts';

export { COMMANDS, type Command, defaultOf, type ServiceCommand, type Setting } from './setting.ts';
export type Environment = Readonly<Record<string, string | undefined>>;

export const LOG_LEVELS = ['silent', 'fatal', 'error', 'warn', 'info', 'debug'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** The real clock, or a clock that is moved by hand, for tests. */
const CLOCKS = ['real', 'manual'] as const;

const HTTP_READERS = ['own', 'node'] as const;

/** A value in place of a data directory. It means a temporary folder, made at the start and removed at the end. */
export const TEMPORARY_DATA = '';

const KIB = 1024;
const MIB = 1024 * KIB;
const GIB = 1024 * MIB;

export const SETTINGS = {
  port: setting('port', port, both(8411), 'Port to listen on; 0 chooses any free port.'),
  host: setting(
    'host',
    text('<address>', /^[\w.:-]+$/, 'must be an address or host name such as 127.0.0.1, :: or localhost'),
    { dev: '127.0.0.1', serve: '0.0.0.0' },
    'Address to listen on. dev listens on this machine only, because its token is public and it may call loopback addresses. serve listens on all addresses, because loopback cannot be reached from outside a container, or from a proxy on another machine.',
  ),
  publicUrl: setting(
    'public-url',
    nullable(publicUrl, 'none'),
    { dev: null, serve: null },
    'URL at which receivers reach the service, such as https://queue.example.com: deliveries with Await-Ack name it for their acks. Without it, they name the address that the node listens on.',
  ),
  data: alsoIn(
    {
      backup: 'Data directory of the service. The service may be running, but only on this machine.',
      check:
        'Data directory of the service. The service may be running, but only on this machine. While it runs, the write-ahead log of the database is not checked.',
      'migrate-store':
        'Directory to move from. No service may run on it meanwhile. At the end it is marked as moved; nothing else in it is changed.',
      'token create':
        'Data directory of the service. The service may be running, but only on this machine. Not used with --store.',
    },
    setting(
      'data',
      text('<directory>', /^[^\0]+$/, 'must be the path of a directory'),
      { dev: '.postrider', serve: 'postrider-data' },
      'Directory of the database. It is created when missing. Only one running process can use it. Not used with --store.',
    ),
  ),
  store: {
    ...alsoIn(
      {
        backup: 'Not possible: a database in PostgreSQL is copied with its own tools, such as pg_dump.',
        check: 'Not possible: a database in PostgreSQL is checked with its own tools, such as pg_amcheck.',
        'migrate-store':
          'Database to move into: postgres://user:password@host:5432/database. It must be empty, or hold an unfinished move of the same directory.',
        'token create': 'Database of the service: postgres://user:password@host:5432/database.',
      },
      setting(
        'store',
        storeUrl,
        both<string | null>(null),
        'PostgreSQL database to use instead of a file, for any number of nodes: postgres://user:password@host:5432/database, or with several servers host:5432,host:5432.',
      ),
    ),
    isSecret: true,
  },
  adminTokenFile: onlyIn(
    'serve',
    setting(
      'admin-token-file',
      nullable(text('<file>', /^[^\0]+$/, 'must be the path of a file'), 'none'),
      both<string | null>(null),
      'File for the first admin token, which is then not printed. If the file exists, its content is the token: 32 to 256 printable ASCII characters without blanks. If not, a token is made and written to it. A store that has an admin token keeps its own.',
    ),
  ),
  adminToken: {
    ...onlyIn(
      'serve',
      setting(
        'admin-token',
        nullable(adminToken, 'none'),
        both<string | null>(null),
        'The first admin token, which is then not printed: 32 to 256 printable ASCII characters without blanks. Better in the variable than on the command line, where other users of the machine can see it.',
      ),
    ),
    isSecret: true,
  },
  takeOverDev: onlyIn(
    'serve',
    setting(
      'take-over-dev',
      onOff,
      both(false),
      'Take over a store that dev has used; without this flag serve refuses it. It revokes the public dev tokens, replaces the signing keys of their accounts and prints a new token.',
    ),
  ),
  role: setting(
    'role',
    oneOf('<role>', NODE_ROLES),
    both<NodeRole>('all'),
    'What this node does. all: everything. api: it serves the API, but sends nothing. deliver: it sends, but accepts no messages. Only with --store.',
  ),
  headerPrefix: setting(
    'header-prefix',
    text('<prefix>', /^[A-Za-z0-9][!#$%&'*+.^_`|~0-9A-Za-z-]*-$/, 'must be an HTTP token that ends in "-"'),
    both('Service-'),
    'Prefix of all headers of the service, in requests and responses. Without the "-" it is also the issuer of signatures. "Upstash-" makes QStash clients work.',
  ),
  strictSettings: setting(
    'strict-settings',
    onOff,
    both(false),
    'Refuse with 400: a publish with a header that looks like a misspelt setting, such as Service-Retires, or that has the prefix of another service, such as Upstash-Retries; and an element of a batch with an unknown field. Without this flag they are accepted, and the response has a Service-Warning header.',
  ),
  allowCidr: setting(
    'allow-cidr',
    cidrs,
    both<readonly string[]>([]),
    'Private address ranges that destinations may resolve to, separated by commas; the flag may be repeated. All other private, loopback and link-local addresses are refused; dev allows loopback.',
  ),
  trustedProxy: setting(
    'trusted-proxy',
    cidrs,
    both<readonly string[]>([]),
    'Address ranges of proxies, separated by commas; the flag may be repeated. X-Forwarded-For is read only on requests from these proxies: callerIp is then the last address in the header that does not belong to a proxy. By default the header is not read, and callerIp is the address of the connection.',
  ),
  metricsToken: {
    ...setting(
      'metrics-token',
      nullable(metricsToken, 'none'),
      both<string | null>(null),
      'Token that /metrics needs, as Authorization: Bearer <token>: 16 to 256 printable ASCII characters without blanks. This token gives access to nothing else, and no other token then gives access to /metrics. Without this setting, everybody who reaches the port can read the metrics.',
    ),
    isSecret: true,
  },
  metricsPort: setting(
    'metrics-port',
    nullable(port, 'the port of the API'),
    both<number | null>(null),
    'Port for /metrics alone, on the address of --host; 0 chooses any free port. The port of the API then has no /metrics, but still has /healthz and /readyz.',
  ),
  allowHost: onlyIn(
    'dev',
    setting(
      'allow-host',
      hostNames,
      both<readonly string[]>([]),
      'More host names that dev accepts, such as the name of a container or a tunnel, separated by commas; *.example.com means all names below it. By default dev accepts only localhost and its own addresses, so that no web page can reach it through a host name of its own.',
    ),
  ),
  clock: onlyIn(
    'dev',
    setting(
      'clock',
      oneOf('<clock>', CLOCKS),
      both<'real' | 'manual'>('real'),
      'real, or manual: a clock for tests, which is stopped until POST /v2/dev/clock moves it. With a manual clock the data is in a temporary folder that is removed at the end, unless --data names an empty directory. Not with --store.',
    ),
  ),
  untilStdinEnds: onlyIn(
    'dev',
    setting(
      'until-stdin-ends',
      onOff,
      both(false),
      'Stop when standard input ends: a test that starts the service and is killed leaves no process behind.',
    ),
  ),
  allowOrigin: setting(
    'allow-origin',
    origins,
    both<readonly string[]>([]),
    'Origins of web pages that may call the API with a token (CORS), such as https://app.example.com, separated by commas; the flag may be repeated. * means every page; dev refuses that, because its token is public. Cookies are never accepted from such a page.',
  ),
  json: alsoIn(
    {
      backup: 'Print one line of JSON at the end, for scripts.',
      check: 'Print one line of JSON at the end, for scripts.',
      'migrate-store': 'Print one line of JSON at the end, for scripts, and no progress.',
      'token create': 'Print one line of JSON instead of only the token, for scripts.',
    },
    setting('json', onOff, both(false), 'Print one line of JSON instead of the greeting when ready, for scripts.'),
  ),
  httpReader: setting(
    'http-reader',
    oneOf('<reader>', HTTP_READERS),
    both<'own' | 'node'>('own'),
    'own: a publish that arrives whole is read without node:http, which takes less CPU time. node: node:http reads every request, and connections and bodies are read by documented calls of Node.js alone; responses are the same.',
  ),
  logLevel: setting(
    'log-level',
    oneOf('<level>', LOG_LEVELS),
    { dev: 'warn', serve: 'info' },
    `Lowest level of log lines to write: ${LOG_LEVELS.join(', ')}.`,
  ),
  logSuccesses: setting(
    'log-successes',
    share,
    both(1),
    'Share of the delivered messages whose attempt has a log line, such as 1%. Attempts that fail always have one. The id of the message decides, so all nodes choose the same messages.',
  ),
  auditDays: setting(
    'audit-days',
    integer(0, 3650),
    both(AUDIT_DAYS_DEFAULT),
    'How many days the audit is kept: who has changed what, and which calls were refused. 0: none is kept, and what is stored of it is deleted. Set the same value on all nodes.',
  ),
  concurrency: setting('concurrency', integer(1, 100_000), both(1000), 'Most attempts in flight on this node.'),
  hostConcurrency: setting(
    'host-concurrency',
    integer(1, 100_000),
    both(400),
    'Most attempts in flight to one destination host.',
  ),
  accountConcurrency: setting(
    'account-concurrency',
    integerOrNone(1, 100_000),
    both<number | null>(null),
    'Most attempts in flight for one account. In any case an account can use only as many slots of --concurrency and of --host-concurrency as it leaves free: half of them when it is alone.',
  ),
  lanes: onlyIn(
    'serve',
    setting(
      'lanes',
      nullable(integer(1, LANES_MAX), 'one less than the cores, at least 1 and at most 4'),
      both<number | null>(null),
      'Threads that listen and deliver, over a data directory. They share the limits of this node. With --store there is only one: start more nodes instead.',
    ),
  ),
  drainMs: setting(
    'drain',
    duration,
    both(30_000),
    'How long a stopping node waits for its attempts in flight. Attempts that it then cuts off are repeated.',
  ),
  requestBytesMax: setting('request-bytes-max', bytes(KIB, GIB), both(100 * MIB), 'Largest body of a request.'),
  batchMax: setting('batch-max', integer(1, 100_000), both(1000), 'Most elements of one batch.'),
  forwardHeadersMax: setting(
    'forward-headers-max',
    integer(0, 1000),
    both(FORWARD_HEADERS_MAX),
    'Most forwarded headers of a message.',
  ),
  forwardHeaderBytesMax: setting(
    'forward-header-bytes-max',
    bytes(0, MIB),
    both(FORWARD_HEADER_BYTES_MAX),
    'Largest size of all headers of a delivery: names and values together, from all sources.',
  ),
  hopsMax: setting(
    'hops-max',
    integer(0, 1000),
    both(5),
    'How often a message may come back to this service before it is refused as a loop.',
  ),
  deduplicationWindowMs: setting(
    'deduplication-window',
    duration,
    both(600_000),
    'How long a deduplication id blocks duplicates, from its first message on.',
  ),
  tiers: setting(
    'tiers',
    tiers,
    both(DEFAULT_TIERS),
    'Tier limits to change, as JSON such as {"free":{"bodyBytesMax":2097152}}; null means unlimited.',
  ),
  minFreeDiskBytes: setting(
    'min-free-disk-bytes',
    bytes(0, 1024 * GIB),
    both(64 * MIB),
    'Publishing is refused when the disk of the data directory has less free space than this. Deliveries continue. With PostgreSQL it is the size of the reserve: space in the database, at most 64 MiB, that is released when the disk of the database is full. Set the same value on all nodes.',
  ),
  to: onlyIn(
    'backup',
    setting(
      'to',
      nullable(
        text('<file>', /^[^\0]+$/, 'must be the path of a file'),
        'postrider-backup-<time>.db in the directory it is run in',
      ),
      both<string | null>(null),
      'File to create. Only its owner can read it. An existing file is not overwritten.',
    ),
  ),
  repair: onlyIn(
    'check',
    setting(
      'repair',
      onOff,
      both(false),
      'Save the readable part of a damaged log, or continue without a missing log, so that the service starts again. The service must be stopped. A damaged log is kept.',
    ),
  ),
  admin: onlyIn('token create', setting('admin', onOff, both(false), 'Create a token that may do everything.')),
  scope: onlyIn(
    'token create',
    setting(
      'scope',
      scopes,
      both<readonly Scope[]>([]),
      `What the token may do, instead of --admin: ${SCOPES.join(', ')}, separated by commas; the flag may be repeated.`,
    ),
  ),
  account: onlyIn(
    'token create',
    setting(
      'account',
      nullable(name, 'the only account, or the one called default'),
      both<string | null>(null),
      'Name of the account of the token.',
    ),
  ),
  tokenName: onlyIn(
    'token create',
    setting('name', name, both('command-line'), 'Name of the token, shown in lists of tokens.'),
  ),
  tokenExpiresIn: onlyIn(
    'token create',
    setting(
      'expires-in',
      nullable(tokenLife, 'never'),
      both<number | null>(null),
      'After how long the token expires, such as 90d.',
    ),
  ),
  tokenAddresses: onlyIn(
    'token create',
    setting(
      'address',
      cidrs,
      both<readonly string[]>([]),
      'CIDR ranges of the addresses from which the token may be used, separated by commas; the flag may be repeated. Without it, from everywhere.',
    ),
  ),
};

export type SettingKey = keyof typeof SETTINGS;
export const SETTING_KEYS = Object.keys(SETTINGS) as readonly SettingKey[];

export type Config = { readonly command: Command } & {
  readonly [K in SettingKey]: (typeof SETTINGS)[K] extends Setting<infer T> ? T : never;
};

/** The environment, for the commands that call the API: they have variables that are no settings of the service. */
export function environment(): Environment {
  return process.env;
}

export function environmentName(flag: string): string {
  return `POSTRIDER_${flag.toUpperCase().replaceAll('-', '_')}`;
}

/** A flag wins over the environment, the environment over the default. Reports all errors, not only the first. */
export function parseConfig(
  command: Command,
  argv: readonly string[],
  env: Environment = process.env,
): { readonly config: Config } | { readonly problems: string[] } | { readonly help: string } {
  const keys = SETTING_KEYS.filter((key) => SETTINGS[key].commands.includes(command));
  const line = readFlags(new Map(keys.map((key) => [SETTINGS[key].flag, SETTINGS[key].kind])), argv);
  if (line.isHelp) return { help: helpText(command) };
  const variables = SETTING_KEYS.map((key) => environmentName(SETTINGS[key].flag));
  const problems = [
    ...line.problems,
    ...line.words.map((word) => `unexpected argument ${quote(word)}`),
    ...misspeltVariables(Object.keys(env), variables, environmentName('')),
  ];
  const sources = new Map(keys.map((key) => [key, sourceOf(SETTINGS[key].flag, line.values, env)]));
  const values: Record<string, unknown> = Object.assign(Object.create(null), { command });
  for (const key of SETTING_KEYS) {
    const read = readSetting<unknown>(SETTINGS[key], command, sources.get(key) ?? null);
    if ('value' in read) values[key] = read.value;
    else problems.push(...read.problems);
  }
  problems.push(...contradictionsOf(command, values));
  if (values.clock === 'manual' && sources.get('data') === null) values.data = TEMPORARY_DATA;
  return problems.length > 0 ? { problems } : { config: values as Config };
}

function sourceOf(flag: string, flags: ReadonlyMap<string, readonly string[]>, env: Environment): Source | null {
  const texts = flags.get(flag);
  if (texts !== undefined) return { name: `--${flag}`, text: texts.join(',') };
  const name = environmentName(flag);
  // An empty variable counts as absent: compose files and shells set unset variables to an empty text.
  const text = env[name] ?? '';
  return text === '' ? null : { name, text };
}

function helpText(command: Command): string {
  const keys = SETTING_KEYS.filter((key) => SETTINGS[key].commands.includes(command));
  const entries = keys.map((key) => {
    const setting: Setting<unknown> = SETTINGS[key];
    const { flag, kind, description, meanings } = setting;
    const isRequired = command === 'migrate-store' && key === 'store';
    const byDefault = isRequired ? 'Required.' : `Default: ${kind.show(defaultOf(setting, command))}.`;
    return {
      head: `--${flag}${kind.placeholder === null ? '' : ` ${kind.placeholder}`}`,
      about: `${meanings?.[command] ?? description} ${byDefault} Environment: ${environmentName(flag)}.`,
    };
  });
  return helpPage(command, entries);
}
