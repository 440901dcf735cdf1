// Explains why a message is not delivered yet: as text for people and as data for programs, with the estimated time of
// the next attempt where that is possible. The store provides the facts.

import type { AwaitedAck } from '../acks/ack.ts';
import { isParked, type Parking } from '../hosts/parking.ts';
import type { FlowKey } from '../lines/flow-key.ts';
import type { Queue } from '../lines/queue.ts';
import { canBeReplaced, givenDebounceKey, isDebounced } from '../publish/debounce.ts';
import { formatDurationMs } from '../time/duration.ts';
import { isExpired } from './expiry.ts';
import type { Message } from './message.ts';
import { levelAt, levelText } from './priority.ts';
import { heldReason, isSuspect, NEVER_AT } from './recovery.ts';

/** The first of the messages before this one in its queue, and how many there are. */
export interface Ahead {
  readonly messageId: string;
  readonly state: Message['state'];
  /** When its next attempt is due. `NEVER_AT` if it waits for an event. */
  readonly dueAt: number;
  readonly count: number;
  /** Present if counting stopped at a limit: there are more than `count`. */
  readonly isCountCut?: true;
  /** Present if they have the same order key as this one. Then they are delivered one by one. */
  readonly isOfKey?: true;
}

/** A message that has to end before this one may start, and what it waits for itself. */
export interface First {
  readonly message: Pick<Message, 'id' | 'state' | 'host'>;
  /** The ack that its attempt awaits. */
  readonly ack: AwaitedAck | null;
  /** What is known of its host, if it parks. */
  readonly parking: Parking | null;
}

export function cappedCount(count: number, max: number): Pick<Ahead, 'count' | 'isCountCut'> {
  return count > max ? { count: max, isCountCut: true } : { count };
}

export interface WhyInput {
  readonly message: Message;
  readonly queue: Queue | null;
  readonly ahead: Ahead | null;
  readonly flowKey: FlowKey | null;
  /** How many messages wait before this one under its flow key. Null if this message does not wait under a flow key. */
  readonly flowAhead: Pick<Ahead, 'count' | 'isCountCut'> | null;
  /** The first of those before it in its queue, or else one of those that have a place under its flow key. */
  readonly first?: First | null;
  /** The ack that its attempt awaits. */
  readonly ack?: AwaitedAck | null;
  /** What is known of its host, if the message parks. */
  readonly parking?: Parking | null;
  readonly isDraining: boolean;
  /** How long an attempt to the host of this message usually takes. Null if nothing was measured. */
  readonly paceMs: number | null;
  readonly now: number;
}

/** Whether it waits for the ends of other messages, so that the pace of its host says when its turn comes. */
export function waitsForOthers({ ahead, flowAhead }: Pick<WhyInput, 'ahead' | 'flowAhead'>): boolean {
  return ahead !== null || flowAhead !== null;
}

export interface Why {
  readonly reason:
    | 'ended'
    | 'active'
    | 'awaitingAck'
    | 'cancelRequested'
    | 'held'
    | 'queuePaused'
    | 'behind'
    | 'flowPaused'
    | 'flowFull'
    | 'retrying'
    | 'interrupted'
    | 'delayed'
    | 'expired'
    | 'draining'
    | 'parked'
    | 'waitingForSlot';
  readonly text: string;
  /** The time of the next attempt. Absent if it depends only on an event, such as the end of another message. */
  readonly nextAttemptAt?: number;
  /** Whether the next attempt may be later than `nextAttemptAt`, because it also depends on other messages. */
  readonly isEarliest?: boolean;
  /** About when its turn comes behind others, if each of them takes as long as an attempt to its host usually does. */
  readonly estimatedAt?: number;
  /** Until when its attempt waits for its ack. */
  readonly ackDeadline?: number;
  /** Since when its host is parked. */
  readonly parkedSince?: number;
  /** Of the messages that wait for a slot, those with a higher level go first. */
  readonly level?: number;
  readonly behindMessageId?: string;
  readonly aheadCount?: number;
  readonly isAheadCountCut?: true;
  /** From when on no attempt of the message starts. Absent if it does not expire, or has ended. */
  readonly expiresAt?: number;
  /** For how many messages it stands, if the next one with its debounce key takes its place. */
  readonly debounced?: number;
}

