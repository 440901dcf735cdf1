// How often and when a message is tried: never more than its retries allow, never too soon, repeated only where a
// process was cut off, and not at all once it is cancelled. And that each message has exactly one end, rightly reached.

import { countedAttempts, cutOffAtEnd, type Evidence, hasTimedOut, isSuccess, mayBeLate } from './evidence.ts';
import type { Arrival, StoredMessage } from './history.ts';

/** From this one on, what was cut off waits before it is repeated. */
const INTERRUPTIONS_WITHOUT_PAUSE = 2;
const CRASHES_ALONE = 3;
const WAIT_MS_MAX = 86_400_000;
/** One attempt may be made by one node and the next by another, whose claim was a moment on its way. */
export const CLAIM_MS_MAX = 70;

export function* ends({ history, cancels, cutOffs, drains }: Evidence): Iterable<string> {
  const givenUp = givenUpByReceiver(history);
  const overtaken = new Set(
    (history.steps ?? []).flatMap((step) => (step.kind === 'ended' && step.isOvertaken ? [step.id] : [])),
  );
  for (const message of history.stored) {
    const { id, state, endedAt, attempts } = message;
    if (state === 'pending' || state === 'claimed') {
      yield `${id} has not ended: it is ${state} after ${attempts.length} attempts`;
      continue;
    }
    if (state === 'held') {
      const crashes = (cutOffs.get(id) ?? 0) - (drains.get(id) ?? 0);
      const isRight = message.aloneAtCrash >= CRASHES_ALONE && crashes >= CRASHES_ALONE;
      if (!isRight) yield `${id} is held after ${crashes} crashes, ${message.aloneAtCrash} of them alone`;
      continue;
    }
    if (endedAt === null) yield `${id} is ${state}, but has no time of its end`;
    const successes = attempts.filter(isSuccess).length;
    const last = attempts.at(-1);
    if (state === 'delivered' && (successes !== 1 || !last || !isSuccess(last))) {
      yield `${id} is delivered, but ${successes} of its attempts succeeded and the last was ${last?.status ?? last?.outcome}`;
    }
    // The attempt under way when the cancel came is recorded, however it ends.
    const wasUnderWay = state === 'cancelled' && successes === 1 && last !== undefined && isSuccess(last);
    if (state !== 'delivered' && successes > 0 && !wasUnderWay)
      yield `${id} is ${state}, although an attempt succeeded`;
    if (state === 'failed' && message.hasExpired !== true && !isUsedUp(message, givenUp)) {
      yield `${id} failed after ${attempts.length} attempts (${last?.status ?? last?.outcome}), though it may be tried again`;
    }
    const asked = cancels.get(id) ?? [];
    const isAcked = asked.some(({ outcome }) => outcome === 'cancelled' || outcome === 'requested');
    if (isAcked && state !== 'cancelled') yield `${id} was answered to be cancelled, but is ${state}`;
    const isDecided = asked.some(({ outcome }) => outcome !== 'notCancelled') || overtaken.has(id);
    if (state === 'cancelled' && !isDecided) {
      yield `${id} is cancelled, but no cancel did it`;
    }
  }
}

/** The attempts of which their receivers have said that no retry can help, as id and number. */
function givenUpByReceiver({ words = [] }: Evidence['history']): ReadonlySet<string> {
  const last = words.filter(({ kind, retry, reply }) => kind === 'failed' && !retry && reply !== 'gone');
  return new Set(last.map(({ messageId, attempt }) => `${messageId} ${attempt}`));
}

function isUsedUp(message: StoredMessage, givenUp: ReadonlySet<string>): boolean {
  const last = message.attempts.at(-1);
  if (!last) return false;
  if (last.outcome === 'rejected' && givenUp.has(`${message.id} ${last.number}`)) return true;
  if (last.isFinal || last.outcome === 'refusedByPolicy') return true;
  // Nothing fails because we were cut off.
  if (last.outcome === 'interrupted') return false;
  return countedAttempts(message).length === 1 + message.retriesMax;
}

