// All that a service answers to who reads, call by call, so that two of them can be compared.

import assert from 'node:assert/strict';
import type { Rider } from '../support/harness.ts';

type Named = Readonly<Record<string, unknown>>;

/** Lists whose answers come in pages, and the key of their rows. */
const PAGED = [
  ['/v2/messages', 'messages'],
  ['/v2/messages?order=earliestFirst', 'messages'],
  ['/v2/messages?label=red', 'messages'],
  ['/v2/messages?queueName=line', 'messages'],
  ['/v2/messages?topicName=news', 'messages'],
  ['/v2/messages?scheduleId=yearly', 'messages'],
  ['/v2/messages?flowControlKey=held', 'messages'],
  ['/v2/messages?state=CANCELLED', 'messages'],
  ['/v2/messages?text=extra', 'messages'],
  ['/v2/events', 'events'],
  ['/v2/events?order=earliestFirst', 'events'],
  ['/v2/logs?label=red', 'logs'],
  ['/v2/dlq', 'messages'],
] as const;

const WHOLE = ['/v2/keys', '/v2/usage', '/v2/bulk'];

/** By call. `left`: a message that is left out, because something is under way with it. */
export async function everythingRead(
  rider: Rider,
  tokens: readonly string[],
  left: string,
): Promise<Record<string, unknown>> {
  const answers: Record<string, unknown> = {};
  for (const [index, token] of tokens.entries()) {
    const get = async (path: string) => {
      const answer = await rider.call('GET', path, { token });
      const body = answer.status === 200 ? answer.json() : answer.text;
      answers[`${index} ${path}`] = { status: answer.status, body };
      return body;
    };
    for (const [path, key] of PAGED) {
      const rows: Named[] = [];
      let cursor: string | undefined;
      do {
        const page = `${path}${path.includes('?') ? '&' : '?'}count=7${cursor === undefined ? '' : `&cursor=${cursor}`}`;
        const answer = await rider.manage<Named>('GET', page, undefined, token);
        rows.push(...(answer[key] as Named[]));
        cursor = answer.cursor as string | undefined;
      } while (cursor !== undefined);
      answers[`${index} ${path}`] = rows.filter(({ messageId }) => messageId !== left);
      if (path !== '/v2/messages') continue;
      for (const { messageId } of rows.filter((row) => row.messageId !== left)) {
        await get(`/v2/messages/${messageId}`);
        await get(`/v2/messages/${messageId}/why`);
      }
    }
    for (const { dlqId } of answers[`${index} /v2/dlq`] as { dlqId: string }[]) await get(`/v2/dlq/${dlqId}`);
    for (const path of WHOLE) await get(path);
    for (const [list, key] of [
      ['/v2/queues', 'name'],
      ['/v2/topics', 'name'],
      ['/v2/schedules', 'scheduleId'],
      ['/v2/flowControl', 'flowControlKey'],
    ] as const) {
      for (const row of rowsOf(await get(list))) await get(`${list}/${encodeURIComponent(String(row[key]))}`);
    }
    for (const { id } of rowsOf(await get('/v2/admin/accounts'))) await get(`/v2/admin/tokens?accountId=${id}`);
  }
  return answers;
}

/** Of a list that is an array, or an object with one. */
function rowsOf(answer: unknown): Named[] {
  const rows = Array.isArray(answer) ? answer : Object.values(answer as object).find(Array.isArray);
  assert.ok(rows, JSON.stringify(answer));
  return rows as Named[];
}
