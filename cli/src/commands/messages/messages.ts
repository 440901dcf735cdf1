// `postrider messages …` and `postrider why`: shows messages, and cancels, releases or delivers them at once.

import type { Attempt, Message, MessageWithAttempts } from 'postrider-sdk';
import type { Invocation } from '../../frame/command.ts';
import { EXIT } from '../../frame/exit-codes.ts';
import type { Output } from '../../frame/output.ts';
import { printable, printableLines } from '../../frame/printable.ts';
import { spanText, timeText } from '../../frame/time-text.ts';
import { writeWhole } from '../../frame/whole-file.ts';
import { handleEach, runBulk } from './bulk.ts';
import { eventText } from './event-text.ts';
import { filterOf } from './filter.ts';
import { readUpTo } from './pages.ts';

const COLUMNS = [
  { title: 'MESSAGE' },
  { title: 'STATE', isState: true },
  { title: 'RETRIED', isNumber: true, isExtra: true },
  { title: 'STATUS', isNumber: true, isExtra: true },
  { title: 'ACCEPTED', isExtra: true },
  { title: 'QUEUE', isExtra: true },
  { title: 'TOPIC', isExtra: true },
  { title: 'URL' },
];

export async function listMessages({ given, out, connect }: Invocation): Promise<number> {
  const { client } = connect();
  const filter = await filterOf(given, client);
  const { entries, isCut } = await readUpTo(given.number('limit'), async (page) => {
    const answer = await client.listMessages({ ...filter, ...page });
    return { entries: answer.messages, cursor: answer.cursor };
  });
  out.list(entries, 'No message matches.', COLUMNS, messageRow);
  if (isCut) out.note(`There are more: --limit 0 shows all of them.`);
  return EXIT.done;
}

function messageRow(message: Message): string[] {
  const { messageId, state, retried, responseStatus, createdAt, queueName = '', topicName = '', url } = message;
  const status = responseStatus === undefined ? '' : responseStatus === 0 ? 'none' : String(responseStatus);
  return [messageId, state, String(retried), status, timeText(createdAt), queueName, topicName, url];
}

export async function countMessages({ given, out, connect }: Invocation): Promise<number> {
  const { client } = connect();
  const { state: _state, ...filter } = await filterOf(given, client);
  const counts = await client.countMessages(filter);
  if (out.isJson) out.json(counts);
  else {
    out.table(
      [{ title: 'STATE' }, { title: 'MESSAGES', isNumber: true }],
      Object.entries(counts.states).map(([state, count]) => [state, `${count}${counts.isCut ? '+' : ''}`]),
    );
  }
  return EXIT.done;
}

export async function getMessage({ given, out, connect }: Invocation): Promise<number> {
  const message = await connect().client.getMessage(given.words[0]!);
  if (out.isJson) {
    out.json(message);
    return EXIT.done;
  }
  out.facts(messageFacts(message));
  for (const [name, values] of Object.entries(message.header)) {
    for (const value of values) out.line(`  ${printable(name)}: ${printable(value)}`);
  }
  const body = bodyOf(message);
  if (body !== null) out.line(`body     ${bodyText(body)}`);
  if (message.attempts.length > 0) out.line();
  for (const attempt of message.attempts) for (const line of attemptLines(attempt, out)) out.line(line);
  return EXIT.done;
}

function ackText({ deadline, progress, note }: NonNullable<MessageWithAttempts['ack']>): string {
  const done = progress === undefined ? '' : `, ${Math.floor(progress * 100)} % done`;
  return `awaited until ${timeText(deadline)}${done}${note === undefined ? '' : `: ${note}`}`;
}

function messageFacts(message: MessageWithAttempts): [string, string | null | undefined][] {
  const at = (time: number | undefined) => (time === undefined ? null : timeText(time));
  const hasEnded = message.endedAt !== undefined;
  return [
    ['message', message.messageId],
    ['state', message.state],
    ['to', `${message.method} ${message.url}`],
    ['queue', message.queueName],
    ['topic', message.topicName],
    ['schedule', message.scheduleId],
    ['labels', message.labels?.join(', ')],
    ['flow key', message.flowControlKey],
    ['accepted', timeText(message.createdAt)],
    ['ended', at(message.endedAt)],
    ['next', hasEnded ? null : at(message.nextDeliveryTime ?? (message.retried === 0 ? message.notBefore : undefined))],
    ['expires', hasEnded ? null : at(message.expiresAt)],
    ['debounce key', message.debounceKey && `${message.debounceKey} (stands for ${message.debounced})`],
    ['ack', message.ack && ackText(message.ack)],
    ['retries', `${message.retried} of ${message.maxRetries}`],
    ['held', message.heldReason],
    ['failure', message.failure],
    ['retried as', message.retriedAs],
    ['caused by', message.sourceMessageId],
    ['callback', message.callback],
    ['on failure', message.failureCallback],
  ];
}

