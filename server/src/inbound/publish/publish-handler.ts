// Publish, enqueue, batch and the creation of schedules, without a router. These calls carry the main load. Their
// destination must be cut from the raw request target, which every router changes.

import type { IncomingMessage } from 'node:http';
import type { Accounts } from '../../accounts/accounts.ts';
import { type NamedTopics, type Publication, type Publications, withDefaults } from '../../publish/publications.ts';
import { NO_DESCENT } from '../../rules/delivery/descent.ts';
import type { NewMessage } from '../../rules/delivery/message.ts';
import type { Tier, TierName, Tiers } from '../../rules/limits/tier.ts';
import {
  misspeltProblem,
  misspeltSettings,
  misspeltWarning,
  unknownFieldProblem,
  unknownFieldWarning,
} from '../../rules/publish/misspelt-settings.ts';
import { type HeaderRules, KNOWN_SETTINGS, type ReadRequest } from '../../rules/publish/publish-settings.ts';
import { takeSettings } from '../../rules/publish/query-settings.ts';
import type { Problem } from '../../rules/requests/problem.ts';
import { isForQstashClients } from '../../rules/requests/qstash.ts';
import { laneAccountMax } from '../../runtime/lane-part.ts';
import type { LoopTurns } from '../../runtime/loop-turns.ts';
import type { World } from '../../runtime/world.ts';
import type { Principal } from '../../store/ports/access-store.ts';
import type { AcceptAnswer, DeliveryStore } from '../../store/ports/delivery-store.ts';
import type { MessageStore } from '../../store/ports/message-store.ts';
import type { ApiContext } from '../api/api.ts';
import { authenticate, refuseSuspended } from '../api/authenticate.ts';
import { ApiError, JSON_HEADERS } from '../api/errors.ts';
import { EventLoopYielder } from '../api/event-loop-yielder.ts';
import type { Callers } from '../server/caller.ts';
import type { CallerResponse } from '../server/caller-response.ts';
import { WholeResponse } from '../server/publisher-connection.ts';
import { type PublishTarget, parsePublishTarget } from '../server/request-target.ts';
import type { Requests } from '../server/requests.ts';
import { rawHeaders, type WholeRequest } from '../server/whole-request.ts';
import { type BatchElement, BatchReader } from './batch.ts';
import { batchEntries, type Result, refusedBatch, type Slot } from './batch-entries.ts';
import type { BodyLimit, BodyReader, HeldBody } from './body.ts';
import { descentOf } from './descent-of.ts';
import { refuseFor, requireQuota } from './quota.ts';
import type { ScheduleMaker } from './schedule-maker.ts';
import { standingUrl } from './standing-message.ts';
import { WorkUnderWay } from './work-under-way.ts';

export interface PublishHandlerOptions {
  readonly store: Pick<DeliveryStore, 'accept'> & Pick<MessageStore, 'getMessage'>;
  readonly accounts: Accounts;
  readonly world: World;
  readonly tiers: Tiers;
  readonly publications: Publications;
  readonly room: ApiContext['room'];
  readonly schedules: ScheduleMaker;
  readonly headerPrefix: string;
  readonly rules: HeaderRules;
  readonly requestBytesMax: number;
  readonly batchMax: number;
  readonly bodies: BodyReader;
  readonly refusal: ApiContext['refusal'];
  readonly requests: Requests;
  readonly callers: Callers;
  readonly turns: LoopTurns;
  /** Whether a publish with a setting that looks misspelt is refused. */
  readonly strictSettings: boolean;
  /** Called when such a publish was accepted. */
  readonly onMisspelt: (accountId: string, warning: string) => void;
}

/**
 * One array for all responses: writeHead only reads it. Its last element is set to the length of the body each time.
 */
const HEADERS_WITH_LENGTH: string[] = [...JSON_HEADERS, 'Content-Length', ''];

const NO_NAMES: readonly string[] = [];

type CallerRequest = IncomingMessage | WholeRequest;

/** Sends the error response of a call that failed. Never throws. */
type Refuse<Q extends CallerRequest, S extends CallerResponse> = (request: Q, response: S, error: unknown) => void;

export class PublishHandler {
  readonly #options: PublishHandlerOptions;
  readonly #bodyLimits: Readonly<Record<TierName, BodyLimit>>;
  readonly #batches = new WorkUnderWay(laneAccountMax('batchElements'));

