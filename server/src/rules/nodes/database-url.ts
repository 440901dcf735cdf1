// Parses the URL of a PostgreSQL database, with one server or several: postgres://user@one:5432,two:5432/database. The
// result is one URL for each server, in the given order, and the parameters that this program handles.

/** Which of several servers may be used. None of these allows a standby, because a node writes. */
const TARGETS = ['any', 'primary', 'read-write'] as const;
export type TargetServer = (typeof TARGETS)[number];

/** Parameters that the driver or this program uses. Any other is refused: it would be ignored silently. */
const PARAMETERS = [
  'application_name',
  'host',
  'options',
  'password',
  'port',
  'ssl',
  'sslcert',
  'sslkey',
  'sslmode',
  'sslnegotiation',
  'sslrootcert',
  'target_session_attrs',
  'uselibpqcompat',
  'user',
];

const EXAMPLE = 'postgres://user:password@host:5432/database';
export const SERVERS_MAX = 16;

export interface DatabaseUrl {
  /** One URL for each server, without `target_session_attrs` and `options`. */
  readonly servers: readonly string[];
  /**
   * `read-write`: the server is neither a standby nor set to be read-only. `primary` and `any`: the server is not a
   * standby.
   */
  readonly target: TargetServer;
  /** The parameter `options`. The program sets these options by statements. */
  readonly options: string;
}

/** The parsed URL, or the rule that it breaks. */
export function parseDatabaseUrl(text: string): DatabaseUrl | { readonly rule: string } {
  const [, scheme, authority = '', rest = ''] = /^(postgres(?:ql)?:\/\/)([^/?#]*)(.*)$/s.exec(text) ?? [];
  if (scheme === undefined) return { rule: `must be a URL such as ${EXAMPLE}` };
  const userEnd = authority.lastIndexOf('@') + 1;
  const hosts = authority.slice(userEnd).split(',');
  if (hosts.length > SERVERS_MAX) return { rule: `must name at most ${SERVERS_MAX} servers` };
  if (hosts.length > 1 && hosts.includes('')) return { rule: 'must have a host before and after each comma' };
  const urls = hosts.map((host) => `${scheme}${authority.slice(0, userEnd)}${host}${rest}`);
  if (!urls.every((url) => URL.canParse(url))) {
    return { rule: `must be a URL such as ${EXAMPLE}, or with several servers host:5432,host:5432` };
  }
  const parameters = new URL(urls[0]!).searchParams;
  const rule = brokenRule(parameters);
  if (rule !== null) return { rule };
  const target = parameters.get('target_session_attrs') ?? (hosts.length > 1 ? 'read-write' : 'any');
  return {
    servers: urls.map(withoutOurs),
    target: target as TargetServer,
    options: parameters.get('options') ?? '',
  };
}

function brokenRule(parameters: URLSearchParams): string | null {
  const unknown = [...parameters.keys()].find((name) => !PARAMETERS.includes(name));
  if (unknown !== undefined) {
    return `must not have the parameter ${JSON.stringify(unknown)}, which would have no effect; known are ${PARAMETERS.join(', ')}`;
  }
  const target = parameters.get('target_session_attrs');
  if (target !== null && !TARGETS.some((each) => each === target)) {
    return `must have target_session_attrs=read-write, primary or any: this service needs a server that it can write to`;
  }
  if (['host', 'port'].some((name) => parameters.get(name)?.includes(','))) {
    return 'must not list servers in a parameter: list them before the path, as host1:5432,host2:5432';
  }
  return null;
}

function withoutOurs(url: string): string {
  const parsed = new URL(url);
  for (const name of ['target_session_attrs', 'options']) parsed.searchParams.delete(name);
  return parsed.href;
}

/** The URL without user, password and parameters, to show it to people. */
export function shownDatabase(text: string): string {
  const [, authority = '', path = ''] = /^postgres(?:ql)?:\/\/([^/?#]*)([^?#]*)/.exec(text) ?? [];
  return `${authority.slice(authority.lastIndexOf('@') + 1) || 'localhost'}${path}`;
}
