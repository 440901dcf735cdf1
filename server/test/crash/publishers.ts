// Clients that publish without rest, each in its own way, and keep a log of what they asked and were answered. A queue
// has one publisher, so that the order in which its messages were accepted is known.

import { Agent, request } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import type { ExpectedMessage, Publish } from '../checker/history.ts';
import { Chance } from '../simulation/chance.ts';
import { hashOf, type Receiver } from './receiver.ts';

const RETRY_DELAY_MS = 20;
const EXPIRES = '10d';
const TOPIC = 'news';
const TOPIC_PATHS = ['/ok/first', '/ok/second', '/flaky/1/third'];
/** How many messages of one publisher may be accepted and not yet have arrived: load, but no mountain of it. */
const BACKLOG_MAX = 4;
const ANSWER_MS_MAX = 30_000;
/** Who got nowhere asks again a moment later, not at once and forever. */
const REFUSED_PAUSE_MS = 20;

export interface Target {
  readonly api: string;
  readonly token: string;
}

export interface PublisherOptions {
  /** How long an answer is waited for. */
  readonly answerMsMax?: number;
  /**
   * What was asked and not answered may be taken up at any later time: by a server that stood still, or that still
   * works on it. Without, an answer is missing only because the server is gone.
   */
  readonly mayComeLate?: boolean;
  /** How long each client rests between two requests. */
  readonly restMs?: number;
  /** One more client, whose messages are all under a flow key with a rate, and of which some always wait. */
  readonly isPaced?: boolean;
  /** Four more clients, whose bodies are so large that the log is copied into the file again and again. */
  readonly isLarge?: boolean;
}

/** Some are signed in the event loop, most beside it. */
const LARGE_BYTES = [50_000, 900_000] as const;

/** Messages a second under the flow key. */
export const PACED_RATE = 2;
export const PACED_PATH = '/ok/paced';

/** What came of one request; `unreached`: nothing was asked at all. */
type Answer = { readonly status: number; readonly text: string } | 'broken' | 'late' | 'unreached';

export type LoggedPublish = Publish & { readonly askedMark: number; readonly endedMark: number };

interface Element {
  readonly destination: string;
  readonly queue: string | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

interface Ask {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** In the order of the answer, without their ids. */
  readonly messages: readonly ExpectedMessage[];
}

type Way = (maker: AskMaker) => Ask;

const WAYS: Readonly<Record<string, Way>> = {
  single: (maker) => maker.single(null),
  another: (maker) => maker.single(null),
  'queue-a': (maker) => maker.single('a'),
  'queue-b': (maker) => maker.single('b'),
  'queue-c': (maker) => maker.batch(['c']),
  batch: (maker) => maker.batch([null]),
  mixed: (maker) => maker.batch([null, 'd']),
  topic: (maker) => maker.fanOut(),
};

const LARGE_WAYS: Readonly<Record<string, Way>> = Object.fromEntries(
  [1, 2, 3, 4].map((number) => [`large-${number}`, (maker: AskMaker) => maker.large()]),
);

export const SERIAL_QUEUES: readonly string[] = ['a', 'b', 'c', 'd'];

export class Publishers {
  readonly log: LoggedPublish[] = [];
  /** Answers that no publish should get from a server that runs. */
  readonly refusals: string[] = [];
  readonly #receiver: Receiver;
  readonly #mark: () => number;
  readonly #options: PublisherOptions;
  readonly #agents = new Map<string, Agent>();
  readonly #probes: AskMaker;
  #targets: readonly Target[] = [];
  #isStopping = false;
  #asking = 0;
  readonly #loops: Promise<void>[];

  constructor(receiver: Receiver, seed: number, mark: () => number = () => 0, options: PublisherOptions = {}) {
    this.#receiver = receiver;
    this.#mark = mark;
    this.#options = options;
    this.#probes = new AskMaker('probe', receiver.url, new Chance(seed));
    const ways: Readonly<Record<string, Way>> = {
      ...WAYS,
      ...(options.isPaced && { paced: (maker) => maker.paced() }),
      ...(options.isLarge && LARGE_WAYS),
    };
    this.#loops = Object.entries(ways).map(([name, way], index) =>
      this.#run(way, new AskMaker(name, receiver.url, new Chance(seed * 31 + index)), index),
    );
  }

  /** Where to publish from now on, in turn; nowhere while there is no server. */
  aim(targets: readonly Target[]): void {
    this.#targets = targets;
    for (const [api, agent] of this.#agents) {
      if (targets.some((target) => target.api === api)) continue;
      agent.destroy();
      this.#agents.delete(api);
    }
    this.#receiver.wake();
  }

