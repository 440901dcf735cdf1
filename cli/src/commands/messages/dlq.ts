// `postrider dlq …`: shows failed messages, and retries or deletes them.

import type { DeadLetter } from 'postrider-sdk';
import type { Invocation } from '../../frame/command.ts';
import { EXIT } from '../../frame/exit-codes.ts';
import { printable } from '../../frame/printable.ts';
import { timeText } from '../../frame/time-text.ts';
import { jsonBody, readBody, readHeaders } from './body.ts';
import { handleEach, runBulk } from './bulk.ts';
import { filterOf } from './filter.ts';
import { bodyText } from './messages.ts';
import { readUpTo } from './pages.ts';

export async function listDeadLetters({ given, out, connect }: Invocation): Promise<number> {
  const { client } = connect();
  const filter = await filterOf(given, client);
  const { entries, isCut } = await readUpTo(given.number('limit'), async (page) => {
    const answer = await client.listDeadLetters({ ...filter, ...page });
    return { entries: answer.messages, cursor: answer.cursor };
  });
  out.list(
    entries,
    'No dead letter matches.',
    [
      { title: 'DEAD LETTER' },
      { title: 'FAILED', isExtra: true },
      { title: 'STATUS', isNumber: true, isExtra: true },
      { title: 'QUEUE', isExtra: true },
      { title: 'URL', isExtra: true },
      { title: 'WHY' },
    ],
    ({ dlqId, endedAt, responseStatus, queueName = '', url, failure = '' }) => [
      dlqId,
      endedAt === undefined ? '' : timeText(endedAt),
      responseStatus ? String(responseStatus) : 'none',
      queueName,
      url,
      failure,
    ],
  );
  if (isCut) out.note('There are more: --limit 0 shows all of them, postrider dlq groups counts them by reason.');
  return EXIT.done;
}

export async function groupDeadLetters({ out, connect }: Invocation): Promise<number> {
  const answer = await connect().client.failureGroups();
  if (out.isJson) out.json(answer);
  else if (answer.groups.length === 0) out.note('There are no dead letters.');
  else {
    out.table(
      [{ title: 'COUNT', isNumber: true }, { title: 'HOST' }, { title: 'LAST' }, { title: 'WHY' }],
      answer.groups.map(({ count, host, lastAt, failure }) => [String(count), host, timeText(lastAt), failure]),
    );
    out.note('Send a group again: postrider dlq retry --host <host> --failure <why>');
  }
  return EXIT.done;
}

export async function getDeadLetter({ given, out, connect }: Invocation): Promise<number> {
  const letter = await connect().client.getDeadLetter(given.words[0]!);
  if (out.isJson) out.json(letter);
  else {
    out.facts([
      ['dead letter', letter.dlqId],
      ['message', letter.messageId],
      ['to', `${letter.method} ${letter.url}`],
      ['queue', letter.queueName],
      ['topic', letter.topicName],
      ['accepted', timeText(letter.createdAt)],
      ['failed', letter.endedAt === undefined ? null : timeText(letter.endedAt)],
      ['why', letter.failure ?? letter.error],
      ['status', letter.responseStatus ? String(letter.responseStatus) : 'none: there was no response'],
      ['retries', `${letter.retried} of ${letter.maxRetries}`],
      ['retried as', letter.retriedAs],
    ]);
    const answer = answerOf(letter);
    if (answer !== null) out.line(`response ${bodyText(answer)}`);
  }
  return EXIT.done;
}

function answerOf({ responseBody, responseBodyBase64 }: DeadLetter): Buffer | null {
  if (responseBody !== undefined) return responseBody === '' ? null : Buffer.from(responseBody);
  return responseBodyBase64 === undefined ? null : Buffer.from(responseBodyBase64, 'base64');
}

export async function retryDeadLetters(invocation: Invocation): Promise<number> {
  const { given, out, io, connect } = invocation;
  if (given.words.length === 0) return runBulk(invocation, 'retry');
  const { client, headerPrefix } = connect();
  const body = await readBody(given.text('data'), io);
  const headers = readHeaders(given.list('header'), headerPrefix);
  const url = given.text('new-url');
  const changes = {
    ...(url !== undefined && { url }),
    ...(body !== undefined && jsonBody(body)),
    ...(Object.keys(headers).length > 0 && { headers }),
  };
  return handleEach(invocation, 'dlqId', async (id) => {
    const answer = await client.retryDeadLetter(id, Object.keys(changes).length > 0 ? changes : undefined);
    if (out.isJson) await out.record({ dlqId: id, ...answer });
    else out.line(`${printable(id)}  sent again as ${printable(answer.messageId)}`);
  });
}

export async function deleteDeadLetters(invocation: Invocation): Promise<number> {
  const { given, out, connect } = invocation;
  if (given.words.length === 0) return runBulk(invocation, 'delete');
  const { client } = connect();
  return handleEach(invocation, 'dlqId', async (id) => {
    const answer = await client.deleteDeadLetter(id);
    if (out.isJson) await out.record({ dlqId: id, ...answer });
    else out.line(`${printable(id)}  deleted`);
  });
}