function attemptLines(attempt: Attempt, out: Output): string[] {
  const took = spanText(attempt.endedAt - attempt.startedAt);
  const result = attempt.responseStatus === undefined ? attempt.outcome : `status ${attempt.responseStatus}`;
  const isGood = attempt.responseStatus !== undefined && attempt.responseStatus >= 200 && attempt.responseStatus < 300;
  const head = `attempt ${attempt.number}  ${timeText(attempt.startedAt)}  ${out.paint(isGood ? 'green' : 'red', result)}  took ${took}`;
  const body = bodyOf({ body: attempt.responseBody, bodyBase64: attempt.responseBodyBase64 });
  return [
    head,
    ...(attempt.error === undefined ? [] : [`  ${printable(attempt.error)}`]),
    ...(body === null || body.length === 0 ? [] : [`  response ${bodyText(body)}`]),
  ];
}

const SHOWN_MAX = 2000;

function bodyOf(message: {
  readonly body?: string | undefined;
  readonly bodyBase64?: string | undefined;
}): Buffer | null {
  if (message.body !== undefined) return Buffer.from(message.body);
  return message.bodyBase64 === undefined ? null : Buffer.from(message.bodyBase64, 'base64');
}

/** The body as text if it is text, else its number of bytes. */
export function bodyText(body: Buffer): string {
  const text = body.toString('utf8');
  if (text.includes('\ufffd') || text.includes('\0')) return `${body.length} bytes that are not text`;
  return text.length > SHOWN_MAX
    ? `${printableLines(text.slice(0, SHOWN_MAX))}… (${body.length} bytes)`
    : printableLines(text);
}

/** Writes the body unchanged, for files and pipes. */
export async function messageBody({ given, out, connect }: Invocation): Promise<number> {
  const message = await connect().client.getMessage(given.words[0]!);
  const body = bodyOf(message) ?? Buffer.alloc(0);
  const file = given.text('output');
  const about = { messageId: message.messageId, bytes: body.length };
  if (file !== undefined) {
    writeWhole({ path: file, data: body, mode: 0o666, isReplacing: false, hintIfThere: 'it is not overwritten' });
    if (out.isJson) out.json({ ...about, file });
    out.note(`${file}: ${body.length} bytes.`);
  } else if (out.isJson) out.json({ ...about, bodyBase64: body.toString('base64') });
  else if (out.isTerminal) out.line(bodyText(body));
  else await out.raw(body);
  return EXIT.done;
}

export async function cancelMessages(invocation: Invocation): Promise<number> {
  const { given, out, connect } = invocation;
  if (given.words.length === 0) return runBulk(invocation, 'cancel');
  const { client } = connect();
  return handleEach(invocation, 'messageId', async (id) => {
    const answer = await client.cancelMessage(id);
    if (out.isJson) await out.record({ messageId: id, ...answer });
    else out.line(`${printable(id)}  ${answer.detail ? printable(answer.detail) : 'cancelled'}`);
  });
}

export async function deliverMessageNow({ given, out, connect }: Invocation): Promise<number> {
  const answer = await connect().client.deliverNow(given.words[0]!);
  out.result(answer, `${printable(answer.messageId)}  is due now`);
  return EXIT.done;
}

export async function releaseMessage({ given, out, connect }: Invocation): Promise<number> {
  const answer = await connect().client.releaseMessage(given.words[0]!);
  out.result(answer, `${printable(given.words[0]!)}  is released`);
  return EXIT.done;
}

export async function messageEvents({ given, out, connect }: Invocation): Promise<number> {
  const { client } = connect();
  const { entries } = await readUpTo(given.number('limit') ?? 0, async (page) => {
    const answer = await client.listEvents({ messageIds: given.words, order: 'oldestFirst', ...page });
    return { entries: answer.events, cursor: answer.cursor };
  });
  for (const event of entries) {
    if (out.isJson) await out.record(event);
    else await out.streamed(eventText(event, out));
  }
  if (entries.length === 0) await client.getMessage(given.words[0]!);
  return EXIT.done;
}

export async function why({ given, out, connect }: Invocation): Promise<number> {
  const answer = await connect().client.whyNotDelivered(given.words[0]!);
  if (out.isJson) {
    out.json(answer);
    return EXIT.done;
  }
  const count =
    answer.aheadCount === undefined ? null : `${answer.aheadCount}${answer.isAheadCountCut ? ' or more' : ''}`;
  out.line(printable(answer.text));
  out.facts([
    ['reason', answer.reason],
    [
      'next attempt',
      answer.nextAttemptAt === undefined
        ? null
        : `${timeText(answer.nextAttemptAt)}${answer.isEarliest ? ' or later' : ''}`,
    ],
    ['estimated', answer.estimatedAt === undefined ? null : `about ${timeText(answer.estimatedAt)}`],
    ['level', answer.level === undefined ? null : String(answer.level)],
    ['behind', answer.behindMessageId],
    ['ahead', count],
  ]);
  return EXIT.done;
}