  /** Without a target: until nothing is being asked any more. */
  async paused(): Promise<void> {
    while (this.#asking > 0) await new Promise((resolve) => setImmediate(resolve));
  }

  /** Waits for the answers to what is asked already. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#receiver.wake();
    await Promise.all(this.#loops);
    for (const agent of this.#agents.values()) agent.destroy();
  }

  /** One message to this server, now; it is in the log like all others. */
  async probe(target: Target): Promise<Answer> {
    return (await this.#ask(target, this.#probes.single(null))).answer;
  }

  /** One after the other, each to the next server; one that is gone is left out until there is a new aim. */
  async #run(way: Way, maker: AskMaker, start: number): Promise<void> {
    const gone = new Set<Target>();
    let backlog: string[] = [];
    let targets: readonly Target[] = [];
    for (let turn = start; !this.#isStopping; turn += 1) {
      // After a power cut, what it took away is not waited for.
      backlog = targets === this.#targets ? backlog.filter((id) => !this.#receiver.hasSeen(id)) : [];
      targets = this.#targets;
      const there = targets.filter((target) => !gone.has(target));
      const target = there[turn % there.length];
      if (!target || backlog.length >= BACKLOG_MAX) {
        await this.#receiver.next();
        continue;
      }
      this.#asking += 1;
      const { answer, publish } = await this.#ask(target, way(maker));
      this.#asking -= 1;
      if (answer === 'unreached' || answer === 'late') gone.add(target);
      if (publish?.outcome === 'ok') backlog.push(...publish.messages.map(({ id }) => id!));
      else if (publish) await wait(REFUSED_PAUSE_MS);
      if (this.#options.restMs) await wait(this.#options.restMs);
    }
  }

  async #ask(target: Target, ask: Ask): Promise<{ answer: Answer; publish: LoggedPublish | null }> {
    const [askedAt, askedMark] = [Date.now(), this.#mark()];
    const answer = await this.#post(target, ask);
    if (answer === 'unreached') return { answer, publish: null };
    const isOk = typeof answer === 'object' && answer.status < 300;
    const isUnknown = typeof answer === 'string' || answer.text.includes('"outcome_unknown"');
    if (typeof answer === 'object' && !isOk) this.refusals.push(`${answer.status} ${answer.text}`);
    const ids = isOk ? (JSON.parse(answer.text) as IdTree) : null;
    const publish: LoggedPublish = {
      outcome: isOk ? 'ok' : isUnknown ? 'unknown' : 'refused',
      askedAt,
      askedMark,
      endedAt: isUnknown && this.#options.mayComeLate ? Number.POSITIVE_INFINITY : Date.now(),
      endedMark: this.#mark(),
      messages: ids ? withIds(ask.messages, ids) : ask.messages,
    };
    this.log.push(publish);
    return { answer, publish };
  }

  #post(target: Target, ask: Ask): Promise<Answer> {
    const { hostname, port } = new URL(target.api);
    const headers = { ...ask.headers, Authorization: `Bearer ${target.token}` };
    const agent = this.#agents.get(target.api) ?? new Agent({ keepAlive: true });
    this.#agents.set(target.api, agent);
    return new Promise((resolve) => {
      const sent = request({ agent, hostname, port, method: 'POST', path: ask.path, headers });
      const timer = setTimeout(() => {
        resolve('late');
        sent.destroy();
      }, this.#options.answerMsMax ?? ANSWER_MS_MAX);
      const end = (answer: Answer) => {
        clearTimeout(timer);
        resolve(answer);
      };
      // Without a connection nothing was asked at all; after that, nobody knows.
      sent.on('error', (error: Error & { code?: string }) =>
        end(error.code === 'ECONNREFUSED' ? 'unreached' : 'broken'),
      );
      sent.on('response', (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => {
          text += chunk;
        });
        response.on('error', () => end('broken'));
        response.on('end', () => end({ status: response.statusCode!, text }));
      });
      sent.end(ask.body);
    });
  }
}

/** Makes the topic that the fan-out is published to. */
export async function createTopic(target: Target, receiver: Receiver): Promise<void> {
  const endpoints = TOPIC_PATHS.map((path) => ({ url: receiver.url + path }));
  const response = await fetch(`${target.api}/v2/topics/${TOPIC}/endpoints`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${target.token}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ endpoints }),
  });
  if (!response.ok) throw new Error(`the topic was refused: ${response.status} ${await response.text()}`);
}

