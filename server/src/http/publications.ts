// From what is to be published to the messages it makes: finds the topic, reads the settings, plans. The one way for
// publish, enqueue, batch, schedules and the retry of a dead letter.

import { createHash } from 'node:crypto';
import type { Account } from '../domain/account.ts';
import { parseDestination } from '../domain/destination.ts';
import type { NewId } from '../domain/id.ts';
import type { HeaderList, NewMessage } from '../domain/message.ts';
import { type Problem, problem } from '../domain/problem.ts';
import { type PublishRequest, planMessages } from '../domain/publish.ts';
import { type HeaderRules, parsePublishSettings } from '../domain/publish-settings.ts';
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

  async plan(publication: Publication, account: Pick<Account, 'id' | 'tier'>): Promise<Planned> {
    const { world, newId, tiers, rules, deduplicationWindowMs } = this.#options;
    const destination = await this.#destination(publication.destination, account.id);
    if ('problem' in destination) return destination;
    const headers =
      destination.kind === 'topic'
        ? withDefaults(publication.headers, destination.topic.defaults)
        : publication.headers;
    const settings = parsePublishSettings(headers, rules);
    if ('problem' in settings) return settings;
    const { queueName, body, callerIp, scheduleId } = publication;
    return planMessages(
      { ...settings, destination, queueName, body, callerIp, scheduleId },
      { accountId: account.id, tier: tiers[account.tier] },
      { now: world.clock.now(), newId, deduplicationWindowMs, sha256 },
    );
  }

  async #destination(
    text: string,
    accountId: string,
  ): Promise<PublishRequest['destination'] | { readonly problem: Problem }> {
    const destination = parseDestination(text);
    if ('problem' in destination) return problem('bad_destination', `destination: ${destination.problem}`);
    if (destination.kind === 'url') return destination;
    const topic = await this.#options.store.getTopic(accountId, destination.nameOrId);
    if (topic) return { kind: 'topic', topic };
    return problem(
      'topic_not_found',
      `destination: there is no topic "${destination.nameOrId}"; a URL starts with http:// or https://`,
    );
  }
}

/** What the caller gave, and of the others those it did not give. */
export function withDefaults(given: HeaderList, others: HeaderList): HeaderList {
  const names = new Set(given.filter(([, value]) => value.trim() !== '').map(([name]) => name.toLowerCase()));
  return [...given, ...others.filter(([name]) => !names.has(name.toLowerCase()))];
}

export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