  constructor(options: PublishHandlerOptions) {
    const { tiers, requestBytesMax } = options;
    this.#options = options;
    this.#bodyLimits = {
      free: bodyLimit(tiers.free, requestBytesMax),
      paid: bodyLimit(tiers.paid, requestBytesMax),
    };
  }

  /**
   * Returns false when the target is not a publishing call. Every error goes to `refuse`, but never before this
   * function returns, because the end of a short request may not have been read yet. An ApiError is a mistake of the
   * caller. Not async, and neither are the steps below: an async function takes as long as one of the checks.
   */
  handle<Q extends CallerRequest, S extends CallerResponse>(request: Q, response: S, refuse: Refuse<Q, S>): boolean {
    const target = parsePublishTarget(request.url ?? '', request.method ?? '');
    if (target === null) return false;
    try {
      this.#begin(target, request, response, refuse);
    } catch (error) {
      queueMicrotask(() => refuse(request, response, error));
    }
    return true;
  }

  #begin<Q extends CallerRequest, S extends CallerResponse>(
    target: NonNullable<ReturnType<typeof parsePublishTarget>>,
    request: Q,
    response: S,
    refuse: Refuse<Q, S>,
  ): void {
    if (request.method !== 'POST') {
      response.setHeader('Allow', 'POST');
      throw new ApiError('method_not_allowed', `${request.method} is not allowed here; use POST`);
    }
    const refusal = this.#options.refusal();
    if (refusal) throw refusal;
    const isSchedule = 'call' in target && target.call === 'schedule';
    const asking = authenticate(this.#options.accounts, request.headers, isSchedule ? 'manage' : 'publish');
    if (!(asking instanceof Promise)) this.#take(target, request, response, refuse, asking);
    else {
      asking
        .then((principal) => this.#take(target, request, response, refuse, principal))
        .catch((error) => refuse(request, response, error));
    }
  }

  #take<Q extends CallerRequest, S extends CallerResponse>(
    target: NonNullable<ReturnType<typeof parsePublishTarget>>,
    request: Q,
    response: S,
    refuse: Refuse<Q, S>,
    principal: Principal,
  ): void {
    this.#options.requests.begin(principal.account.id, request.socket, response);
    refuseSuspended(principal);
    if ('problem' in target) throw new ApiError(target.problem.code, target.problem.message);
    if (target.call === 'batch') void this.#batch(request, response, refuse, principal);
    else void this.#publish(request, response, refuse, principal, target);
  }

  /** The whole publish is one async function, because each further one takes as long as a check. Never rejects. */
  async #publish<Q extends CallerRequest, S extends CallerResponse>(
    request: Q,
    response: S,
    refuse: Refuse<Q, S>,
    principal: Principal,
    target: Exclude<PublishTarget, { call: 'batch' }>,
  ): Promise<void> {
    const { bodies, tiers, schedules, headerPrefix, publications } = this.#options;
    const { account } = principal;
    const tier = tiers[account.tier];
    let held: HeldBody | null = null;
    try {
      const receiving = bodies.receive(request, account.id, this.#bodyLimits[account.tier]);
      held = receiving instanceof Promise ? await receiving : receiving;
      const taken = takeSettings(target.destination, headerPrefix, KNOWN_SETTINGS);
      const publication: Publication = {
        destination: taken.destination,
        queueName: target.queueName,
        headers: withDefaults(rawHeaders(request), taken.settings),
        body: held.bytes,
        callerIp: this.#options.callers.ipOf(request),
        scheduleId: null,
        // The descent is read from the headers in a later step.
        descent: NO_DESCENT,
      };
      if (target.call === 'schedule') {
        const { scheduleId, unknownNames } = await schedules.make(publication, account);
        this.#warn(joined(unknownNames, taken.foreign), principal, response);
        sendJson(response, 201, { scheduleId });
        return;
      }
      const reading = publications.read(publication, account);
      const draft = reading instanceof Promise ? await reading : reading;
      if ('problem' in draft) throw apiError(draft);
      const wrong = this.#misspelt(draft) ?? publications.sizeProblem([draft]);
      if (wrong) throw apiError(wrong);
      const left = publications.descendantsOf([draft]);
      if (typeof left !== 'number') throw apiError(left);
      const planned = publications.make(draft, account, left);
      const results = this.#results(planned, await this.#accept(planned, principal, tier), tier, response);
      this.#warn(joined(draft.unknownNames, taken.foreign), principal, response);
      const isNew = results.some((result) => !result.deduplicated);
      const isTopic = planned[0]!.topicName !== null;
      // A copy for a topic is a duplicate only of a copy to the same URL, so that URL is known already.
      const shown = isTopic ? results : isNew ? results[0] : await this.#standing(results[0]!, principal);
      sendJson(response, isNew ? 201 : 202, shown);
    } catch (error) {
      refuse(request, response, error);
    } finally {
      held?.release();
    }
  }

  /** Handles a batch. Never rejects. */
  async #batch<Q extends CallerRequest, S extends CallerResponse>(
    request: Q,
    response: S,
    refuse: Refuse<Q, S>,
    principal: Principal,
  ): Promise<void> {
    const { bodies, requestBytesMax, batchMax, tiers, headerPrefix } = this.#options;
    const { id, tier } = principal.account;
    let held: HeldBody | null = null;
    let begun = 0;
    try {
      const limit = { bytesMax: requestBytesMax, error: () => requestTooLarge(requestBytesMax) };
      const bodyBytesMax = Math.min(tiers[tier].bodyBytesMax ?? requestBytesMax, requestBytesMax);
      const batch = new BatchReader({ elementsMax: batchMax, bodyBytesMax });
      // Each element is parsed as soon as it has arrived, so that the text of the batch is never held whole.
      held = await bodies.receive(request, id, limit, (piece) => batch.push(piece));
      batch.end();
      const elements = Math.max(1, batch.elements.length);
      const waiting = this.#batches.begin(id, elements);
      if (waiting !== null) await waiting;
      begun = elements;
      const { slots, unknownNames, unknownFields } = await this.#makeBatch(batch.elements, request, principal);
      const accepted = slots.flatMap((slot) => (slot instanceof ApiError ? [] : slot));
      const ownTier = tiers[tier];
      const results =
        accepted.length > 0
          ? this.#results(accepted, await this.#accept(accepted, principal, ownTier), ownTier, response)
          : [];
      this.#warn(unknownNames, principal, response, unknownFields);
      // If no element is accepted, the whole call is refused. Each element still has its own reason.
      const isRefused = slots.length > 0 && accepted.length === 0;
      const isNew = results.some((result) => !result.deduplicated);
      const status = isRefused ? 400 : isNew ? 201 : slots.length === 0 ? 200 : 202;
      const isOneRefusal = isRefused && isForQstashClients(headerPrefix);
      sendJson(response, status, isOneRefusal ? refusedBatch(slots) : batchEntries(slots, results));
    } catch (error) {
      refuse(request, response, error);
    } finally {
      held?.release();
      if (begun > 0) this.#batches.end(id, begun);
    }
  }

  async #makeBatch(
    elements: readonly (BatchElement | ApiError)[],
    request: CallerRequest,
    { account }: Principal,
  ): Promise<{ slots: Slot[]; unknownNames: readonly string[]; unknownFields: readonly string[] }> {
    const { publications, turns } = this.#options;
    const pieces = new EventLoopYielder(turns, account.id);
    const { drafts, unknownFields } = await this.#readElements(elements, request, account, pieces);
    // Checked before any message is made: a small request may ask for many messages, elements times endpoints.
    const good = drafts.flatMap((draft) => (draft instanceof ApiError ? [] : [draft]));
    const tooMuch = publications.sizeProblem(good);
    if (tooMuch) throw apiError(tooMuch);
    const left = publications.descendantsOf(good);
    if (typeof left !== 'number') throw apiError(left);
    const slots: Slot[] = [];
    for (const draft of drafts) {
      if (draft instanceof ApiError) {
        slots.push(draft);
        continue;
      }
      const messages = publications.make(draft, account, left);
      slots.push(messages);
      if (pieces.isEnough(messages.length, draft.body.length)) await pieces.next();
    }
    pieces.end();
    const unknownNames = good.find((draft) => draft.unknownNames.length > 0)?.unknownNames ?? NO_NAMES;
    return { slots, unknownNames, unknownFields };
  }

  async #readElements(
    elements: readonly (BatchElement | ApiError)[],
    request: CallerRequest,
    account: Principal['account'],
    pieces: EventLoopYielder,
  ): Promise<{ drafts: (ReadRequest | ApiError)[]; unknownFields: readonly string[] }> {
    const { publications, callers, rules } = this.#options;
    const trace = rawHeaders(request).filter(([name]) => /^trace(parent|state)$/i.test(name));
    const same = { callerIp: callers.ipOf(request), scheduleId: null, descent: descentOf(request, rules) };
    const topics: NamedTopics = new Map();
    const drafts: (ReadRequest | ApiError)[] = [];
    let unknownFields = NO_NAMES;
    for (const element of elements) {
      if (element instanceof ApiError) {
        drafts.push(element);
        continue;
      }
      const headers = withDefaults(element.headers, trace);
      // Only a topic is awaited: an await for each of a hundred URLs would take longer than reading them.
      const reading = publications.read({ ...element, headers, ...same }, account, topics);
      const draft = this.#checked(reading instanceof Promise ? await pieces.waitFor(reading) : reading, element);
      drafts.push(draft);
      // The unknown fields of one element are enough: a program that makes this mistake makes it in every element.
      if (!(draft instanceof ApiError) && unknownFields.length === 0) unknownFields = element.unknownFields;
      if (pieces.isEnough(1, 0)) await pieces.next();
    }
    return { drafts, unknownFields };
  }

  /** Returns the error of one element. Throws for a mistake that refuses the whole batch. */
  #checked(draft: ReadRequest | { readonly problem: Problem }, element: BatchElement): ReadRequest | ApiError {
    const wrong = 'problem' in draft ? draft : (this.#misspelt(draft) ?? this.#unknownField(element));
    if (wrong === null) return draft as ReadRequest;
    // The public workflow clients look only at the status, and would take the other elements for workflow steps.
    if (wrong.problem.code === 'not_supported') throw apiError(wrong);
    return apiError(wrong);
  }

  #misspelt({ unknownNames }: ReadRequest): { readonly problem: Problem } | null {
    const { strictSettings, headerPrefix } = this.#options;
    return strictSettings ? misspeltProblem(unknownNames, headerPrefix) : null;
  }

  #unknownField({ unknownFields }: BatchElement): { readonly problem: Problem } | null {
    const { strictSettings, headerPrefix } = this.#options;
    const [first] = unknownFields;
    return strictSettings && first !== undefined ? unknownFieldProblem(first, headerPrefix) : null;
  }

  /**
   * Warns about a setting that looks misspelt, or an unknown field: it was accepted and has no effect. The caller gets
   * a warning, and the operator a log line.
   */
  #warn(
    unknownNames: readonly string[],
    { account }: Principal,
    response: CallerResponse,
    unknownFields: readonly string[] = NO_NAMES,
  ): void {
    if (unknownNames.length === 0 && unknownFields.length === 0) return;
    const { headerPrefix, onMisspelt } = this.#options;
    const warnings = [
      ...misspeltSettings(unknownNames, headerPrefix).map((each) => misspeltWarning(each, headerPrefix)),
      ...unknownFields.map((name) => unknownFieldWarning(name, headerPrefix)),
    ];
    if (warnings.length === 0) return;
    response.setHeader(`${headerPrefix}Warning`, warnings.join('; '));
    onMisspelt(account.id, warnings[0]!);
  }

  #accept(messages: readonly NewMessage[], { account }: Principal, tier: Tier): Promise<AcceptAnswer> {
    const write = () => this.#options.store.accept(messages, messages[0]!.createdAt, tier.messagesPerDayMax);
    const why = this.#options.room.problem(account, messages);
    return why === null ? write() : refuseFor(why).then(write);
  }

  #results(
    messages: readonly NewMessage[],
    { duplicates, isOverQuota }: AcceptAnswer,
    tier: Tier,
    response: CallerResponse,
  ): Result[] {
    if (isOverQuota) {
      const now = this.#options.world.clock.now();
      requireQuota(isOverQuota, tier, now, (name, value) => response.setHeader(name, value));
    }
    return messages.map(({ id, url }, index) => {
      const standing = duplicates[index] ?? null;
      return standing === null ? { messageId: id, url } : { messageId: standing, url, deduplicated: true };
    });
  }

  async #standing(result: Result, { account }: Principal): Promise<Result> {
    const url = await standingUrl(this.#options.store, account.id, result.messageId);
    return url === null ? result : { ...result, url };
  }
}

