// The service that a command calls: its address and token from flags, the environment and the config file, and a client
// of the SDK for it. The only file of the command that calls fetch.

import { readFileSync } from 'node:fs';
import { type Client, createClient, DEFAULT_PREFIX } from 'postrider-sdk';
import { DEV_TOKEN } from '../../../server/src/accounts/well-known.ts';
import type { Clock } from '../../../server/src/runtime/world.ts';
import { VERSION } from '../../../server/src/shipped-files.ts';
import type { Args } from './arguments.ts';
import { type ClientFile, clientFilePath, readClientFile } from './client-file.ts';
import { EXIT } from './exit-codes.ts';
import { Failure, NotPostriderResponse, notPostriderJson } from './failure.ts';
import type { Output } from './output.ts';
import { printable } from './printable.ts';
import { unreadableFailure } from './read-input.ts';
import type { Io } from './terminal.ts';

export const DEFAULT_URL = 'http://127.0.0.1:8411';
const REQUEST_MS_MAX = 60_000;
const DEV_SOURCE = 'the token of postrider dev';

export interface Connection {
  readonly url: string;
  /** Whether the caller gave a token. The public token of dev may be used without being given. */
  readonly hasToken: boolean;
  readonly headerPrefix: string;
  readonly client: Client;
}

/** A value, and where it came from, for `config show`. */
export interface ValueWithSource {
  readonly value: string | null;
  readonly source: string;
}

export interface Address {
  readonly url: ValueWithSource;
  readonly token: ValueWithSource;
  readonly headerPrefix: ValueWithSource;
}

/**
 * Takes each value from the flag, else the environment, else the config file, else the default. A profile or a config
 * file that a flag names comes before the environment, because the user named it explicitly.
 */
export function findAddress(given: Args, io: Io): Address {
  const path = given.text('config') ?? io.env.POSTRIDER_CONFIG ?? clientFilePath(io.env, io.home);
  const file = readClientFile(path, given.has('config') || Boolean(io.env.POSTRIDER_CONFIG));
  const profile = profileOf(file, given.text('profile') ?? (io.env.POSTRIDER_PROFILE || undefined), path);
  const isFileMeant = given.has('profile') || given.has('config');
  const pick = (flag: string, variable: string, key: 'url' | 'headerPrefix', byDefault: string): ValueWithSource => {
    const fromFlag = given.text(flag);
    if (fromFlag !== undefined) return { value: fromFlag, source: `--${flag}` };
    const fromFile = profile?.[key];
    if (fromFile !== undefined && isFileMeant) return { value: fromFile, source: path };
    if (io.env[variable]) return { value: io.env[variable], source: variable };
    if (fromFile !== undefined) return { value: fromFile, source: path };
    return { value: byDefault, source: 'default' };
  };
  const url = pick('url', 'POSTRIDER_URL', 'url', DEFAULT_URL);
  const headerPrefix = pick('header-prefix', 'POSTRIDER_HEADER_PREFIX', 'headerPrefix', DEFAULT_PREFIX);
  return { url, headerPrefix, token: findToken(given, io, { profile, path, isFileMeant }, url) };
}

type Profile = Omit<ClientFile, 'profiles'>;

function profileOf(file: ClientFile | null, name: string | undefined, path: string): Profile | null {
  if (name === undefined) return file;
  const profiles = new Map(Object.entries(file?.profiles ?? {}));
  const found = profiles.get(name);
  if (found) return found;
  const known = [...profiles.keys()].map(printable).join(', ');
  throw new Failure(`there is no profile "${printable(name)}" in ${path}`, {
    exit: EXIT.usage,
    hint: known === '' ? 'Make it with postrider config set --profile <name> --url <url>.' : `There are: ${known}.`,
  });
}

interface FromFile {
  readonly profile: Profile | null;
  readonly path: string;
  /** Whether a flag names the profile or the config file. */
  readonly isFileMeant: boolean;
}

function findToken(given: Args, io: Io, file: FromFile, url: ValueWithSource): ValueWithSource {
  const fromFlag = given.text('token');
  if (fromFlag !== undefined) return { value: fromFlag, source: '--token' };
  const tokenFile = given.text('token-file');
  if (tokenFile !== undefined) return { value: readTokenFile(tokenFile), source: `--token-file ${tokenFile}` };
  const ofFile = () => tokenOfFile(file, url);
  const ofEnvironment = () => tokenOfEnvironment(io);
  const found = file.isFileMeant ? (ofFile() ?? ofEnvironment()) : (ofEnvironment() ?? ofFile());
  if (found) return found;
  // The token is public, and works only for a service that dev has started on this machine.
  if (isLoopback(url.value!)) return { value: DEV_TOKEN, source: DEV_SOURCE };
  return { value: null, source: 'none' };
}

