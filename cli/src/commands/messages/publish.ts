// `postrider publish` and `postrider enqueue`: sends a message, and with --wait follows it to its end.

import { type Call, calls, type Published, type PublishSettings } from 'postrider-sdk';
import type { Args } from '../../frame/arguments.ts';
import type { Invocation } from '../../frame/command.ts';
import type { Connection } from '../../frame/connection.ts';
import { EXIT } from '../../frame/exit-codes.ts';
import { Failure } from '../../frame/failure.ts';
import { printable } from '../../frame/printable.ts';
import type { Io } from '../../frame/terminal.ts';
import { addGuessedType, readBody, readHeaders } from './body.ts';
import { type WaitOptions, waitForEnd } from './wait-for-end.ts';

type Answer = Published | readonly Published[];

export async function publish(invocation: Invocation): Promise<number> {
  const [destination] = invocation.given.words;
  return send(invocation, (request) => calls.publish({ destination: destination!, ...request }));
}

export async function enqueue(invocation: Invocation): Promise<number> {
  const [queue, destination] = invocation.given.words;
  return send(invocation, (request) => calls.enqueue(queue!, { destination: destination!, ...request }));
}

interface Request {
  readonly body?: Uint8Array;
  readonly settings: PublishSettings;
}

async function send(invocation: Invocation, callOf: (request: Request) => Call<Answer>): Promise<number> {
  const { given, out, io, connect } = invocation;
  const connection = connect();
  const { request, headers } = await readRequest(given, io, connection.headerPrefix);
  const [isFollowed, maxMs] = [given.has('wait'), given.duration('wait-max') ?? null];
  const startedAt = io.world.clock.now();
  const answer = await connection.client.send({ ...callOf(request), headers });
  const published = Array.isArray(answer) ? (answer as readonly Published[]) : [answer as Published];
  // With --json the output is one document, or with --wait the first lines of a stream.
  if (!out.isJson) for (const each of published) out.line(acceptedText(each, given.has('quiet')));
  else if (isFollowed) for (const each of published) await out.record(each);
  else out.json(answer);
  return isFollowed ? wait(connection, published, { out, io, startedAt, maxMs }) : EXIT.done;
}

async function wait({ client }: Connection, published: readonly Published[], options: WaitOptions): Promise<number> {
  const ids = published.map(({ messageId }) => messageId);
  try {
    return await waitForEnd(client, ids, options);
  } catch (error) {
    const { status } = error as { status?: number };
    if (status !== 403) throw error;
    throw new Failure('the message is accepted, but the token lacks the scope read, so --wait cannot follow it', {
      exit: EXIT.denied,
      hint: '--wait needs a token with the scope read.',
    });
  }
}

/** What is printed for an accepted message: with --quiet only its id, so that a script can read it. */
function acceptedText({ messageId, url, deduplicated, debounced }: Published, isQuiet: boolean): string {
  if (isQuiet) return printable(messageId);
  const note = deduplicated
    ? '  (a duplicate: nothing new was accepted)'
    : debounced !== undefined && debounced > 1
      ? `  (the newest of ${debounced} messages with its debounce key)`
      : '';
  return `${printable(messageId)}  ${printable(url)}${note}`;
}

/** The request that the flags describe. Schedules use this too, because their messages have the same settings. */
export async function readRequest(
  given: Args,
  io: Io,
  prefix: string,
): Promise<{ readonly request: Request; readonly headers: Readonly<Record<string, string>> }> {
  const headers = new Map(Object.entries(readHeaders(given.list('header'), prefix)));
  const settings = settingsOf(given);
  refuseDuplicateSettings(headers, settings, prefix);
  const body = await readBody(given.text('data'), io);
  addGuessedType(headers, body);
  return {
    request: { ...(body !== undefined && { body }), settings },
    headers: Object.fromEntries(headers),
  };
}

/** Throws if a setting is given both by a flag and by a header, because one of the two would have no effect. */
export function refuseDuplicateSettings(
  headers: ReadonlyMap<string, string>,
  settings: PublishSettings,
  prefix: string,
): void {
  const named = new Set([...headers.keys()].map((name) => name.toLowerCase()));
  const twice = Object.keys(settings).filter((name) => named.has((prefix + name).toLowerCase()));
  if (twice.length === 0) return;
  throw new Failure(twice.map((name) => `${prefix}${name} is given by -H and by a flag`).join('; '), {
    exit: EXIT.usage,
    hint: 'Nothing was sent. Leave one of them out.',
  });
}

/** The settings that the flags describe. */
export function settingsOf(given: Args): PublishSettings {
  const texts = [
    ['Method', given.text('method')?.toUpperCase()],
    ['Delay', given.text('delay')],
    ['Not-Before', secondsOf(given, 'at', 'For a delay from now, use --delay.')],
    ['Expires', given.text('expires')],
    ['Expires-At', secondsOf(given, 'expires-at', 'For a duration from now, use --expires.')],
    ['Retries', given.text('retries')],
    ['Retry-Delay', given.text('retry-delay')],
    ['Retry-Jitter', given.text('retry-jitter')],
    ['Timeout', given.text('timeout')],
    ['Callback', given.text('callback')],
    ['Failure-Callback', given.text('failure-callback')],
    ['Label', given.list('label').join(',') || undefined],
    ['Debounce-Key', given.text('debounce-key')],
    ['Debounce', given.text('debounce')],
    ['Debounce-Max', given.text('debounce-max')],
    ['Deduplication-Id', given.text('deduplication-id')],
    ['Content-Based-Deduplication', given.has('content-deduplication') ? 'true' : undefined],
    ['Flow-Control-Key', given.text('flow-key')],
    ['Flow-Control-Value', given.text('flow-limit')],
    ['Order-Key', given.text('order-key')],
    ['Priority', given.text('priority')],
    ['Outage', given.text('outage')],
    ['Await-Ack', given.text('await-ack')],
    ['Redact-Fields', given.list('redact').join(',') || undefined],
  ] as const;
  return Object.fromEntries(texts.filter(([, value]) => value !== undefined)) as PublishSettings;
}

/** The time that a flag gives, in seconds since 1970, as the API expects it. */
function secondsOf(given: Args, flag: string, hint: string): string | undefined {
  const text = given.text(flag);
  if (text === undefined || /^\d+$/.test(text)) return text;
  const at = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(at)) return String(Math.ceil(at / 1000));
  throw new Failure(
    `--${flag} must be a time such as 2026-01-31T12:00:00Z or seconds since 1970, not ${JSON.stringify(text)}`,
    { exit: EXIT.usage, hint },
  );
}
