// From what is to be published to the messages it makes: finds the topic, reads the settings, plans. The one way for
// publish, enqueue, batch, schedules and the retry of a dead letter.

import { createHash } from 'node:crypto';
import type { Account } from '../domain/account.ts';
import { parseDestination } from '../domain/destination.ts';
import type { NewId } from '../domain/id.ts';
import type { HeaderList, NewMessage } from '../domain/message.ts';
import { type Problem, problem } from '../domain/problem.ts';
import { type PublishRequest, planMessages } from '../domain/publish.ts';
import { cronProblem, type HeaderRules, parsePublishSettings } from '../domain/publish-settings.ts';
import type { Tiers } from '../domain/tier.ts';
import type { Store } from '../store/store.ts';
import type { World } from '../world.ts';

export interface Publication {
  readonly destination: string;
  readonly queueName: string | null;
  readonly headers: HeaderList;
  readonly body: Uint8Array;
  readonly callerIp: string | null;
  readonly scheduleId: string | null;
}

export type Planned = { readonly messages: readonly NewMessage[] } | { readonly problem: Problem };

export interface PublicationsOptions {
  readonly store: Store;
  readonly world: World;
  readonly newId: NewId;
  readonly tiers: Tiers;
  readonly rules: HeaderRules;
  readonly deduplicationWindowMs: number;
}

export class Publications {
  readonly #options: PublicationsOptions;

  constructor(options: PublicationsOptions) {
    this.#options = options;
  }

  /** At once for a URL, of which nothing has to be looked up; a promise for a topic. */
  plan(publication: Publication, account: Pick<Account, 'id' | 'tier'>): Planned | Promise<Planned> {
    const destination = parseDestination(publication.destination);
    if ('problem' in destination) return problem('bad_destination', `destination: ${destination.problem}`);
    if (destination.kind === 'topic') return this.#planForTopic(publication, account, destination.nameOrId);
    return this.#planFor(destination, publication, publication.headers, account);
  }

  async #planForTopic(
    publication: Publication,
    account: Pick<Account, 'id' | 'tier'>,
    nameOrId: string,
  ): Promise<Planned> {
    const topic = await this.#options.store.getTopic(account.id, nameOrId);
    if (!topic) {
      return problem(
        'topic_not_found',
        `destination: there is no topic "${nameOrId}"; a URL starts with http:// or https://`,
      );
    }
    const redactFields = `${this.#options.rules.headerPrefix}Redact-Fields`;
    const headers = withTopicDefaults(publication.headers, topic.defaults, redactFields);
    return this.#planFor({ kind: 'topic', topic }, publication, headers, account);
  }

  #planFor(
    destination: PublishRequest['destination'],
    publication: Publication,
    headers: HeaderList,
    account: Pick<Account, 'id' | 'tier'>,
  ): Planned {
    const { world, newId, tiers, rules, deduplicationWindowMs } = this.#options;
    const settings = parsePublishSettings(headers, rules);
    if ('problem' in settings) return settings;
    const { queueName, body, callerIp, scheduleId } = publication;
    const misplaced = scheduleId === null ? cronProblem(settings, rules) : null;
    if (misplaced) return misplaced;
    return planMessages(
      { ...settings, destination, queueName, body, callerIp, scheduleId },
      { accountId: account.id, tier: tiers[account.tier] },
      { now: world.clock.now(), newId, deduplicationWindowMs, sha256 },
    );
  }
}

/** What the caller gave, and of the others those it did not give. */
export function withDefaults(given: HeaderList, others: HeaderList): HeaderList {
  if (others.length === 0) return given;
  const names = new Set(given.filter(([, value]) => value.trim() !== '').map(([name]) => name.toLowerCase()));
  return [...given, ...others.filter(([name]) => !names.has(name.toLowerCase()))];
}

/** What a topic hides stays hidden: a request of its own adds to it. All other settings of a request win. */
function withTopicDefaults(given: HeaderList, defaults: HeaderList, redactFields: string): HeaderList {
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
