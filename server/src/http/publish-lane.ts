// Publish, enqueue and batch, straight on node:http. This is what the service is for, and the destination must be cut
// from the raw request target, which no router leaves alone.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Accounts } from '../accounts/accounts.ts';
import { parseDestination } from '../domain/destination.ts';
import type { NewId } from '../domain/id.ts';
import type { HeaderList, NewMessage } from '../domain/message.ts';
import { type PublishRequest, planMessages } from '../domain/publish.ts';
import type { Tier, Tiers } from '../domain/tier.ts';
import type { Principal, Store } from '../store/store.ts';
import type { World } from '../world.ts';
import { authenticate } from './authenticate.ts';
import { type BatchElement, parseBatch } from './batch.ts';
import type { BodyReader } from './body.ts';
import { callerIp } from './caller.ts';
import { ApiError } from './errors.ts';
import { type HeaderRules, parsePublishHeaders } from './publish-request.ts';
import { type PublishTarget, parsePublishTarget } from './request-target.ts';

export interface PublishLaneOptions {
  readonly store: Store;
  readonly accounts: Accounts;
  readonly world: World;
  readonly newId: NewId;
  readonly tiers: Tiers;
  readonly rules: HeaderRules;
  readonly requestBytesMax: number;
  readonly batchMax: number;
  readonly bodies: BodyReader;
  /** Why nothing may be accepted now (draining, disk nearly full), or null. */
  readonly refusal: () => ApiError | null;
}

/** What to publish, before the topic is looked up. */
interface Publication {
  readonly destination: string;
  readonly queueName: string | null;
  readonly headers: HeaderList;
  readonly body: Uint8Array;
}

type Planned = readonly NewMessage[] | ApiError;

export class PublishLane {
  readonly #options: PublishLaneOptions;

  constructor(options: PublishLaneOptions) {
    this.#options = options;
  }

