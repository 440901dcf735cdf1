// Turns a publication into messages: finds the topic, reads the settings, plans the messages. Publish, enqueue, batch,
// schedules and the retry of a dead letter all go through here.

import { createHash } from 'node:crypto';
import type { Account } from '../rules/accounts/account.ts';
import { divideDescendants, stricterDescent } from '../rules/delivery/descent.ts';
import type { HeaderList, NewMessage } from '../rules/delivery/message.ts';
import type { Tiers } from '../rules/limits/tier.ts';
import { parseDestination } from '../rules/publish/destination.ts';
import {
  makeMessages,
  messageCount,
  type PlanTime,
  type PublishRequest,
  requestProblem,
} from '../rules/publish/publish.ts';
import {
  type HeaderRules,
  type ParsedPublishRequest,
  type PublishParts,
  readRequest,
  scheduleOnlyProblem,
} from '../rules/publish/publish-settings.ts';
import { type RequestSizeLimits, requestSizeProblem } from '../rules/publish/request-size.ts';
import type { Topic } from '../rules/publish/topic.ts';
import type { NewId } from '../rules/requests/id.ts';
import { type Problem, problem } from '../rules/requests/problem.ts';
import type { Clock, World } from '../runtime/world.ts';
import type { ResourceStore } from '../store/ports/resource-store.ts';

export interface Publication extends PublishParts {
  readonly destination: string;
  readonly headers: HeaderList;
}

/** The result of reading a publication: everything that its messages have in common, or why there are none. */
export type Draft = ParsedPublishRequest | { readonly problem: Problem };

export type Planned =
  | { readonly messages: readonly NewMessage[]; readonly unknownNames: readonly string[] }
  | { readonly problem: Problem };

/** The topics that one request has named so far. Each is looked up once. */
export type NamedTopics = Map<string, Promise<Topic | null>>;

type Publisher = Pick<Account, 'id' | 'tier' | 'outage'>;

export interface PublicationsOptions {
  readonly store: Pick<ResourceStore, 'getTopic'>;
  readonly world: World;
  readonly newId: NewId;
  readonly tiers: Tiers;
  readonly rules: HeaderRules;
  readonly deduplicationWindowMs: number;
  readonly sizeLimits: RequestSizeLimits;
}

export class Publications {
  readonly #options: PublicationsOptions;

  constructor(options: PublicationsOptions) {
    this.#options = options;
  }

  /** All messages of one publication. */
  async plan(publication: Publication, account: Publisher): Promise<Planned> {
    return this.planDraft(await this.read(publication, account), account);
  }

  /** All messages of a publication that was read. */
  planDraft(draft: Draft, account: Publisher): Planned {
    if ('problem' in draft) return draft;
    const tooMuch = this.sizeProblem([draft]);
    if (tooMuch) return tooMuch;
    const left = this.descendantsOf([draft]);
    if (typeof left !== 'number') return left;
    return { messages: this.make(draft, account, left), unknownNames: draft.unknownNames };
  }

  /**
   * Reads a publication. Makes no message yet, so that all messages of a request can be counted first. Returns at once
   * for a URL, which needs no look-up, and a promise for a topic.
   */
  read(publication: Publication, account: Publisher, topics: NamedTopics | null = null): Draft | Promise<Draft> {
    const destination = parseDestination(publication.destination);
    if ('problem' in destination) return problem('bad_destination', `destination: ${destination.problem}`);
    if (destination.kind === 'topic') return this.#readForTopic(publication, account, destination.nameOrId, topics);
    return this.#readFor(destination, publication, publication.headers, account);
  }