export function* attemptCounts(evidence: Evidence): Iterable<string> {
  for (const message of evidence.history.stored) {
    const { id, retriesMax, retried, attempts } = message;
    const known = countedAttempts(message).length;
    // The last attempt of one that expires may have been at a parked host.
    const most = 1 + retriesMax + (message.hasExpired === true ? 1 : 0);
    if (known > most) yield `${id} had ${known} attempts with a known result, but only ${retriesMax} retries`;
    if (retried > retriesMax) yield `${id} was retried ${retried} times; ${retriesMax} are allowed`;
    if (retried > known) yield `${id} counts ${retried} retries after only ${known} attempts with a known result`;
    yield* interruptionCounts(evidence, message);
    for (const [index, { number }] of attempts.entries()) {
      if (number !== index + 1) yield `${id}: attempt ${index + 1} is numbered ${number}`;
    }
  }
}

/** An interruption is counted until there is a known result, unless it was by a drain, and none comes of itself. */
function* interruptionCounts({ history, cutOffs, drains }: Evidence, message: StoredMessage): Iterable<string> {
  const { id, interrupted, aloneAtCrash, attempts } = message;
  const atEnd = cutOffAtEnd(message);
  if (interrupted > atEnd) yield `${id} counts ${interrupted} interruptions, but ended with ${atEnd} such attempts`;
  if (aloneAtCrash > interrupted) yield `${id} counts ${aloneAtCrash} crashes alone of ${interrupted}`;
  const uncounted = atEnd - interrupted;
  if (uncounted > (drains.get(id) ?? 0) && !history.released.includes(id)) {
    yield `${id} does not count ${uncounted} of its interruptions, although no drain met it so often`;
  }
  const cutOff = attempts.filter(({ outcome }) => outcome === 'interrupted').length;
  const times = cutOffs.get(id) ?? 0;
  if (cutOff > times) yield `${id} was interrupted ${cutOff} times, but only ${times} faults met it in flight`;
}

/** By the service's own clock: no attempt starts before the wait after the failed one before it is over. */
export function* attemptGaps(evidence: Evidence): Iterable<string> {
  const { history } = evidence;
  const jumped = new Set(history.faults.flatMap((fault) => (fault.kind === 'clockJump' ? fault.inFlight : [])));
  for (const message of history.stored) {
    if (jumped.has(message.id) || evidence.moved.has(message.id)) continue;
    let failures = 0;
    let crashes = 0;
    // A drain is no crash, and who is released starts anew: then it is not known from which one on it had to wait.
    const isPlain = !evidence.drains.has(message.id) && !history.released.includes(message.id);
    for (const [index, attempt] of message.attempts.entries()) {
      const isCutOff = attempt.outcome === 'interrupted';
      crashes = isCutOff && isPlain ? crashes + 1 : 0;
      const next = message.attempts[index + 1];
      if (!next) continue;
      const isFree = attempt.isFree === true;
      const waitMs = isCutOff ? leastPauseMs(crashes) : isFree ? 0 : leastWaitMs(evidence, message, failures);
      const gapMs = next.startedAt - attempt.endedAt;
      // Of one that was cut off only the time of its claim is known; of any other, when its request began.
      const claimMs = next.outcome === 'interrupted' ? (history.claimMsMax ?? CLAIM_MS_MAX) : CLAIM_MS_MAX;
      if (gapMs + claimMs + (history.clocksApartMsMax ?? 0) < waitMs) {
        yield `${message.id}: attempt ${next.number} started ${gapMs} ms after the one before, not ${waitMs} ms`;
      }
      if (!isCutOff && !isFree) failures += 1;
    }
  }
}

/** The same by the receivers' clock, which the service cannot get wrong. */
export function* arrivalGaps(evidence: Evidence): Iterable<string> {
  const { history, arrivals, stored } = evidence;
  const jumps = history.faults.filter(({ kind }) => kind === 'clockJump');
  for (const [id, all] of arrivals) {
    const message = stored.get(id);
    if (!message || evidence.moved.has(id)) continue;
    const inTime = all.filter((arrival) => !isLate(evidence, message, arrival));
    for (const [index, later] of inTime.entries()) {
      const earlier = inTime[index - 1];
      if (!earlier || later.retried <= earlier.retried) continue;
      if (jumps.some(({ at }) => at >= earlier.at && at <= later.at)) continue;
      // One that was given up may have arrived after that.
      const lateMs = (hasTimedOut(message) ? history.lateMsMax : 0) + (history.clocksApartMsMax ?? 0);
      const waitMs = leastWaitMs(evidence, message, later.retried - 1) - lateMs;
      const gapMs = later.at - earlier.at;
      if (gapMs < waitMs) {
        yield `${id} arrived as retry ${later.retried} only ${gapMs} ms after the request before, not ${waitMs} ms`;
      }
    }
  }
}

