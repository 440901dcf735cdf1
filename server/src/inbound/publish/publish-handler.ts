// Handles publish, enqueue, batch and the creation of schedules, without a router: these calls carry the main load, and
// their destination must be cut from the raw request target, which every router changes.

import type { IncomingMessage } from 'node:http';
import type { Accounts } from '../../accounts/accounts.ts';
import type { Audit } from '../../audit/audit.ts';
import { type NamedTopics, type Publication, type Publications, withDefaults } from '../../publish/publications.ts';
import type { Scope } from '../../rules/accounts/account.ts';
import type { AuditFacts } from '../../rules/accounts/audit.ts';
import { NO_DESCENT } from '../../rules/delivery/descent.ts';
import type { NewMessage } from '../../rules/delivery/message.ts';
import type { Tier, TierName, Tiers } from '../../rules/limits/tier.ts';
import { givenDebounceKey, type Misplaced } from '../../rules/publish/debounce.ts';
import {
  misspeltProblem,
  misspeltSettings,
  misspeltWarning,
  unknownFieldProblem,
  unknownFieldWarning,
} from '../../rules/publish/misspelt-settings.ts';
import { messageCount } from '../../rules/publish/publish.ts';
import { type HeaderRules, KNOWN_SETTINGS, type ParsedPublishRequest } from '../../rules/publish/publish-settings.ts';
import { separateSettings } from '../../rules/publish/query-settings.ts';
import { PROBLEMS, type Problem, type ProblemCode } from '../../rules/requests/problem.ts';
import { isForQstashClients } from '../../rules/requests/qstash.ts';
import { REQUEST_ID_HEADER } from '../../rules/requests/request-id.ts';
import { laneAccountMax } from '../../runtime/lane-part.ts';
import type { LoopTurns } from '../../runtime/loop-turns.ts';
import type { World } from '../../runtime/world.ts';
import type { Principal } from '../../store/ports/access-store.ts';
import type { AcceptResult, DeliveryStore } from '../../store/ports/delivery-store.ts';
import type { MessageStore } from '../../store/ports/message-store.ts';
import { type CountRequest, NO_ROUTE } from '../../telemetry/request-metrics.ts';
import type { ApiContext } from '../api/api.ts';
import { auditFacts } from '../api/audit-facts.ts';
import { authenticate, callerOf, refuseSuspended } from '../api/authenticate.ts';
import { ApiError, JSON_HEADERS, problemOf } from '../api/errors.ts';
import { EventLoopYielder } from '../api/event-loop-yielder.ts';
import type { CallerAddresses } from '../server/caller.ts';
import type { CallerResponse } from '../server/caller-response.ts';
import { WholeResponse } from '../server/publisher-connection.ts';
import { type PublishTarget, parsePublishTarget } from '../server/request-target.ts';
import type { RequestsInProgress } from '../server/requests.ts';
import { rawHeaders, type WholeRequest } from '../server/whole-request.ts';
import { type BatchElement, BatchReader } from './batch.ts';
import { batchEntries, batchErrorBody, type MessageResult, type PlannedElement } from './batch-entries.ts';
import type { BodyLimit, BodyReader, ReceivedBody } from './body.ts';
import { descentOf } from './descent-of.ts';
import { existingMessageUrl } from './existing-message.ts';
import { refuseIfProblem, requireQuota } from './quota.ts';
import type { ScheduleMaker } from './schedule-maker.ts';
import { AccountWorkLimit } from './work-under-way.ts';

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
  readonly requests: RequestsInProgress;
  readonly callers: CallerAddresses;
  readonly turns: LoopTurns;
  /** Whether a publish with a setting that looks misspelt is refused. */
  readonly strictSettings: boolean;
  /** Called when a publish with a misspelt setting or an unknown field was accepted, so that it can be logged. */
  readonly onMisspelt: (accountId: string, warning: string) => void;
  readonly countRequest: CountRequest;
  readonly audit: Audit;
}

