// Calls of every kind to the nodes of a cluster, again and again, so that every statement of the store is prepared on
// every connection and used again after a change of the schema.

import assert from 'node:assert/strict';
import { Chance } from '../simulation/chance.ts';
import type { Answered } from '../support/client.ts';
import { waitFor } from '../support/wait.ts';
import type { Node, PostOptions } from './nodes.ts';

/** A node may refuse while it drains, or while a change of the schema holds a table. */
const REFUSED = new Set(['draining', 'store_unavailable', 'outcome_unknown']);
/** A node that is asked to stop may close a connection on which nothing was answered yet. */
const HUNG_MS = 60_000;

type Call = readonly [method: string, path: string, options?: PostOptions];

const json = (value: unknown): PostOptions => ({
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify(value),
});

const alertTo = (url: string) => ({ rule: { type: 'messageFailed', count: 1000, window: '1m' }, target: { url } });

/** What the calls below refer to. */
export async function makeThings(node: Node, url: string): Promise<void> {
  const made: readonly Call[] = [
    ['POST', '/v2/topics/news/endpoints', json({ endpoints: [{ url: `${url}/a` }, { url: `${url}/b` }] })],
    ['PUT', '/v2/alerts/failures', json(alertTo(url))],
    ['POST', '/v2/queues', json({ queueName: 'first', parallelism: 2 })],
    [
      'POST',
      `/v2/schedules/${url}/tick`,
      { headers: { 'Service-Cron': '* * * * *', 'Service-Schedule-Id': 'minute' } },
    ],
  ];
  for (const [method, path, options] of made) {
    const { status, text } = await node.call(method, path, options);
    assert.ok(status < 300, `${method} ${path}: ${status} ${text}`);
  }
}

/** Messages: each answer names those that were accepted. */
function publishing(chance: Chance, url: string): Call {
  const number = chance.below(1_000_000_000);
  const key = chance.below(3);
  const calls: readonly Call[] = [
    ['POST', `/v2/publish/${url}/plain`, { body: 'x' }],
    ['POST', `/v2/publish/${url}/plain`, { headers: { 'Service-Delay': '1s', 'Service-Label': `l${key}` }, body: 'x' }],
    ['POST', `/v2/publish/${url}/once`, { headers: { 'Service-Deduplication-Id': `d${number}` } }],
    ['POST', `/v2/publish/${url}/twice`, { headers: { 'Service-Deduplication-Id': `same${key}` } }],
    ['POST', `/v2/publish/${url}/told`, { headers: { 'Service-Callback': `${url}/callback` } }],
    ['POST', `/v2/publish/${url}/failing`, { headers: { 'Service-Retries': '1', 'Service-Retry-Delay': '100' } }],
    ['POST', '/v2/publish/news', { body: 'to a topic' }],
    ['POST', `/v2/enqueue/queue${key}/${url}/queued`, { body: 'x' }],
    ['POST', `/v2/enqueue/queue${key}/${url}/queued`, { headers: { 'Service-Order-Key': `o${chance.below(2)}` } }],
    [
      'POST',
      `/v2/publish/${url}/flow`,
      {
        headers: {
          'Service-Flow-Control-Key': `f${key}`,
          'Service-Flow-Control-Value': 'parallelism=4, rate=1000, period=1s',
        },
      },
    ],
    ['POST', '/v2/batch', json([{ destination: `${url}/b1` }, { destination: `${url}/b2`, queue: 'queue0' }])],
    ['POST', '/v2/schedules/minute/run'],
    ['POST', '/v2/alerts/failures/test'],
  ];
  return chance.pick(calls);
}

const READS: readonly string[] = [
  '/v2/queues',
  '/v2/queues/queue0',
  '/v2/flowControl',
  '/v2/flowControl/f0',
  '/v2/messages',
  '/v2/messages?label=l0',
  '/v2/messages?state=DELIVERED&queueName=queue0',
  '/v2/messages/counts',
  '/v2/events',
  '/v2/dlq',
  '/v2/dlq/groups',
  '/v2/topics',
  '/v2/topics/news',
  '/v2/schedules',
  '/v2/schedules/minute',
  '/v2/alerts',
  '/v2/bulk',
  '/v2/overview',
  '/v2/activity',
  '/v2/usage',
  '/v2/account',
  '/v2/admin/accounts',
  '/v2/nodes',
  '/v2/keys',
];