export function whyNotDelivered(input: WhyInput): Why {
  const { message, now } = input;
  const itself =
    whyAwaitingAck(input) ??
    whyInItself(message) ??
    whyItExpires(input) ??
    whyInItsQueue(input) ??
    whyUnderItsKey(input) ??
    (isSuspect(message) ? afterCrashes(message) : (whyParked(input) ?? whyOnTheNode(input)));
  const why = withDebounce(itself, message, now);
  const { mustStartBefore: expiresAt, endedAt } = message;
  if (expiresAt === null || endedAt !== null) return why;
  const inMs = expiresAt > now ? `, in ${remaining(expiresAt - now)}` : '';
  const text = `${why.text}; no attempt starts after ${new Date(expiresAt).toISOString()}${inMs}`;
  return { ...why, text, expiresAt };
}

/** What may become of a message with a debounce key that waits for its first attempt. */
function withDebounce(why: Why, message: Message, now: number): Why {
  if (!isDebounced(message) || !canBeReplaced(message, now)) return why;
  const { count: debounced, latestAt } = message.debounce;
  const forMany = debounced === 1 ? '' : `it stands for ${debounced} messages, and `;
  const next = `the next with the debounce key "${givenDebounceKey(message.debounce)}" takes its place`;
  const text = `${why.text}; ${forMany}${next}, due at ${new Date(latestAt).toISOString()} at the latest`;
  return { ...why, text, debounced };
}

/** Expired messages are ended one piece after the other, so this one may have to wait for others. */
function whyItExpires({ message, now }: WhyInput): Why | null {
  return isExpired(message, now) ? { reason: 'expired', text: 'it has expired and is about to end as failed' } : null;
}

function whyAwaitingAck({ message, ack, now }: WhyInput): Why | null {
  if (!ack || message.endedAt !== null || message.cancelRequestedAt !== undefined) return null;
  const { attempt, deadlineAt, progress, note } = ack;
  const left = deadlineAt > now ? `, for ${remaining(deadlineAt - now)}` : '';
  const done = progress === null ? '' : `; its receiver reported ${Math.floor(progress * 100)} %`;
  const said = note === null ? '' : `${done === '' ? '; its receiver reported' : ','} "${note}"`;
  const until = new Date(deadlineAt).toISOString();
  const text = `attempt ${attempt} was answered with 202 and waits for its ack until ${until}${left}${done}${said}`;
  return { reason: 'awaitingAck', text, ackDeadline: deadlineAt };
}

function whyInItself(message: Message): Why | null {
  if (message.endedAt !== null) {
    const how = message.failure === null ? message.state : `failed: ${message.failure}`;
    return { reason: 'ended', text: `it has ended: ${how}` };
  }
  if (message.cancelRequestedAt !== undefined) {
    return {
      reason: 'cancelRequested',
      text: `its cancel was requested; attempt ${message.attempts + 1} was claimed before that, and no other attempt follows`,
    };
  }
  if (message.state === 'claimed') return { reason: 'active', text: `attempt ${message.attempts + 1} is running` };
  if (message.state === 'held') return { reason: 'held', text: `it is held: ${heldReason(message)}` };
  return null;
}

function whyInItsQueue(input: WhyInput): Why | null {
  const { message, queue, ahead, now } = input;
  if (queue?.isPaused) {
    return { reason: 'queuePaused', text: `queue "${queue.name}" is paused; resume it to continue` };
  }
  if (message.dueAt > now) return waiting(input);
  if (!ahead) return null;
  const places = ahead.isOfKey ? 1 : (queue?.parallelism ?? 1);
  // With one place, all wait until the first of them may start. With more, the others go on meanwhile.
  const from = places === 1 ? Math.max(now, ahead.dueAt) : now;
  const estimate = estimated(input, places, Math.floor(ahead.count / places), ahead.isCountCut, { from });
  const waits = waitOf(input.first, now);
  return {
    reason: 'behind',
    text:
      `${ahead.isCountCut ? 'more than ' : ''}${count(ahead.count, 'message')} of queue "${queue?.name}" ${ahead.count === 1 ? 'goes' : 'go'} before it, ` +
      `first ${ahead.messageId}, which is ${ahead.state}${waits ? ` and ${waits.text}` : ''}${estimate.text}`,
    ...estimate.at,
    behindMessageId: ahead.messageId,
    aheadCount: ahead.count,
    ...(ahead.isCountCut && { isAheadCountCut: true }),
  };
}

function whyUnderItsKey(input: WhyInput): Why | null {
  const { flowKey, flowAhead } = input;
  if (!flowKey) return null;
  if (flowKey.isPaused) {
    return { reason: 'flowPaused', text: `flow key "${flowKey.key}" is paused; resume it to continue` };
  }
  return flowAhead && inLine(input, flowKey, flowAhead);
}