/** One array for all responses: writeHead only reads it. Its last elements are set for each response. */
const HEADERS_OF_RESPONSE: string[] = [...JSON_HEADERS, REQUEST_ID_HEADER, '', 'Content-Length', ''];

const NO_NAMES: readonly string[] = [];

/** A publish to a topic with more endpoints than this takes turns, like a batch. */
const SMALL_FAN_OUT_MAX = 50;

/** A publish to a topic with many endpoints, whose messages are being made and accepted. */
interface FanOut {
  readonly count: number;
  readonly pieces: EventLoopYielder;
}

/** For bodies that take longer, the caller is looked up again. */
const SLOW_BODY_MS = 1000;

function scopeOf(call: PublishTarget['call']): Scope {
  return call === 'schedule' ? 'manage' : 'publish';
}

type CallerRequest = IncomingMessage | WholeRequest;

type Target = NonNullable<ReturnType<typeof parsePublishTarget>>;

const BATCH = { call: 'batch' } as const;

/** As in the OpenAPI document. */
const ROUTES: Readonly<Record<PublishTarget['call'], string>> = {
  publish: 'POST /v2/publish/{destination}',
  enqueue: 'POST /v2/enqueue/{queueName}/{destination}',
  schedule: 'POST /v2/schedules/{destination}',
  batch: 'POST /v2/batch',
};

function routeOf(target: Target): string {
  return 'call' in target ? ROUTES[target.call] : NO_ROUTE;
}

/** Sends the error response of a call that failed. Never throws. */
type Refuse<Q extends CallerRequest, S extends CallerResponse> = (request: Q, response: S, error: unknown) => void;