function joined(names: readonly string[], more: readonly string[]): readonly string[] {
  return more.length === 0 ? names : [...names, ...more];
}

/** The limit for a body that becomes one message. */
function bodyLimit(tier: Tier, requestBytesMax: number): BodyLimit {
  const tierMax = tier.bodyBytesMax ?? Number.POSITIVE_INFINITY;
  if (tierMax >= requestBytesMax) return { bytesMax: requestBytesMax, error: () => requestTooLarge(requestBytesMax) };
  return {
    bytesMax: tierMax,
    error: () =>
      new ApiError('limit_exceeded', `the body exceeds the limit of the ${tier.name} tier: ${tierMax} bytes`),
  };
}

function apiError({ problem }: { readonly problem: Problem }): ApiError {
  return new ApiError(problem.code, problem.message);
}

function requestTooLarge(bytesMax: number): ApiError {
  return new ApiError('request_too_large', `the request body exceeds the limit of this server: ${bytesMax} bytes`);
}

function sendJson(response: CallerResponse, status: number, value: unknown): void {
  const text = JSON.stringify(value);
  if (response instanceof WholeResponse) {
    response.endJson(status, text);
    return;
  }
  HEADERS_WITH_LENGTH[HEADERS_WITH_LENGTH.length - 1] = String(Buffer.byteLength(text));
  response.writeHead(status, HEADERS_WITH_LENGTH);
  response.end(text);
}