function tokenOfEnvironment({ env }: Io): ValueWithSource | null {
  if (env.POSTRIDER_TOKEN) return { value: env.POSTRIDER_TOKEN, source: 'POSTRIDER_TOKEN' };
  if (!env.POSTRIDER_TOKEN_FILE) return null;
  return { value: readTokenFile(env.POSTRIDER_TOKEN_FILE), source: 'POSTRIDER_TOKEN_FILE' };
}

/** The token in the config file. It is sent only to the address in the same file. */
function tokenOfFile({ profile, path }: FromFile, url: ValueWithSource): ValueWithSource | null {
  const isItsAddress = url.source === path || url.value === profile?.url || (!profile?.url && url.source === 'default');
  if (!isItsAddress) return null;
  if (profile?.token !== undefined) return { value: profile.token, source: path };
  if (profile?.tokenFile === undefined) return null;
  return { value: readTokenFile(profile.tokenFile), source: `${path}, ${profile.tokenFile}` };
}

export function readTokenFile(path: string): string {
  let text: string;
  try {
    // The path "-" means standard input.
    text = readFileSync(path === '-' ? 0 : path, 'utf8').trim();
  } catch (error) {
    throw unreadableFailure(`the token from ${printable(path)}`, error);
  }
  if (text !== '') return text;
  throw new Failure(`${path === '-' ? 'standard input' : printable(path)} contains no token: it is empty`, {
    exit: EXIT.usage,
  });
}

export function isLoopback(url: string): boolean {
  if (!URL.canParse(url)) return false;
  return /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(new URL(url).hostname);
}

/** What is wrong with an address, or null. */
export function urlProblem(url: string): string | null {
  if (!URL.canParse(url)) return `${JSON.stringify(url)} is not a URL such as https://postrider.example.com`;
  const { protocol, username, password, search, hash } = new URL(url);
  if (protocol !== 'http:' && protocol !== 'https:') return `"${url}" must start with http:// or https://`;
  if (username !== '' || password !== '') return 'it must not contain a password: set the token with POSTRIDER_TOKEN';
  return search !== '' || hash !== '' ? `"${url}" must not have a query or a fragment` : null;
}

export function connectTo(given: Args, io: Io, out: Output): Connection {
  const { url: from, token, headerPrefix } = findAddress(given, io);
  const problem = urlProblem(from.value!);
  if (problem !== null)
    throw new Failure(`the address from ${from.source} cannot be used: ${problem}`, { exit: EXIT.usage });
  const url = from.value!.replace(/\/+$/, '');
  if (token.value === '') {
    throw new Failure(`the token from ${token.source} is empty`, {
      exit: EXIT.usage,
      hint: 'Is a shell variable not set?',
    });
  }
  // A header cannot hold this token, and the runtime's error would show the token.
  if (token.value !== null && !/^[\x21-\x7e]+$/.test(token.value)) {
    throw new Failure(`the token from ${token.source} has a character that no token has`, {
      exit: EXIT.usage,
      hint: 'Was it copied with a space, a quote or a line break?',
    });
  }
  const client = createClient({
    baseUrl: url,
    ...(token.value !== null && { token: token.value }),
    headerPrefix: headerPrefix.value!,
    headers: { 'User-Agent': `postrider-cli/${VERSION}` },
    // The command has deadlines, retries and warnings of its own.
    retries: 0,
    timeoutMs: Number.POSITIVE_INFINITY,
    onWarning: () => {},
    fetch: callerOf(io, given, introduction(url, headerPrefix), (warning) => out.warn(warning)),
  });
  return {
    url,
    hasToken: token.value !== null && token.source !== DEV_SOURCE,
    headerPrefix: headerPrefix.value!,
    client,
  };
}

/** `fetch` with a deadline, without redirects, and with its own error for responses that are not the service's. */
function callerOf(io: Io, given: Args, introduce: Introduce, onWarning: (text: string) => void): typeof fetch {
  const timeoutMs = given.duration('request-timeout') ?? REQUEST_MS_MAX;
  const send = async (url: string, init: RequestInit | undefined, signal: AbortSignal) => {
    const isStream = new Headers(init?.headers).get('Accept') === 'text/event-stream';
    await introduce(init, url, signal);
    const response = await fetch(url, { ...init, redirect: 'manual', signal });
    requireOurs(response, url, isStream);
    for (const [name, value] of response.headers) if (name.endsWith('-warning')) onWarning(value);
    return isStream ? response : await readWhole(response, url);
  };
  return async (input, init) => {
    const url = String(input);
    if (init?.method !== 'GET') refuseUnread(given);
    const deadline = deadlineOf(io.world.clock, timeoutMs);
    const signals = [io.interrupted, deadline.signal, ...(init?.signal ? [init.signal] : [])];
    try {
      return await send(url, init, AbortSignal.any(signals));
    } catch (error) {
      if (!deadline.signal.aborted) throw error;
      throw new NotPostriderResponse(
        `${new URL(url).origin} did not respond within ${timeoutMs / 1000} s`,
        'The service may still have carried out the call. Check before you repeat it, or wait longer with --request-timeout.',
      );
    } finally {
      deadline.cancel();
    }
  };
}