export class PublishHandler {
  readonly #options: PublishHandlerOptions;
  readonly #bodyLimits: Readonly<Record<TierName, BodyLimit>>;
  readonly #batches = new AccountWorkLimit(laneAccountMax('batchElements'));

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
      queueMicrotask(() => this.#refuse(target, request, response, refuse, error));
    }
    return true;
  }

  #begin<Q extends CallerRequest, S extends CallerResponse>(
    target: Target,
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
    const scope = 'call' in target ? scopeOf(target.call) : 'publish';
    const asking = authenticate(this.#options, request, scope);
    if (!(asking instanceof Promise)) this.#take(target, request, response, refuse, asking);
    else {
      asking
        .then((principal) => this.#take(target, request, response, refuse, principal))
        .catch((error) => this.#refuse(target, request, response, refuse, error));
    }
  }

  #take<Q extends CallerRequest, S extends CallerResponse>(
    target: Target,
    request: Q,
    response: S,
    refuse: Refuse<Q, S>,
    principal: Principal,
  ): void {
    request.principal = principal;
    this.#options.requests.begin(principal.account.id, request.socket, response);
    refuseSuspended(principal);
    if ('problem' in target) throw new ApiError(target.problem.code, target.problem.message);
    if (target.call === 'batch') void this.#batch(request, response, refuse, principal);
    else void this.#publish(request, response, refuse, principal, target);
  }

  /** Handles a publish, in one async function: each further async function takes as long as a check. Never rejects. */
  async #publish<Q extends CallerRequest, S extends CallerResponse>(
    request: Q,
    response: S,
    refuse: Refuse<Q, S>,
    principal: Principal,
    target: Exclude<PublishTarget, { call: 'batch' }>,
  ): Promise<void> {
    const { bodies, tiers, schedules, headerPrefix, publications, world } = this.#options;
    const { account } = principal;
    const tier = tiers[account.tier];
    let held: ReceivedBody | null = null;
    let fanOut: FanOut | null = null;
    try {
      const receiving = bodies.receive(request, account.id, this.#bodyLimits[account.tier]);
      const beganMs = receiving instanceof Promise ? world.clock.monotonicMs() : null;
      held = receiving instanceof Promise ? await receiving : receiving;
      if (beganMs !== null && world.clock.monotonicMs() - beganMs > SLOW_BODY_MS)
        await this.#askAgain(request, target.call);
      const taken = separateSettings(target.destination, headerPrefix, KNOWN_SETTINGS);
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
        const facts = this.#auditFacts(target, request, 201, null);
        const { scheduleId, unknownNames } = await this.#options.audit.carryOut(
          facts,
          () => 201,
          (note) => schedules.make(publication, account, (id) => note.about(id)),
        );
        this.#warn(joined(unknownNames, taken.foreign), principal, response);
        this.#respond(target, request, response, 201, { scheduleId });
        return;
      }
      const reading = publications.read(publication, account);
      const draft = reading instanceof Promise ? await reading : reading;
      if ('problem' in draft) throw apiError(draft);
      const wrong = this.#misspelt(draft) ?? publications.sizeProblem([draft]);
      if (wrong) throw apiError(wrong);
      const left = publications.descendantsOf([draft]);
      if (typeof left !== 'number') throw apiError(left);
      if (isLarge(draft)) fanOut = await this.#beginFanOut(account.id, messageCount(draft));
      const planned = publications.make(draft, account, left);
      const accepting = this.#accept(planned, principal, tier);
      const accepted = await (fanOut ? fanOut.pieces.waitFor(accepting) : accepting);
      const results = this.#results(planned, accepted, tier, response);
      this.#warn(joined(draft.unknownNames, taken.foreign), principal, response);
      const isNew = results.some((result) => !result.deduplicated);
      const isTopic = planned[0]!.topicName !== null;
      // A message to an endpoint of a topic is a duplicate only of a message to the same URL, so its URL is known.
      const shown = isTopic ? results : isNew ? results[0] : await this.#standing(results[0]!, principal);
      this.#respond(target, request, response, isNew ? 201 : 202, shown);
    } catch (error) {
      this.#refuse(target, request, response, refuse, error);
    } finally {
      held?.release();
      if (fanOut) this.#endFanOut(account.id, fanOut);
    }
  }

  /** Refuses a caller that has lost its access while its body came. */
  async #askAgain(request: CallerRequest, call: PublishTarget['call']): Promise<void> {
    refuseSuspended(await authenticate(this.#options, request, scopeOf(call)));
  }

  #respond(target: Target, request: CallerRequest, response: CallerResponse, status: number, value: unknown): void {
    this.#options.countRequest(routeOf(target), status);
    sendJson(request, response, status, value);
  }

  #refuse<Q extends CallerRequest, S extends CallerResponse>(
    target: Target,
    request: Q,
    response: S,
    refuse: Refuse<Q, S>,
    error: unknown,
  ): void {
    const known = problemOf(error);
    const status = known ? PROBLEMS[known.code][0] : 500;
    this.#options.countRequest(routeOf(target), status);
    const facts = () => this.#auditFacts(target, request, status, known?.code ?? 'internal', callerOf(error));
    // Of publishes, the audit has only those that nobody may make. It has all calls for schedules.
    const isSchedule = 'call' in target && target.call === 'schedule';
    this.#options.audit.refused(facts, isSchedule ? 'change' : 'none', known?.code ?? 'internal');
    refuse(request, response, error);
  }

  #auditFacts(
    target: Target,
    request: CallerRequest,
    status: number,
    code: ProblemCode | null,
    principal: Principal | undefined = request.principal,
  ): AuditFacts {
    const call = routeOf(target);
    const address = this.#options.callers.ipOf(request);
    return auditFacts({ principal, address, call, target: null, status, code, requestId: request.requestId });
  }

  /** Waits until the account may have so many more messages made, and then for its turn of the event loop. */
  async #beginFanOut(accountId: string, count: number): Promise<FanOut> {
    const waiting = this.#batches.begin(accountId, count);
    if (waiting !== null) await waiting;
    const pieces = new EventLoopYielder(this.#options.turns, accountId);
    await pieces.next();
    return { count, pieces };
  }

  #endFanOut(accountId: string, { count, pieces }: FanOut): void {
    pieces.end();
    this.#batches.end(accountId, count);
  }

  /** Handles a batch. Never rejects. */
  async #batch<Q extends CallerRequest, S extends CallerResponse>(
    request: Q,
    response: S,
    refuse: Refuse<Q, S>,
    principal: Principal,
  ): Promise<void> {
    const { bodies, requestBytesMax, batchMax, tiers, headerPrefix, turns, world } = this.#options;
    const { id, tier } = principal.account;
    let held: ReceivedBody | null = null;
    let begun = 0;
    try {
      const limit = { bytesMax: requestBytesMax, error: () => requestTooLarge(requestBytesMax) };
      const bodyBytesMax = Math.min(tiers[tier].bodyBytesMax ?? requestBytesMax, requestBytesMax);
      const batch = new BatchReader({ elementsMax: batchMax, bodyBytesMax });
      // Each element is parsed as soon as it has arrived, so that the whole text of the batch is never in memory.
      const beganMs = world.clock.monotonicMs();
      held = await bodies.receive(request, id, limit, (piece) => batch.push(piece));
      if (world.clock.monotonicMs() - beganMs > SLOW_BODY_MS) await this.#askAgain(request, 'batch');
      batch.end();
      const elements = Math.max(1, batch.elements.length);
      const waiting = this.#batches.begin(id, elements);
      if (waiting !== null) await waiting;
      begun = elements;
      const pieces = new EventLoopYielder(turns, id);
      const { slots, unknownNames, unknownFields } = await this.#makeBatch(batch.elements, request, principal, pieces);
      const good = slots.flatMap((slot) => (slot instanceof ApiError ? [] : slot));
      const ownTier = tiers[tier];
      const results =
        good.length > 0
          ? this.#results(good, await pieces.waitFor(this.#accept(good, principal, ownTier)), ownTier, response)
          : [];
      this.#warn(unknownNames, principal, response, unknownFields);
      // If no element is accepted, the whole call is refused. Each element still has its own reason.
      const isRefused = slots.length > 0 && good.length === 0;
      const isNew = results.some((result) => !result.deduplicated);
      const status = isRefused ? 400 : isNew ? 201 : slots.length === 0 ? 200 : 202;
      const isOneRefusal = isRefused && isForQstashClients(headerPrefix);
      const shown = isOneRefusal ? batchErrorBody(slots) : batchEntries(slots, results);
      this.#respond(BATCH, request, response, status, shown);
      pieces.end();
    } catch (error) {
      this.#refuse(BATCH, request, response, refuse, error);
    } finally {
      held?.release();
      if (begun > 0) this.#batches.end(id, begun);
    }
  }

  async #makeBatch(
    elements: readonly (BatchElement | ApiError)[],
    request: CallerRequest,
    { account }: Principal,
    pieces: EventLoopYielder,
  ): Promise<{ slots: PlannedElement[]; unknownNames: readonly string[]; unknownFields: readonly string[] }> {
    const { publications } = this.#options;
    const { drafts, unknownFields } = await this.#readElements(elements, request, account, pieces);
    // Checked before any message is made: a small request may ask for many, one for each endpoint of each element.
    const good = drafts.flatMap((draft) => (draft instanceof ApiError ? [] : [draft]));
    const tooMuch = publications.sizeProblem(good);
    if (tooMuch) throw apiError(tooMuch);
    const left = publications.descendantsOf(good);
    if (typeof left !== 'number') throw apiError(left);
    // Elements to topics may have been read together with those of other batches, and would be made in the same turn.
    if (good.some(isLarge)) await pieces.next();
    const slots: PlannedElement[] = [];
    for (const draft of drafts) {
      if (draft instanceof ApiError) {
        slots.push(draft);
        continue;
      }
      const messages = publications.make(draft, account, left);
      slots.push(messages);
      if (pieces.isEnough(messages.length, draft.body.length)) await pieces.next();
    }
    const unknownNames = good.find((draft) => draft.unknownNames.length > 0)?.unknownNames ?? NO_NAMES;
    return { slots, unknownNames, unknownFields };
  }

  async #readElements(
    elements: readonly (BatchElement | ApiError)[],
    request: CallerRequest,
    account: Principal['account'],
    pieces: EventLoopYielder,
  ): Promise<{ drafts: (ParsedPublishRequest | ApiError)[]; unknownFields: readonly string[] }> {
    const { publications, callers, rules } = this.#options;
    const trace = rawHeaders(request).filter(([name]) => /^trace(parent|state)$/i.test(name));
    const same = { callerIp: callers.ipOf(request), scheduleId: null, descent: descentOf(request, rules) };
    const topics: NamedTopics = new Map();
    const drafts: (ParsedPublishRequest | ApiError)[] = [];
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
  #checked(
    draft: ParsedPublishRequest | { readonly problem: Problem },
    element: BatchElement,
  ): ParsedPublishRequest | ApiError {
    const wrong = 'problem' in draft ? draft : (this.#misspelt(draft) ?? this.#unknownField(element));
    if (wrong === null) return draft as ParsedPublishRequest;
    // Refuses the whole batch: the public workflow clients look only at the status, and would take the other elements
    // for workflow steps.
    if (wrong.problem.code === 'not_supported') throw apiError(wrong);
    return apiError(wrong);
  }

  #misspelt({ unknownNames }: ParsedPublishRequest): { readonly problem: Problem } | null {
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

  #accept(messages: readonly NewMessage[], { account }: Principal, tier: Tier): Promise<AcceptResult> {
    const write = () => this.#options.store.accept(messages, messages[0]!.createdAt, tier.messagesPerDayMax);
    const why = this.#options.room.problem(account, messages);
    return why === null ? write() : refuseIfProblem(why).then(write);
  }

  #results(
    messages: readonly NewMessage[],
    { duplicates, isOverQuota, debounced, misplaced }: AcceptResult,
    tier: Tier,
    response: CallerResponse,
  ): MessageResult[] {
    if (isOverQuota) {
      const now = this.#options.world.clock.now();
      requireQuota(isOverQuota, tier, now, (name, value) => response.setHeader(name, value));
    }
    if (misplaced) throw this.#misplaced(misplaced, messages);
    return messages.map(({ id, url }, index) => {
      const waiting = debounced?.[index] ?? null;
      if (waiting) return { messageId: waiting.messageId, url, debounced: waiting.count };
      const standing = duplicates[index] ?? null;
      return standing === null ? { messageId: id, url } : { messageId: standing, url, deduplicated: true };
    });
  }

  #misplaced({ index, messageId, part }: Misplaced, messages: readonly NewMessage[]): ApiError {
    const { headerPrefix } = this.#options;
    const key = givenDebounceKey(messages[index]!.debounce!);
    const waits = `message "${messageId}" waits under the key "${key}" with another ${part}`;
    const which = messages.length === 1 ? '' : ` (message ${index + 1} of this request)`;
    return new ApiError(
      'bad_header',
      `${headerPrefix}Debounce-Key: ${waits}${which}; nothing was accepted. Give the same ${part}, or another key`,
    );
  }

  async #standing(result: MessageResult, { account }: Principal): Promise<MessageResult> {
    const url = await existingMessageUrl(this.#options.store, account.id, result.messageId);
    return url === null ? result : { ...result, url };
  }
}

function isLarge(draft: ParsedPublishRequest): boolean {
  return messageCount(draft) > SMALL_FAN_OUT_MAX;
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

function sendJson({ requestId = '' }: CallerRequest, response: CallerResponse, status: number, value: unknown): void {
  const text = JSON.stringify(value);
  if (response instanceof WholeResponse) {
    response.endJson(status, text);
    return;
  }
  HEADERS_OF_RESPONSE[HEADERS_OF_RESPONSE.length - 3] = requestId;
  HEADERS_OF_RESPONSE[HEADERS_OF_RESPONSE.length - 1] = String(Buffer.byteLength(text));
  response.writeHead(status, HEADERS_OF_RESPONSE);
  response.end(text);
}