  /** Why these drafts are too much for one request, or null. */
  sizeProblem(drafts: readonly PublishRequest[]): { readonly problem: Problem } | null {
    return requestSizeProblem(drafts, this.#options.sizeLimits);
  }

  /** How many messages may descend from each message of these drafts, or why there are too many of them. */
  descendantsOf(drafts: readonly PublishRequest[]): number | { readonly problem: Problem } {
    let count = 0;
    let left: number | null = null;
    for (const draft of drafts) {
      count += messageCount(draft);
      left = stricterDescent(left, draft.descendantsLeft);
    }
    return divideDescendants(left, count);
  }

  make(draft: PublishRequest, account: Publisher, descendantsLeft: number): readonly NewMessage[] {
    const { world, newId, tiers, deduplicationWindowMs } = this.#options;
    const { now, wallNow } = timeFor(draft, world.clock);
    // Written out, because an object spread would take several times as long.
    const context = { now, wallNow, newId, deduplicationWindowMs, sha256 };
    const publisher = { accountId: account.id, tier: tiers[account.tier], outage: account.outage };
    return makeMessages(draft, publisher, context, descendantsLeft);
  }

  async #readForTopic(
    publication: Publication,
    account: Publisher,
    nameOrId: string,
    topics: NamedTopics | null,
  ): Promise<Draft> {
    const asked = topics?.get(nameOrId) ?? this.#options.store.getTopic(account.id, nameOrId);
    topics?.set(nameOrId, asked);
    const topic = await asked;
    if (!topic) {
      return problem(
        'topic_not_found',
        `destination: topic ${nameOrId} not found; a URL starts with http:// or https://`,
      );
    }
    const { headerPrefix } = this.#options.rules;
    // A queue allows no priority. One that the caller did not ask for must not refuse the request.
    const priority = `${headerPrefix}Priority`.toLowerCase();
    const isInQueue = publication.queueName !== null;
    const defaults = isInQueue ? topic.defaults.filter(([name]) => name.toLowerCase() !== priority) : topic.defaults;
    const headers = withTopicDefaults(publication.headers, defaults, headerPrefix);
    return this.#readFor({ kind: 'topic', topic }, publication, headers, account);
  }

  #readFor(
    destination: PublishRequest['destination'],
    publication: Publication,
    headers: HeaderList,
    account: Publisher,
  ): Draft {
    const { world, tiers, rules } = this.#options;
    const draft = readRequest(destination, headers, publication, rules);
    if ('problem' in draft) return draft;
    const misplaced = publication.scheduleId === null ? scheduleOnlyProblem(draft, rules) : null;
    if (misplaced) return misplaced;
    const wrong = requestProblem(draft, tiers[account.tier], timeFor(draft, world.clock), rules.headerPrefix);
    if (wrong) return wrong;
    return draft.unusedNames.length === 0 ? draft : withUnused(draft, publication.headers, rules.headerPrefix);
  }
}

/**
 * Reports the settings without effect that the caller sent as unknown. Such settings among a topic's defaults are not
 * reported: a topic may have settings for callbacks that apply only when a caller requests a callback.
 */
function withUnused(draft: ParsedPublishRequest, sent: HeaderList, headerPrefix: string): ParsedPublishRequest {
  const names = new Set(sent.map(([name]) => name.toLowerCase()));
  const unused = draft.unusedNames.filter((name) => names.has((headerPrefix + name).toLowerCase()));
  return { ...draft, unknownNames: [...draft.unknownNames, ...unused] };
}

/** The times to plan with. The wall clock is read only if the caller named a calendar time. */
function timeFor({ notBefore, expiry }: PublishRequest, clock: Clock): PlanTime {
  const now = clock.now();
  const isCalendar = notBefore !== null || (expiry !== null && 'at' in expiry);
  return { now, wallNow: isCalendar ? clock.wallNow() : now };
}

/** The given headers, plus those of `others` that were not given. */
export function withDefaults(given: HeaderList, others: HeaderList): HeaderList {
  if (others.length === 0) return given;
  const names = new Set(given.filter(([, value]) => value.trim() !== '').map(([name]) => name.toLowerCase()));
  return [...given, ...others.filter(([name]) => !names.has(name.toLowerCase()))];
}

/** A topic's redactions stay: a request can only add to them. For all other settings, the request wins. */
function withTopicDefaults(given: HeaderList, all: HeaderList, headerPrefix: string): HeaderList {
  const redactFields = `${headerPrefix}Redact-Fields`;
  const expiries = [`${headerPrefix}Expires`, `${headerPrefix}Expires-At`].map((name) => name.toLowerCase());
  const isExpiry = ([name, value]: HeaderList[number]) => expiries.includes(name.toLowerCase()) && value.trim() !== '';
  // The two settings of the expiry exclude each other, so each of them replaces both.
  const defaults = all.some(isExpiry) && given.some(isExpiry) ? all.filter((header) => !isExpiry(header)) : all;
  const isRedaction = ([name]: HeaderList[number]) => name.toLowerCase() === redactFields.toLowerCase();
  const hidden = defaults.filter(isRedaction);
  const own = hidden.length === 0 ? [] : given.filter((header) => isRedaction(header) && header[1].trim() !== '');
  if (own.length === 0) return withDefaults(given, defaults);
  const values = [...own, ...hidden].map(([, value]) => value);
  const rest = given.filter((header) => !isRedaction(header));
  return withDefaults([...rest, [redactFields, values.join(',')]], defaults);
}

export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