async function readWhole(response: Response, url: string): Promise<Response> {
  const body = await response.arrayBuffer();
  requireJson(response, body, url);
  // If no element of a batch is valid, the status is 400, but the response is still the list of results.
  const isRefusedBatch = response.status === 400 && Buffer.from(body.slice(0, 1)).toString() === '[';
  return new Response(body, { status: isRefusedBatch ? 200 : response.status, headers: response.headers });
}

type Introduce = (init: RequestInit | undefined, url: string, signal: AbortSignal) => Promise<void>;

/** The response of the root of the service. Another program may respond with other fields. */
interface Root {
  readonly name?: unknown;
  readonly headerPrefix?: unknown;
}

/**
 * Requests the root of the service before the first call, without the token. If another program responds, the call is
 * not made. If a proxy hides the root, the call is made. This also checks the header prefix: with a wrong prefix the
 * service would ignore all settings, and would send a delayed message at once. If the caller has given the prefix,
 * nothing is requested.
 */
function introduction(baseUrl: string, { value: prefix, source }: ValueWithSource): Introduce {
  let root: Root | null = null;
  return async (init, url, signal) => {
    if (source !== 'default') return;
    root ??= await askRoot(baseUrl, signal);
    const hasSettings = [...new Headers(init?.headers).keys()].some((name) => name.startsWith(prefix!.toLowerCase()));
    const found = root?.headerPrefix;
    if (typeof found !== 'string' || found === prefix || !(hasSettings || url.endsWith('/v2/batch'))) return;
    throw new Failure(`settings of this service start with ${printable(found)}, not with ${prefix}`, {
      exit: EXIT.usage,
      hint: `Nothing was sent. Give --header-prefix ${printable(found)}, or set POSTRIDER_HEADER_PREFIX.`,
    });
  };
}

/**
 * The response of the root, or {} if it is an error or no JSON: a proxy may block this request. Null if there is no
 * response: then the call that follows reports why.
 */
async function askRoot(baseUrl: string, signal: AbortSignal): Promise<Root | null> {
  const headers = { Accept: 'application/json' };
  const response = await fetch(`${baseUrl}/`, { headers, redirect: 'manual', signal }).catch(() => null);
  if (response === null) return null;
  const root = await response.json().then(
    (value) => value as Root | null,
    () => undefined,
  );
  if (!response.ok || root === undefined) return {};
  if (root?.name === 'postrider') return root;
  throw notPostriderJson(baseUrl);
}

/** Throws if no code has read a flag: it would be ignored, and the service would change more than the user wanted. */
function refuseUnread(given: Args): void {
  const unread = given.unread().map((flag) => `--${flag}`);
  if (unread.length === 0) return;
  const flags = unread.join(', ');
  const hint = `Nothing was changed. Run the command again without ${flags}.`;
  throw new Failure(`${flags} would have no effect here`, { exit: EXIT.usage, hint });
}

function deadlineOf(clock: Clock, ms: number) {
  const controller = new AbortController();
  const cancel = clock.after(ms, () => controller.abort());
  return { signal: controller.signal, cancel };
}

function requireOurs(response: Response, url: string, isStream: boolean): void {
  const { origin } = new URL(url);
  const to = response.headers.get('Location');
  if (response.status >= 300 && response.status < 400) {
    throw new NotPostriderResponse(
      `${origin} redirects to ${to === null ? 'another address' : printable(to)}`,
      'The command follows no redirect, because it would send the token there too: give the right address with --url.',
    );
  }
  const kind = response.headers.get('Content-Type') ?? 'no Content-Type';
  const isRight = isStream && response.ok ? kind.startsWith('text/event-stream') : /[/+]json\b/.test(kind);
  if (isRight) return;
  throw new NotPostriderResponse(
    `${origin} returned ${response.status} with ${printable(kind)}; Postrider returns JSON`,
    'Something else listens at this address, or a proxy in between has responded. Check --url and its path.',
  );
}

function requireJson(response: Response, body: ArrayBuffer, url: string): void {
  try {
    JSON.parse(Buffer.from(body).toString('utf8'));
  } catch {
    throw new NotPostriderResponse(
      `${new URL(url).origin} returned ${response.status} with text that is not JSON`,
      'The response may be cut off. Look at the log of a proxy in between.',
    );
  }
}
