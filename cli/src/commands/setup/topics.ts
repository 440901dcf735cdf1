// `postrider topics …`.

import type { Client, Endpoint, Topic } from 'postrider-sdk';
import type { Invocation } from '../../frame/command.ts';
import { EXIT } from '../../frame/exit-codes.ts';
import { Failure } from '../../frame/failure.ts';
import { printable } from '../../frame/printable.ts';
import { timeText } from '../../frame/time-text.ts';

export async function listTopics({ out, connect }: Invocation): Promise<number> {
  const topics = await connect().client.listTopics();
  out.list(
    topics,
    'There are no topics. Make one: postrider topics add <topic> <url>',
    [
      { title: 'TOPIC' },
      { title: 'ENDPOINTS', isNumber: true },
      { title: 'CHANGED', isExtra: true },
      { title: 'URLS' },
    ],
    ({ name, endpoints, updatedAt }) => [
      name,
      String(endpoints.length),
      timeText(updatedAt),
      endpoints.map(({ url }) => url).join(' '),
    ],
  );
  return EXIT.done;
}

export async function getTopic({ given, out, connect }: Invocation): Promise<number> {
  show(out, await connect().client.getTopic(given.words[0]!));
  return EXIT.done;
}

function show(out: Invocation['out'], topic: Topic): void {
  if (out.isJson) {
    out.json(topic);
    return;
  }
  out.facts([
    ['topic', topic.name],
    ['id', topic.id],
    ['changed', timeText(topic.updatedAt)],
  ]);
  for (const [name, values] of Object.entries(topic.headers ?? {})) {
    for (const value of [values].flat()) out.line(`  ${printable(name)}: ${printable(value)}`);
  }
  out.table(
    [{ title: 'NAME' }, { title: 'URL' }],
    topic.endpoints.map(({ name = '', url }) => [name, url]),
  );
}

/** Reads an endpoint from `url` or `name=url`. */
function endpointOf(text: string): Endpoint {
  const [, name, url] = /^([^=/:?]+)=(https?:.*)$/s.exec(text) ?? [];
  return name === undefined || url === undefined ? { url: text } : { name, url };
}

export async function addEndpoints({ given, out, connect }: Invocation): Promise<number> {
  const [topic, ...urls] = given.words;
  if (urls.length === 0) throw new Failure('no endpoints are given: name one or more URLs', { exit: EXIT.usage });
  show(out, await connect().client.addEndpoints(topic!, urls.map(endpointOf)));
  return EXIT.done;
}

export async function removeEndpoints({ given, out, connect }: Invocation): Promise<number> {
  const [topic, ...names] = given.words;
  if (names.length === 0)
    throw new Failure('no endpoints are given: name one or more URLs or endpoint names', { exit: EXIT.usage });
  const { client } = connect();
  const selectors = names.map((each) => (/^https?:/.test(each) ? { url: each } : { name: each }));
  const known = await topicBefore(client, topic!);
  const unknown = known === null ? [] : names.filter((_, index) => !isAmong(known.endpoints, selectors[index]!));
  if (unknown.length > 0) {
    throw new Failure(`the topic ${printable(topic!)} has no endpoint ${unknown.map(printable).join(', ')}`, {
      exit: EXIT.notFound,
      hint: `Nothing was removed. "postrider topics get ${printable(topic!)}" lists its endpoints.`,
    });
  }
  const answer = await client.removeEndpoints(known?.name ?? topic!, selectors);
  if ('endpoints' in answer) show(out, answer);
  else if (out.isJson) out.json(answer);
  else out.line(`${printable(topic!)}  deleted with its last endpoint`);
  return EXIT.done;
}

/**
 * Reads a topic before a command changes or deletes it. Throws if the topic is missing: the name may be misspelt, and
 * the API deletes a missing topic without an error. Null when the token may not read topics.
 */
async function topicBefore(client: Client, name: string): Promise<Topic | null> {
  try {
    return await client.getTopic(name);
  } catch (error) {
    if ((error as { status?: number }).status === 403) return null;
    throw error;
  }
}

type Selector = { readonly name: string } | { readonly url: string };

function isAmong(endpoints: readonly Endpoint[], selector: Selector): boolean {
  return endpoints.some(({ name, url }) => ('url' in selector ? url === selector.url : name === selector.name));
}

export async function deleteTopic({ given, out, connect }: Invocation): Promise<number> {
  const { client } = connect();
  const known = await topicBefore(client, given.words[0]!);
  const answer = await client.deleteTopic(known?.name ?? given.words[0]!);
  out.result(answer, `${printable(given.words[0]!)}  deleted`);
  return EXIT.done;
}