function changing(chance: Chance, url: string): Call {
  const key = chance.below(3);
  const calls: readonly Call[] = [
    ['POST', '/v2/queues', json({ queueName: `queue${key}`, parallelism: 1 + chance.below(4) })],
    ['POST', `/v2/queues/queue${key}/pause`],
    ['POST', `/v2/queues/queue${key}/resume`],
    ['POST', `/v2/flowControl/f${key}/resetRate`],
    ['POST', `/v2/flowControl/f${key}/pin?parallelism=5`],
    ['POST', `/v2/flowControl/f${key}/unpin`],
    ['POST', `/v2/topics/news/endpoints`, json({ endpoints: [{ url: `${url}/a` }] })],
    ['PUT', '/v2/alerts/failures', json(alertTo(url))],
    ['POST', '/v2/bulk', json({ action: 'retry', filter: { all: true } })],
    ['POST', '/v2/dlq/retry?all=true&count=5'],
  ];
  return chance.pick(calls);
}

export class SchemaLoad {
  /** The ids of all messages that were accepted, but for those whose schedule or topic made them unseen. */
  readonly accepted = new Set<string>();
  readonly problems: string[] = [];
  made = 0;
  refused = 0;
  readonly #seed: number;
  readonly #url: string;
  readonly #nodes: () => readonly Node[];
  #isOver = false;

  constructor(seed: number, url: string, nodes: () => readonly Node[]) {
    this.#seed = seed;
    this.#url = url;
    this.#nodes = nodes;
  }

  start(workers: number): Promise<unknown> {
    return Promise.all(Array.from({ length: workers }, (_, index) => this.#work(new Chance(this.#seed + index + 1))));
  }

  stop(): void {
    this.#isOver = true;
  }

  /** Until so many more calls were made. */
  async calls(count: number): Promise<void> {
    const wanted = this.made + count;
    await waitFor(`${count} more calls`, () => this.made >= wanted);
  }

  async #work(chance: Chance): Promise<void> {
    while (!this.#isOver) {
      const kind = chance.weighted({ publish: 5, read: 3, change: 2 });
      const call: Call =
        kind === 'publish'
          ? publishing(chance, this.#url)
          : kind === 'change'
            ? changing(chance, this.#url)
            : ['GET', chance.pick(READS)];
      await this.#make(chance.pick(this.#nodes()), call);
      this.made += 1;
    }
    // A paused queue would hold its messages for ever.
    for (const key of [0, 1, 2]) await this.#make(this.#nodes()[0]!, ['POST', `/v2/queues/queue${key}/resume`]);
  }

  async #make(node: Node, [method, path, options]: Call): Promise<void> {
    const what = `${method} ${path}`;
    let answer: Answered | null;
    try {
      answer = await within(node.call(method, path, options));
    } catch (error) {
      // A node that has just been told to stop hangs up. Whether it accepted anything is not known.
      if (this.#nodes().includes(node)) this.problems.push(`${what}: ${(error as Error).message}`);
      return;
    }
    if (answer === null) this.problems.push(`${what}: no response for ${HUNG_MS} ms`);
    else if (answer.status === 503 && REFUSED.has(answer.json<{ code: string }>().code)) this.refused += 1;
    // A call that is refused as wrong would test nothing.
    else if (answer.status >= 500 || answer.status === 400)
      this.problems.push(`${what}: ${answer.status} ${answer.text}`);
    else if (answer.status === 201) for (const id of idsIn(answer.json<unknown>())) this.accepted.add(id);
  }
}

function idsIn(made: unknown): string[] {
  const entries = (Array.isArray(made) ? made.flat() : [made]) as { messageId?: string }[];
  return entries.flatMap(({ messageId }) => messageId ?? []);
}

async function within(answer: Promise<Answered>): Promise<Answered | null> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(() => resolve(null), HUNG_MS);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}
