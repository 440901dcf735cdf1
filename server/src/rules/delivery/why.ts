// Explains why a message is not delivered yet: as text for people and as data for programs, with an estimate if
// possible. Pure: the store provides the facts.

import type { FlowKey } from '../lines/flow-key.ts';
import type { Queue } from '../lines/queue.ts';
import { formatDurationMs } from '../time/duration.ts';
import type { Message } from './message.ts';
import { heldReason, isSuspect } from './recovery.ts';

/** The first of the messages before this one in its queue, and how many there are. */
export interface Ahead {
  readonly messageId: string;
  readonly state: Message['state'];
  readonly count: number;
  /** The real number is larger: counting stopped at a budget. */
  readonly isCountCut?: true;
}

export function countAhead(count: number, max: number): Pick<Ahead, 'count' | 'isCountCut'> {
  return count > max ? { count: max, isCountCut: true } : { count };
}

export interface WhyInput {
  readonly message: Message;
  readonly queue: Queue | null;
  readonly ahead: Ahead | null;
  readonly flowKey: FlowKey | null;
  /** How many messages wait before this one under its flow key. Null when this one does not wait there. */
  readonly flowAhead: Pick<Ahead, 'count' | 'isCountCut'> | null;
  readonly isDraining: boolean;
  readonly now: number;
}

export interface Why {
  readonly reason:
    | 'ended'
    | 'active'
    | 'cancelRequested'
    | 'held'
    | 'queuePaused'
    | 'behind'
    | 'flowPaused'
    | 'flowFull'
    | 'retrying'
    | 'interrupted'
    | 'delayed'
    | 'draining'
    | 'waitingForSlot';
  readonly text: string;
  /** The earliest time of the next attempt, if the clock decides it. */
  readonly nextAttemptAt?: number;
  /** The next attempt may be later than that, because it also depends on other messages. */
  readonly isEarliest?: boolean;
  readonly behindMessageId?: string;
  readonly aheadCount?: number;
  readonly isAheadCountCut?: true;
}

export function whyNotDelivered(input: WhyInput): Why {
  return (
    whyInItself(input.message) ??
    whyInItsQueue(input) ??
    whyUnderItsKey(input) ??
    (isSuspect(input.message) ? afterCrashes(input.message) : whyOnTheNode(input))
  );
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
  return {
    reason: 'behind',
    text:
      `${ahead.isCountCut ? 'more than ' : ''}${count(ahead.count, 'message')} of queue "${queue?.name}" ${ahead.count === 1 ? 'goes' : 'go'} before it, ` +
      `first ${ahead.messageId}, which is ${ahead.state}`,
    behindMessageId: ahead.messageId,
    aheadCount: ahead.count,
    ...(ahead.isCountCut && { isAheadCountCut: true }),
  };
}

function whyUnderItsKey({ flowKey, flowAhead, now }: WhyInput): Why | null {
  if (!flowKey) return null;
  if (flowKey.isPaused) {
    return { reason: 'flowPaused', text: `flow key "${flowKey.key}" is paused; resume it to continue` };
  }
  return flowAhead && inLine(flowKey, flowAhead, now);
}

function whyOnTheNode({ isDraining }: WhyInput): Why {
  if (isDraining)
    return { reason: 'draining', text: 'this node is shutting down; the message is delivered after the next start' };
  return { reason: 'waitingForSlot', text: 'it is due and waits for a free slot on the node or at its host' };
}

/** The message is due, but may start only while no other message does. */
function afterCrashes(message: Message): Why {
  const text = `crashes of the server interrupted it ${message.interrupted} times in a row; it starts as soon as no other attempt is in flight`;
  return { reason: 'interrupted', text };
}

/**
 * The message waits for its own time. After that it waits under its flow key, or in its queue if it has no place there.
 */
function waiting({ message, ahead, now }: WhyInput): Why {
  const waitsForQueue = message.queueName !== null && (ahead !== null || message.attempts === 0);
  const isEarliest = message.flow !== null || waitsForQueue;
  const inMs = `${formatDurationMs(message.dueAt - now)}${isEarliest ? ', at the earliest' : ''}`;
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
function inLine(
  flowKey: FlowKey,
  { count: ahead, isCountCut }: NonNullable<WhyInput['flowAhead']>,
  now: number,
): Why | null {
  const { parallelism, rate } = flowKey.limits;
  const startsAt = rate === null ? now : startInLine(flowKey, rate, ahead, now);
  // The message starts only after some of the messages before it have ended, at an unknown time.
  const waitsForEnds = parallelism !== null && flowKey.active + ahead >= parallelism;
  if (startsAt <= now && !waitsForEnds) return null;
  const counted = { aheadCount: ahead, ...(isCountCut && { isAheadCountCut: isCountCut }) };
  const many = `${isCountCut ? 'more than ' : ''}${count(ahead, 'message')} ${ahead === 1 ? 'waits' : 'wait'}`;
  const text = `flow key "${flowKey.key}" ${limitsText(flowKey)}; ${ahead === 0 ? 'it is next' : `${many} before it`}`;
  if (startsAt <= now) {
    const until = ahead + 1 + flowKey.active - parallelism!;
    return { reason: 'flowFull', text: `${text}, and its turn comes when ${until} more have ended`, ...counted };
  }
  const at = `at ${new Date(startsAt).toISOString()}, in ${formatDurationMs(startsAt - now)}`;
  const isEarliest = waitsForEnds || isCountCut;
  const when = `its turn comes ${at}${isEarliest ? ', at the earliest' : ''}`;
  return {
    reason: 'flowFull',
    text: `${text}, and ${when}`,
    nextAttemptAt: startsAt,
    ...(isEarliest && { isEarliest }),
    ...counted,
  };
}

function limitsText({ limits: { parallelism, rate, periodMs }, active }: FlowKey): string {
  const limits = [
    ...(rate === null ? [] : [`starts ${rate} in ${formatDurationMs(periodMs)}`]),
    ...(parallelism === null ? [] : [`has ${active} of ${parallelism} deliveries under way`]),
  ];
  return limits.join(' and ');
}

/**
 * When the message starts by the rate alone: now, or in a later period. While messages wait, one period follows the
 * other.
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

function count(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? '' : 's'}`;
}
