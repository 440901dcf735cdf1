// A command that failed: what happened, why, and what to do about it. Errors of the client become such failures, with
// the exit code that belongs to each of them.

import { PostriderError, UnreachableError } from 'postrider-sdk';
import { EXIT } from './exit-codes.ts';

export interface FailureParts {
  readonly exit?: number;
  /** What the user can do about the failure. */
  readonly hint?: string;
  /** The code of the error that the service returned. `status` is the status of that response. */
  readonly code?: string;
  readonly status?: number;
}

export class Failure extends Error {
  override readonly name = 'Failure';
  readonly exit: number;
  readonly hint: string | null;
  readonly code: string | null;
  readonly status: number | null;

  constructor(message: string, parts: FailureParts = {}) {
    super(message);
    this.exit = parts.exit ?? EXIT.failed;
    this.hint = parts.hint ?? null;
    this.code = parts.code ?? null;
    this.status = parts.status ?? null;
  }
}

/** The failure for arguments that cannot be understood. */
export function usageFailure(problems: readonly string[], command: string): Failure {
  const message = problems.length === 1 ? problems[0]! : problems.map((each) => `\n  - ${each}`).join('');
  return new Failure(message, { exit: EXIT.usage, hint: `postrider ${command} --help shows how it is used.` });
}

/** A program other than the service responded, or the response is one that the service never sends. */
export class NotPostriderResponse extends Error {
  override readonly name = 'NotPostriderResponse';
  readonly hint: string;

  constructor(message: string, hint: string) {
    super(message);
    this.hint = hint;
  }
}

export function notPostriderJson(url: string): NotPostriderResponse {
  return new NotPostriderResponse(
    `${url} returned JSON, but not that of a Postrider service`,
    'Something else listens at this address. Check --url and its path. If a proxy passes only some paths to the service, give --header-prefix.',
  );
}

const TOKEN_WAYS = 'POSTRIDER_TOKEN, --token-file, or postrider config set';

/** The failure for an error. Null when the error is a bug in this program: then the stack is shown. */
export function failureOf(error: unknown, where: Where): Failure | null {
  if (error instanceof Failure) return error;
  if (error instanceof NotPostriderResponse) return unreachable(error, where.url);
  // The command itself refused the call before anything was sent.
  if (error instanceof UnreachableError && error.cause instanceof Failure) return error.cause;
  if (error instanceof UnreachableError) return unreachable(error.cause, where.url);
  if (error instanceof PostriderError) return refused(error, where);
  return null;
}

interface Where {
  readonly url: string;
  readonly hasToken: boolean;
}

function refused(error: PostriderError, where: Where): Failure {
  const { status, code, message } = error;
  const known = { status, ...(code !== '' && { code }) };
  if (status === 401) return noEntry(message, where, known);
  if (status === 403) {
    return new Failure(`the token may not do this: ${message}`, {
      ...known,
      exit: EXIT.denied,
      hint: '"postrider account" shows the scopes of the token. Use another token, or make one with "postrider token create".',
    });
  }
  if (status === 404) {
    const isOfPath = code === 'not_found' || code === '';
    return isOfPath ? noSuchPath(message, where.url, known) : new Failure(message, { ...known, exit: EXIT.notFound });
  }
  if (status === 429 || status === 503) {
    const wait = error.retryAfterSeconds === null ? 'Try again later.' : `Try again in ${error.retryAfterSeconds} s.`;
    return new Failure(message, { ...known, hint: wait });
  }
  return code === '' ? notAsPostrider(status, where.url) : new Failure(message, known);
}

function noEntry(message: string, { url, hasToken }: Where, known: FailureParts): Failure {
  const said = hasToken ? `does not accept the token: ${message}` : 'needs a token, and none was given';
  const first = hasToken ? 'The token may be mistyped or revoked.' : `Give one by ${TOKEN_WAYS}.`;
  return new Failure(`${url} ${said}`, {
    ...known,
    exit: EXIT.denied,
    hint: `${first} On the machine of the service, "postrider token create --admin --data <directory>" makes a new one.`,
  });
}

function notAsPostrider(status: number, url: string): Failure {
  return new Failure(`${url} returned ${status}, but not in the format of Postrider`, {
    status,
    exit: EXIT.unreachable,
    hint: 'A proxy in between may have responded. Check --url and the log of the proxy.',
  });
}

/** The command calls only paths of its own version, so a missing path means another version or another service. */
function noSuchPath(message: string, url: string, known: FailureParts): Failure {
  const { pathname, origin } = new URL(url);
  return new Failure(`${url} has no such call: ${message}`, {
    ...known,
    exit: EXIT.unreachable,
    hint:
      pathname === '/'
        ? 'The service may be older than this command, or something else listens there. Check --url.'
        : `The address has the path ${pathname}. Without a proxy that removes the path, the address is ${origin}.`,
  });
}

type Reason = readonly [why: string, hint: string];

const CUT: Reason = [
  'the connection was closed before the response',
  'The service may still have carried out the call: check before you repeat it. The log of the service, or of a proxy in between, has details.',
];

const NOT_HTTP: Reason = [
  'the program that listens there does not use HTTP',
  'Check the port in --url or POSTRIDER_URL.',
];

const REASONS: ReadonlyMap<string, Reason> = new Map([
  ['ECONNREFUSED', ['nothing listens there', 'Is the service running? Check the address: --url or POSTRIDER_URL.']],
  ['ENOTFOUND', ['the name is not known', 'Check the host name in --url or POSTRIDER_URL.']],
  ['EAI_AGAIN', ['the name servers do not respond', 'Check the network and DNS of this machine.']],
  ['ECONNRESET', CUT],
  ['UND_ERR_SOCKET', CUT],
  ['EHOSTUNREACH', ['there is no route to it', 'Check the network of this machine.']],
  ['ENETUNREACH', ['there is no route to it', 'Check the network of this machine.']],
  ['ETIMEDOUT', ['it does not respond', 'A firewall may drop the packets. Check the address and the port.']],
  [
    'UND_ERR_CONNECT_TIMEOUT',
    ['it does not respond', 'A firewall may drop the packets. Check the address and the port.'],
  ],
  ['ERR_SSL_WRONG_VERSION_NUMBER', ['it does not use TLS', 'Use http:// in place of https://.']],
]);

const CERTIFICATE = /CERT|SELF_SIGNED|UNABLE_TO_(?:GET|VERIFY)/;

function unreachable(cause: unknown, url: string): Failure {
  if (cause instanceof NotPostriderResponse) {
    return new Failure(cause.message, { exit: EXIT.unreachable, hint: cause.hint });
  }
  const inner = innermost(cause);
  const code = inner?.code ?? '';
  const known = inner?.name === 'HTTPParserError' ? NOT_HTTP : REASONS.get(code);
  const [why, hint] = known ?? [
    inner?.message ?? 'there was no response',
    CERTIFICATE.test(code)
      ? 'If its certificate comes from your own certificate authority, set NODE_EXTRA_CA_CERTS.'
      : 'Check the address: --url or POSTRIDER_URL.',
  ];
  return new Failure(`cannot reach the service at ${url}: ${why}`, {
    exit: EXIT.unreachable,
    hint,
    ...(code !== '' && { code }),
  });
}

function innermost(error: unknown): { readonly code?: string; readonly name: string; readonly message: string } | null {
  let found: Error | null = null;
  for (let each = error; each instanceof Error; each = each.cause) {
    found = each instanceof AggregateError && each.errors[0] instanceof Error ? each.errors[0] : each;
  }
  return found;
}
