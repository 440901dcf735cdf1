// `postrider queues …`.

import type { Queue } from 'postrider-sdk';
import { parsePriority } from '../../../../server/src/rules/publish/setting-values.ts';
import type { Invocation } from '../../frame/command.ts';
import { confirm } from '../../frame/confirm.ts';
import { EXIT } from '../../frame/exit-codes.ts';
import { Failure } from '../../frame/failure.ts';
import { countOf } from '../../frame/output.ts';
import { printable } from '../../frame/printable.ts';
import { timeText } from '../../frame/time-text.ts';

const lagOf = ({ lag, isLagCut }: Queue) => `${lag}${isLagCut ? '+' : ''}`;
const stateOf = ({ paused }: Queue) => (paused ? 'paused' : 'running');

export async function listQueues({ out, connect }: Invocation): Promise<number> {
  const queues = await connect().client.listQueues();
  out.list(
    queues,
    'There are no queues. The first message makes one: postrider enqueue <queue> <url>',
    [
      { title: 'QUEUE' },
      { title: 'STATE' },
      { title: 'PARALLELISM', isNumber: true },
      { title: 'OPEN', isNumber: true },
      { title: 'CREATED', isExtra: true },
    ],
    (queue) => [queue.name, stateOf(queue), String(queue.parallelism), lagOf(queue), timeText(queue.createdAt)],
  );
  return EXIT.done;
}

export async function getQueue({ given, out, connect }: Invocation): Promise<number> {
  show(out, await connect().client.getQueue(given.words[0]!));
  return EXIT.done;
}

function show(out: Invocation['out'], queue: Queue): void {
  if (out.isJson) out.json(queue);
  else {
    out.facts([
      ['queue', queue.name],
      ['state', stateOf(queue)],
      ['parallelism', String(queue.parallelism)],
      ['expires after', queue.expires],
      ['priority', queue.priority?.toString()],
      ['outage', queue.outage],
      ['open messages', lagOf(queue)],
      ['created', timeText(queue.createdAt)],
      ['changed', timeText(queue.updatedAt)],
    ]);
  }
}

export async function setQueue({ given, out, connect }: Invocation): Promise<number> {
  const parallelism = given.number('parallelism');
  const expires = given.text('expires');
  const priority = priorityOf(given.text('priority'));
  const outage = given.text('outage') as 'retry' | 'park' | 'none' | undefined;
  const change = {
    queueName: given.words[0]!,
    ...(parallelism !== undefined && { parallelism }),
    ...(expires !== undefined && { expires: expires === 'none' ? null : expires }),
    ...(priority !== undefined && { priority }),
    ...(outage !== undefined && { outage: outage === 'none' ? null : outage }),
  };
  show(out, await connect().client.saveQueue(change));
  return EXIT.done;
}

/** `none` removes it. */
function priorityOf(text: string | undefined): number | null | undefined {
  if (text === undefined) return undefined;
  if (text === 'none') return null;
  const parsed = parsePriority(text);
  if ('problem' in parsed) throw new Failure(`--priority ${parsed.problem}, or none`, { exit: EXIT.usage });
  return parsed.value;
}

export async function pauseQueue({ given, out, connect }: Invocation): Promise<number> {
  show(out, await connect().client.pauseQueue(given.words[0]!));
  return EXIT.done;
}

export async function resumeQueue({ given, out, connect }: Invocation): Promise<number> {
  show(out, await connect().client.resumeQueue(given.words[0]!));
  return EXIT.done;
}

export async function deleteQueue(invocation: Invocation): Promise<number> {
  const { given, out, connect } = invocation;
  const { client } = connect();
  const name = given.words[0]!;
  if (given.has('force')) {
    const { lag } = await client.getQueue(name);
    if (lag > 0) await confirm(invocation, `Delete the queue ${name} and cancel its ${countOf(lag, 'open message')}?`);
  }
  try {
    const answer = await client.deleteQueue(name, { force: given.has('force') });
    out.result(answer, `${printable(name)}  deleted`);
  } catch (error) {
    if ((error as { status?: number }).status !== 409) throw error;
    throw new Failure((error as Error).message, { hint: 'To cancel its open messages as well: --force', status: 409 });
  }
  return EXIT.done;
}
