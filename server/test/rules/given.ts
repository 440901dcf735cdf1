// What the tests of publishing and settling start from: a request, a publisher, a claim, with ids that count up.

import {
  type Claim,
  type HeaderList,
  type Message,
  type NewMessage,
  NO_SETTINGS,
  type Outcome,
} from '../../src/rules/delivery/message.ts';
import { DEFAULT_TIERS, type TierName } from '../../src/rules/limits/tier.ts';
import { parseTargetUrl } from '../../src/rules/publish/destination.ts';
import type {
  CallbackRequest,
  DeliverySettings,
  PlanContext,
  Publisher,
  PublishRequest,
} from '../../src/rules/publish/publish.ts';
import type { NewId } from '../../src/rules/requests/id.ts';
import { planMessages } from '../support/plan-messages.ts';

export const NOW = Date.UTC(2026, 0, 15, 12);
export const URL_GIVEN = 'https://receiver.example/hook?a=%2F';
export const CALLBACK_URL = 'https://callbacks.example/each';
export const FAILURE_URL = 'https://callbacks.example/failed';
export const PREFIX = 'Postrider-';

export function countingIds(): NewId {
  let count = 0;
  return (prefix) => {
    count += 1;
    return `${prefix}_${count}`;
  };
}

export function targetOf(url: string) {
  const target = parseTargetUrl(url);
  if ('problem' in target) throw new Error(target.problem);
  return target;
}

const UNSAID: DeliverySettings = {
  method: null,
  retries: null,
  retryDelay: null,
  retryJitter: null,
  delayMs: null,
  timeoutMs: null,
  forward: [],
};

export function settings(said: Partial<DeliverySettings> = {}): DeliverySettings {
  return { ...UNSAID, ...said };
}

export function callbackTo(url: string, said: Partial<DeliverySettings> = {}): CallbackRequest {
  return { target: targetOf(url), settings: settings(said) };
}

export function request(said: Partial<PublishRequest> = {}): PublishRequest {
  return {
    destination: { kind: 'url', target: targetOf(URL_GIVEN) },
    queueName: null,
    contentType: null,
    settings: settings(),
    notBefore: null,
    expiry: null,
    callback: null,
    failureCallback: null,
    ...NO_SETTINGS,
    deduplication: null,
    debounce: null,
    scheduleId: null,
    body: new TextEncoder().encode('hello'),
    callerIp: null,
    hops: 0,
    descendantsLeft: null,
    ...said,
  };
}

export function publisher(tier: TierName = 'free'): Publisher {
  return { accountId: 'acc_1', tier: DEFAULT_TIERS[tier] };
}

export function planContext(): PlanContext {
  return {
    now: NOW,
    wallNow: NOW,
    newId: countingIds(),
    deduplicationWindowMs: 600_000,
    sha256: (bytes) => `hash of ${bytes.length} bytes`,
  };
}

/** The messages of a request that is within all limits. */
export function planned(said: Partial<PublishRequest>, by = publisher()): readonly NewMessage[] {
  const plan = planMessages(request(said), by, planContext());
  if ('problem' in plan) throw new Error(plan.problem.message);
  return plan.messages;
}

/** A claim on the message such a request makes, with what has happened to it so far. */
export function claimOf(said: Partial<PublishRequest>, sofar: Partial<Message> = {}): Claim {
  const message = planned(said)[0]!;
  const fresh = {
    retried: 0,
    interrupted: 0,
    aloneAtCrash: 0,
    attempts: 0,
    endedAt: null,
    heldAt: null,
    claimedAt: NOW,
    failure: null,
    lastStatus: null,
  };
  return {
    lease: 'lse_1',
    message: { ...message, state: 'claimed', firstDueAt: message.dueAt, readyAt: null, ...fresh, ...sofar },
    tier: 'free',
    signingKey: 'sig_1',
  };
}

export function answered(status: number, headers: HeaderList = [], body = new Uint8Array(0)): Outcome {
  return { kind: 'answered', status, headers, body, isBodyCut: false };
}