/** A publish answers one result, a batch and a topic a list of them, possibly of lists. */
type IdTree = { readonly messageId: string } | readonly IdTree[];

function withIds(messages: readonly ExpectedMessage[], tree: IdTree): ExpectedMessage[] {
  const ids = [tree].flat(3) as readonly { readonly messageId: string }[];
  return messages.map((message, at) => ({ ...message, id: ids[at]?.messageId ?? null }));
}

class AskMaker {
  readonly #name: string;
  readonly #url: string;
  readonly #chance: Chance;
  #made = 0;

  constructor(name: string, url: string, chance: Chance) {
    this.#name = name;
    this.#url = url;
    this.#chance = chance;
  }

  single(queue: string | null): Ask {
    const element = this.#element(queue, this.#destination());
    const call = queue === null ? 'publish' : `enqueue/${queue}`;
    const { headers, body } = element;
    return { path: `/v2/${call}/${element.destination}`, headers, body, messages: [expected(element)] };
  }

  large(): Ask {
    const element = this.#element(null, `${this.#url}/ok/large`);
    const body = `${element.body}${'L'.repeat(this.#chance.between(...LARGE_BYTES))}`;
    const { headers, destination } = element;
    return { path: `/v2/publish/${destination}`, headers, body, messages: [expected({ ...element, body })] };
  }

  paced(): Ask {
    const { 'Service-Delay': _, ...headers } = this.#element(null, '').headers;
    const body = `paced ${this.#made}`;
    const control = { 'Service-Flow-Control-Key': 'paced', 'Service-Flow-Control-Value': `rate=${PACED_RATE}` };
    const element = { destination: this.#url + PACED_PATH, queue: null, headers: { ...headers, ...control }, body };
    return {
      path: `/v2/publish/${element.destination}`,
      headers: element.headers,
      body,
      messages: [expected(element)],
    };
  }

  fanOut(): Ask {
    const { headers, body } = this.#element(null, TOPIC);
    const messages = TOPIC_PATHS.map((path) => expected({ destination: this.#url + path, queue: null, headers, body }));
    return { path: `/v2/publish/${TOPIC}`, headers, body, messages };
  }

  batch(queues: readonly (string | null)[]): Ask {
    const elements = Array.from({ length: this.#chance.between(2, 6) }, () =>
      this.#element(this.#chance.pick(queues), this.#destination()),
    );
    return {
      path: '/v2/batch',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(elements),
      messages: elements.map(expected),
    };
  }

  #destination(): string {
    const path = this.#chance.pick(['/ok/', '/ok/', '/ok/', '/flaky/1/', '/flaky/2/', '/fail/']);
    return this.#url + path + this.#name;
  }

  #element(queue: string | null, destination: string): Element {
    this.#made += 1;
    const chance = this.#chance;
    const filler = 'x'.repeat(chance.isTrue(5) ? chance.below(40_000) : chance.below(1500));
    return {
      destination,
      queue,
      body: `${this.#name} ${this.#made} ${filler}`,
      headers: {
        'Content-Type': 'text/plain',
        'Service-Forward-X-Number': String(this.#made),
        'Service-Retries': chance.pick(['1', '2', '3']),
        'Service-Retry-Delay': String(RETRY_DELAY_MS),
        ...(chance.isTrue(30) && { 'Service-Callback': `${this.#url}/ok/callback` }),
        ...(chance.isTrue(50) && { 'Service-Failure-Callback': `${this.#url}/flaky/1/failure` }),
        ...(queue === null && chance.isTrue(20) && { 'Service-Delay': `${chance.between(1, 300)}ms` }),
        // A queue has its own order. And no run lasts so long that any of them expires.
        ...(queue === null && chance.isTrue(20) && { 'Service-Priority': String(chance.below(10)) }),
        ...(chance.isTrue(20) && { 'Service-Expires': EXPIRES }),
      },
    };
  }
}

function expected({ destination, queue, headers, body }: Element): ExpectedMessage {
  const retriesMax = Number(headers['Service-Retries']);
  return {
    id: null,
    url: destination,
    method: 'POST',
    bodyHash: hashOf(body),
    headers: [
      ['Content-Type', headers['Content-Type']!],
      ['X-Number', headers['Service-Forward-X-Number']!],
    ],
    queue,
    retriesMax,
    waitsMs: new Array(retriesMax).fill(RETRY_DELAY_MS),
    callbackUrl: headers['Service-Callback'] ?? null,
    failureCallbackUrl: headers['Service-Failure-Callback'] ?? null,
  };
}