  /** The answer to a publishing call; null when the target is not one. Throws an ApiError for the caller's mistakes. */
  async handle(request: IncomingMessage, response: ServerResponse): Promise<boolean> {
    const target = parsePublishTarget(request.url ?? '');
    if (!target) return false;
    if (request.method !== 'POST') {
      response.setHeader('Allow', 'POST');
      throw new ApiError('method_not_allowed', `${request.method} is not taken here; use POST`);
    }
    const refusal = this.#options.refusal();
    if (refusal) throw refusal;
    const principal = await authenticate(this.#options.accounts, request.headers, 'publish');
    if ('problem' in target) throw new ApiError(target.problem.code, target.problem.message);
    if (target.call === 'batch') await this.#batch(request, response, principal);
    else await this.#publish(request, response, principal, target);
    return true;
  }

  async #publish(
    request: IncomingMessage,
    response: ServerResponse,
    principal: Principal,
    target: Exclude<PublishTarget, { call: 'batch' }>,
  ): Promise<void> {
    const tier = this.#options.tiers[principal.account.tier];
    const messages = await this.#options.bodies.withBody(request, this.#bodyLimit(tier), async (body) => {
      const { destination, queueName } = target;
      const publication = { destination, queueName, headers: rawHeaders(request), body };
      const planned = await this.#plan(publication, principal, callerIp(request));
      if (planned instanceof ApiError) throw planned;
      await this.#options.store.accept(planned, planned[0]!.createdAt);
      return planned;
    });
    const results = messages.map(({ id, url }) => ({ messageId: id, url }));
    sendJson(response, 201, messages[0]!.topicName === null ? results[0] : results);
  }

  async #batch(request: IncomingMessage, response: ServerResponse, principal: Principal): Promise<void> {
    const { bodies, requestBytesMax, batchMax, store } = this.#options;
    const limit = { bytesMax: requestBytesMax, error: () => requestTooLarge(requestBytesMax) };
    const slots = await bodies.withBody(request, limit, async (body) => {
      const elements = parseBatch(body, batchMax);
      const trace = rawHeaders(request).filter(([name]) => /^trace(parent|state)$/i.test(name));
      const planned: Planned[] = [];
      for (const element of elements)
        planned.push(await this.#planElement(element, trace, principal, callerIp(request)));
      const accepted = planned.flatMap((slot) => (slot instanceof ApiError ? [] : slot));
      if (accepted.length > 0) await store.accept(accepted, accepted[0]!.createdAt);
      return planned;
    });
    const isAccepted = slots.some((slot) => !(slot instanceof ApiError));
    // Nothing accepted of something asked is a refusal, even though each element has its own reason.
    sendJson(response, isAccepted ? 201 : slots.length === 0 ? 200 : 400, slots.map(batchEntry));
  }

  async #planElement(
    element: BatchElement | ApiError,
    trace: HeaderList,
    principal: Principal,
    caller: string | null,
  ): Promise<Planned> {
    if (element instanceof ApiError) return element;
    const names = new Set(element.headers.map(([name]) => name.toLowerCase()));
    const headers = [...element.headers, ...trace.filter(([name]) => !names.has(name.toLowerCase()))];
    return this.#plan({ ...element, headers }, principal, caller);
  }

  async #plan(publication: Publication, principal: Principal, caller: string | null): Promise<Planned> {
    const { world, newId, tiers, rules } = this.#options;
    try {
      const request: PublishRequest = {
        ...parsePublishHeaders(publication.headers, rules),
        destination: await this.#destination(publication.destination, principal.account.id),
        queueName: publication.queueName,
        body: publication.body,
        callerIp: caller,
      };
      const publisher = { accountId: principal.account.id, tier: tiers[principal.account.tier] };
      const plan = planMessages(request, publisher, world.clock.now(), newId);
      return 'problem' in plan ? new ApiError(plan.problem.code, plan.problem.message) : plan.messages;
    } catch (error) {
      if (error instanceof ApiError) return error;
      throw error;
    }
  }

  async #destination(text: string, accountId: string): Promise<PublishRequest['destination']> {
    const destination = parseDestination(text);
    if ('problem' in destination) throw new ApiError('bad_destination', `destination: ${destination.problem}`);
    if (destination.kind === 'url') return destination;
    const topic = await this.#options.store.getTopic(accountId, destination.nameOrId);
    if (!topic) {
      throw new ApiError(
        'topic_not_found',
        `destination: there is no topic "${destination.nameOrId}"; a URL starts with http:// or https://`,
      );
    }
    return { kind: 'topic', topic };
  }

  #bodyLimit(tier: Tier) {
    const { requestBytesMax } = this.#options;
    const tierMax = tier.bodyBytesMax ?? Number.POSITIVE_INFINITY;
    if (tierMax >= requestBytesMax) return { bytesMax: requestBytesMax, error: () => requestTooLarge(requestBytesMax) };
    return {
      bytesMax: tierMax,
      error: () =>
        new ApiError('limit_exceeded', `the body is over the limit of the ${tier.name} tier: ${tierMax} bytes`),
    };
  }
}

/** Spec 4.2: a topic gives an array of results with URLs, a URL gives the id alone. */
function batchEntry(slot: Planned): unknown {
  if (slot instanceof ApiError) return { error: slot.problem.message, code: slot.problem.code };
  if (slot[0]!.topicName === null) return { messageId: slot[0]!.id };
  return slot.map(({ id, url }) => ({ messageId: id, url }));
}

function requestTooLarge(bytesMax: number): ApiError {
  return new ApiError('request_too_large', `the request body is over the limit of this server: ${bytesMax} bytes`);
}

/** The headers as they came, in order and case, which `request.headers` does not keep. */
function rawHeaders(request: IncomingMessage): HeaderList {
  const raw = request.rawHeaders;
  const headers: [string, string][] = [];
  for (let i = 0; i < raw.length; i += 2) headers.push([raw[i]!, raw[i + 1]!]);
  return headers;
}

function sendJson(response: ServerResponse, status: number, value: unknown): void {
  const text = JSON.stringify(value);
  response.writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) });
  response.end(text);
}
