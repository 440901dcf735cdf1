// `postrider config …`: shows the address and the token that the command uses, and the settings of the service, with
// the source of each. No secret is shown.

import {
  defaultOf,
  environmentName,
  parseConfig,
  SETTING_KEYS,
  SETTINGS,
  type ServiceCommand,
  type Setting,
  TEMPORARY_DATA,
} from '../../../../server/src/node/settings/config.ts';
import { type ClientFile, clientFilePath, readClientFile, writeClientFile } from '../../frame/client-file.ts';
import type { Invocation } from '../../frame/command.ts';
import { findAddress, readTokenFile, urlProblem, type ValueWithSource } from '../../frame/connection.ts';
import { EXIT } from '../../frame/exit-codes.ts';
import { Failure, usageFailure } from '../../frame/failure.ts';
import { printable } from '../../frame/printable.ts';
import { collect } from '../../frame/read-input.ts';
import type { Io } from '../../frame/terminal.ts';

const TOKEN_BYTES_MAX = 64 * 1024;

export async function setConfig({ given, out, io }: Invocation): Promise<number> {
  const path = given.text('config') ?? io.env.POSTRIDER_CONFIG ?? clientFilePath(io.env, io.home);
  const [url, headerPrefix] = [given.text('url'), given.text('header-prefix')];
  const problem = url === undefined ? null : urlProblem(url);
  if (problem !== null) throw new Failure(`--url is not valid: ${problem}`, { exit: EXIT.usage });
  const token = await tokenToKeep({ given, io });
  const change = {
    ...(url !== undefined && { url }),
    ...(token !== undefined && { token }),
    ...(headerPrefix !== undefined && { headerPrefix }),
  };
  if (Object.keys(change).length === 0) {
    throw new Failure('there is nothing to store: give --url, --token-file or --header-prefix', { exit: EXIT.usage });
  }
  const profile = given.text('profile');
  writeClientFile(path, changed(readClientFile(path, false) ?? {}, profile, change));
  out.result(
    { path, kept: Object.keys(change), ...(profile !== undefined && { profile }) },
    `${printable(path)}: kept ${Object.keys(change).join(', ')}${profile === undefined ? '' : ` as profile ${printable(profile)}`}.`,
  );
  return EXIT.done;
}

function changed(file: ClientFile, profile: string | undefined, change: Partial<ClientFile>): ClientFile {
  if (profile === undefined) return { ...file, ...change };
  const profiles = new Map(Object.entries(file.profiles ?? {}));
  profiles.set(profile, { ...profiles.get(profile), ...change });
  return { ...file, profiles: Object.fromEntries(profiles) };
}

/** Reads the token from a file or standard input, so that it stays out of the history of the shell. */
async function tokenToKeep({ given, io }: Pick<Invocation, 'given' | 'io'>): Promise<string | undefined> {
  const [token, file] = [given.text('token'), given.text('token-file')];
  if (token !== undefined || file === undefined) return token;
  const text = file === '-' ? await typedToken(io) : readTokenFile(file);
  if (text !== '') return text;
  throw new Failure('the token is empty', { exit: EXIT.usage });
}

async function typedToken({ stdin, stderr }: Io): Promise<string> {
  if (stdin.isTTY) stderr.write('Paste the token, then press Enter and Ctrl-D.\n');
  const tooLong = () => new Failure('the token is longer than any token', { exit: EXIT.usage });
  return (await collect(stdin, TOKEN_BYTES_MAX, tooLong)).toString('utf8').trim();
}

interface Shown {
  readonly name: string;
  readonly value: string;
  readonly source: string;
}

/** Shown in place of a secret. */
const SECRET = 'set, not shown';
/** Shown in place of a directory when the clock is manual. */
const TEMPORARY = 'a temporary folder, removed at the end';

export async function showConfig(invocation: Invocation): Promise<number> {
  const { given, out, io } = invocation;
  const command: ServiceCommand = given.text('for') === 'dev' ? 'dev' : 'serve';
  const service = serviceSettings(command, io.env);
  const { url, token, headerPrefix } = findAddress(given, io);
  const shown = (name: string, { value, source }: ValueWithSource): Shown => ({ name, value: value ?? 'none', source });
  const client = [
    shown('url', url),
    { name: 'token', value: token.value === null ? 'none' : SECRET, source: token.source },
    shown('header-prefix', headerPrefix),
  ];
  if (out.isJson) {
    const values = (all: readonly Shown[]) =>
      Object.fromEntries(
        all.map(({ name, value, source }) => [name, given.has('sources') ? { value, source } : value]),
      );
    out.json({ client: values(client), [command]: values(service) });
    return EXIT.done;
  }
  const columns = [{ title: 'SETTING' }, { title: 'VALUE' }, ...(given.has('sources') ? [{ title: 'FROM' }] : [])];
  const rowOf = ({ name, value, source }: Shown) => (given.has('sources') ? [name, value, source] : [name, value]);
  out.line('The commands that call the API:');
  out.table(columns, client.map(rowOf));
  out.line();
  out.line(`Settings of postrider ${command}, when it is started here without flags:`);
  out.table(columns, service.map(rowOf));
  return EXIT.done;
}

function serviceSettings(command: ServiceCommand, env: Invocation['io']['env']): Shown[] {
  const parsed = parseConfig(command, [], env);
  if (!('config' in parsed)) throw usageFailure('problems' in parsed ? parsed.problems : [], command);
  const { config } = parsed;
  return SETTING_KEYS.filter((key) => SETTINGS[key].commands.includes(command)).map((key) => {
    const setting: Setting<unknown> = SETTINGS[key];
    const { flag, kind, isSecret } = setting;
    const variable = environmentName(flag);
    if (env[variable]) return { name: flag, value: isSecret ? SECRET : kind.show(config[key]), source: variable };
    const isTemporary = key === 'data' && config.data === TEMPORARY_DATA;
    return { name: flag, value: isTemporary ? TEMPORARY : kind.show(defaultOf(setting, command)), source: 'default' };
  });
}