/** The pause after so many crashes in a row. */
function leastPauseMs(crashes: number): number {
  if (crashes <= INTERRUPTIONS_WITHOUT_PAUSE) return 0;
  return Math.min(WAIT_MS_MAX, Math.exp(2 * (crashes - INTERRUPTIONS_WITHOUT_PAUSE - 1)) * 1000);
}

/** Whether a request came behind a later try of the same message, because it was given up on its way. */
function isLate(evidence: Evidence, message: StoredMessage, { at, retried }: Arrival): boolean {
  const passing = evidence.arrivals.get(message.id)!.find((other) => other.retried > retried && other.at <= at);
  return passing !== undefined && mayBeLate(evidence, message, at, passing.at);
}

/** The wait after the attempt that failed as number `failures` (from 0) of those with a known result. */
export function leastWaitMs({ expected }: Evidence, message: StoredMessage, failures: number): number {
  const asked = (expected.get(message.id) ?? expected.get(message.sourceMessageId ?? ''))?.message;
  const backoffMs = Math.min(WAIT_MS_MAX, Math.exp(2 * failures) * 1000);
  const ownMs = asked?.waitsMs ? (asked.waitsMs[failures] ?? 0) : backoffMs;
  const hintMs = countedAttempts(message)[failures]?.retryAfterMs ?? null;
  return hintMs === 0 ? 0 : Math.max(ownMs, hintMs ?? 0);
}

/** A request is repeated with the same count of retries only if its process was cut off, and then once for each time. */
export function* extraArrivals(evidence: Evidence): Iterable<string> {
  const { history, arrivals, stored, cutOffs } = evidence;
  let total = 0;
  let free = 0;
  for (const [id, all] of arrivals) {
    const extra = all.length - new Set(all.map(({ retried }) => retried)).size;
    const freed = stored.get(id)?.attempts.filter(({ isFree }) => isFree).length ?? 0;
    const times = (cutOffs.get(id) ?? 0) + freed;
    total += extra;
    free += freed;
    if (extra > times) yield `${id} arrived ${extra} times more than it was tried; ${times} faults met it in flight`;
    const newest = Math.max(...all.map(({ retried }) => retried));
    const known = stored.get(id)?.retried;
    if (known !== undefined && newest > known) yield `${id} arrived as retry ${newest}; the store knows of ${known}`;
    const message = stored.get(id);
    const inTime = all.filter((arrival) => !message || !isLate(evidence, message, arrival));
    if (inTime.some(({ retried }, index) => retried < (inTime[index - 1]?.retried ?? 0))) {
      yield `${id} arrived with a count of retries that went back`;
    }
  }
  const inFlight = history.faults.reduce(
    (sum, { kind, inFlight }) => sum + (kind === 'clockJump' ? 0 : inFlight.length),
    free,
  );
  if (total > inFlight) yield `${total} requests arrived twice, but only ${inFlight} were in flight at faults`;
}

/** The attempt under way when the cancel came may still arrive; no other does. */
export function* startsAfterCancel({ history, arrivals, cutOffs }: Evidence): Iterable<string> {
  for (const { messageId, outcome, endedAt } of history.cancels) {
    if (outcome !== 'cancelled') continue;
    const late = (arrivals.get(messageId) ?? []).filter(({ at }) => at > endedAt);
    const times = cutOffs.get(messageId) ?? 0;
    if (late.length > 1 + times) yield `${messageId} arrived ${late.length} times after its cancel was answered`;
    const lateMs = Math.max(0, ...late.map(({ at }) => at - endedAt));
    if (lateMs > history.arrivalMsMax) {
      yield `${messageId} arrived ${lateMs} ms after its cancel was answered: it started after it`;
    }
  }
}