function whyParked({ message: { host }, parking, now }: WhyInput): Why | null {
  if (!parking || parking.parkedAt === null) return null;
  const since = `since ${new Date(parking.parkedAt).toISOString()}`;
  if (parking.step > 0) {
    const text = `its host ${host} was parked ${since} and opens again, ${count(parking.step, 'message')} at once`;
    return { reason: 'parked', text, parkedSince: parking.parkedAt };
  }
  const { probeAt } = parking;
  if (probeAt === null) {
    const text = `its host ${host} is parked by hand ${since}; POST /v2/hosts/${host}/resume to continue`;
    return { reason: 'parked', text, parkedSince: parking.parkedAt };
  }
  const next =
    probeAt > now
      ? `the next probe follows at ${new Date(probeAt).toISOString()}, in ${remaining(probeAt - now)}`
      : 'a probe is due';
  const text = `its host ${host} is parked ${since}: its attempts fail; ${next}, and the message waits until one is answered`;
  return { reason: 'parked', text, parkedSince: parking.parkedAt, nextAttemptAt: probeAt, isEarliest: true };
}

function whyOnTheNode({ message: { priority, dueAt }, isDraining, now }: WhyInput): Why {
  if (isDraining)
    return { reason: 'draining', text: 'this node is shutting down; the message is delivered after the next start' };
  const text = 'it is due and waits for a free slot on the node or at its host';
  const level = levelText(priority, dueAt, now);
  return {
    reason: 'waitingForSlot',
    text: level === null ? text : `${text}; ${level}`,
    level: levelAt(priority, dueAt, now),
  };
}

/** The message is due, but may start only while no other attempt is in flight. */
function afterCrashes(message: Message): Why {
  const text = `crashes of the server interrupted it ${message.interrupted} times in a row; it starts as soon as no other attempt is in flight`;
  return { reason: 'interrupted', text };
}

/** The message is not due yet. When it is, it may have to wait under its flow key, or for a place in its queue. */
function waiting({ message, ahead, now }: WhyInput): Why {
  const waitsForQueue = message.queueName !== null && (ahead !== null || message.attempts === 0);
  const isEarliest = message.flow !== null || waitsForQueue;
  const inMs = `${remaining(message.dueAt - now)}${isEarliest ? ', at the earliest' : ''}`;
  const at = new Date(message.dueAt).toISOString();
  const next = { nextAttemptAt: message.dueAt, ...(isEarliest && { isEarliest }) };
  if (isSuspect(message)) {
    const hurry = ahead === null ? `; to start it now: POST /v2/messages/${message.id}/retry` : '';
    return {
      reason: 'interrupted',
      text: `crashes of the server interrupted it ${message.interrupted} times in a row; it is tried again, alone, at ${at}, in ${inMs}${hurry}`,
      ...next,
    };
  }
  if (message.attempts === 0) {
    return { reason: 'delayed', text: `it is delayed until ${at}, in ${inMs}`, ...next };
  }
  return {
    reason: 'retrying',
    text: `attempt ${message.attempts} failed${message.lastStatus === null ? '' : ` with status ${message.lastStatus}`}; the next follows at ${at}, in ${inMs}`,
    ...next,
  };
}

/** How the message waits under its flow key, computed from its position, the rate and the parallelism. */
function inLine(input: WhyInput, flowKey: FlowKey, flowAhead: NonNullable<WhyInput['flowAhead']>): Why | null {
  const { count: ahead, isCountCut } = flowAhead;
  const { parallelism, rate } = flowKey.limits;
  const startsAt = rate === null ? input.now : startInLine(flowKey, rate, ahead, input.now);
  // The message starts only after some of the messages before it have ended, at an unknown time.
  const waitsForEnds = parallelism !== null && flowKey.active + ahead >= parallelism;
  if (startsAt <= input.now && !waitsForEnds) return null;
  const many = `${isCountCut ? 'more than ' : ''}${count(ahead, 'message')} ${ahead === 1 ? 'waits' : 'wait'}`;
  const wait = waitsForEnds ? waitOf(input.first, input.now) : null;
  const held = wait ? `, of which ${input.first!.message.id} ${wait.text}` : '';
  const line = `flow key "${flowKey.key}" ${limitsText(flowKey)}${held}; ${ahead === 0 ? 'it is next' : `${many} before it`}`;
  const rounds = waitsForEnds ? Math.floor((flowKey.active + ahead) / parallelism) : null;
  const estimate =
    rounds === null ? NO_ESTIMATE : estimated(input, parallelism!, rounds, isCountCut, { earliest: startsAt });
  const turn =
    startsAt > input.now
      ? turnAt(startsAt, waitsForEnds || isCountCut === true, input.now)
      : { when: `when ${endsText(ahead + 1 + flowKey.active - parallelism!)}` };
  const { when, ...next } = turn;
  return {
    reason: 'flowFull',
    text: `${line}, and its turn comes ${when}${estimate.text}`,
    ...next,
    ...estimate.at,
    aheadCount: ahead,
    ...(isCountCut && { isAheadCountCut: isCountCut }),
  };
}

function turnAt(startsAt: number, isEarliest: boolean, now: number) {
  const at = `at ${new Date(startsAt).toISOString()}, in ${remaining(startsAt - now)}`;
  return {
    when: `${at}${isEarliest ? ', at the earliest' : ''}`,
    nextAttemptAt: startsAt,
    ...(isEarliest && { isEarliest }),
  };
}

function endsText(ends: number): string {
  return `${count(ends, 'more message')} of the key ${ends === 1 ? 'has' : 'have'} ended`;
}

interface Estimate {
  readonly text: string;
  readonly at: Pick<Why, 'estimatedAt'>;
}

const NO_ESTIMATE: Estimate = { text: '', at: {} };

/** About when so many rounds of messages before it have ended, if the first of them starts at `from`. */
function estimated(
  { message, first, parking, paceMs, now }: WhyInput,
  places: number,
  rounds: number,
  isCountCut: true | undefined,
  { from: dueFrom = now, earliest = now }: { readonly from?: number; readonly earliest?: number },
): Estimate {
  const ofFirst = waitOf(first, now);
  const own = waitOf({ message, ack: null, parking: parking ?? null }, now);
  const ownText = own && own.text !== ofFirst?.text ? `; it then ${own.text}` : '';
  const from = Math.max(dueFrom, ofFirst?.until ?? now, own?.until ?? now);
  // With more places, nothing says whether the others wait for such a thing too.
  const isUnknown = places > 1 && ofFirst !== null;
  if (paceMs === null || from === NEVER_AT || isUnknown) return { ...NO_ESTIMATE, text: ownText };
  const estimatedAt = Math.max(earliest, from + Math.max(1, rounds) * paceMs);
  const inMs = remaining(estimatedAt - now);
  const howExact = isCountCut ? 'more than' : 'about';
  return { text: `${ownText}; at the usual pace of its host, in ${howExact} ${inMs}`, at: { estimatedAt } };
}

interface Wait {
  /** `NEVER_AT` if a person ends it. */
  readonly until: number;
  readonly text: string;
}

/** How a message waits for its ack or for its parked host. Null: for neither. */
function waitOf(first: First | null | undefined, now: number): Wait | null {
  if (!first) return null;
  const { message, ack, parking } = first;
  if (ack) {
    const text = `waits for its ack until ${new Date(ack.deadlineAt).toISOString()} at the latest`;
    return { until: Math.max(now, ack.deadlineAt), text };
  }
  if (message.state !== 'pending' || !parking || !isParked(parking)) return null;
  const { probeAt } = parking;
  if (probeAt === null) {
    return { until: NEVER_AT, text: `waits until its host ${message.host}, which is parked by hand, is resumed` };
  }
  const next = probeAt > now ? `, at ${new Date(probeAt).toISOString()} at the earliest` : '';
  return { until: Math.max(now, probeAt), text: `waits for a probe of its parked host ${message.host}${next}` };
}

function limitsText({ limits: { parallelism, rate, periodMs }, active }: FlowKey): string {
  const limits = [
    ...(rate === null ? [] : [`starts ${rate} in ${formatDurationMs(periodMs)}`]),
    ...(parallelism === null ? [] : [`has ${active} of ${parallelism} deliveries under way`]),
  ];
  return limits.join(' and ');
}

/**
 * When the message starts if only the rate limits it: now, or in a later period. While messages wait, each period
 * begins when the one before it ends.
 */
function startInLine(
  { windowStartAt, windowCount, limits }: FlowKey,
  rate: number,
  ahead: number,
  now: number,
): number {
  const endsAt = windowStartAt + limits.periodMs;
  const isOver = now >= endsAt;
  const free = isOver ? rate : Math.max(0, rate - windowCount);
  if (ahead < free) return now;
  const periods = Math.floor((ahead - free) / rate);
  return (isOver ? now + limits.periodMs : endsAt) + periods * limits.periodMs;
}

/** In full seconds, which is what people read. */
function remaining(ms: number): string {
  return formatDurationMs(Math.ceil(ms / 1000) * 1000);
}

function count(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? '' : 's'}`;
}
