// Acks, by what receivers were told and what the store holds: a word counts once, and only for the attempt that it is for.
// Success that was acknowledged is the end of its message; a 202 alone is none; and no attempt is given up before its deadline.

import type { Evidence } from './evidence.ts';
import type { Arrival, StoredAttempt, StoredMessage, Word } from './history.ts';

export function* acks({ history, stored, arrivals }: Evidence): Iterable<string> {
  const words = Map.groupBy(history.words ?? [], keyOf);
  for (const said of words.values()) {
    const { messageId, attempt } = said[0]!;
    const message = stored.get(messageId);
    const counted = said.filter(({ reply }) => reply === 'ended');
    const name = `attempt ${attempt} of ${messageId}`;
    if (new Set(counted.map(({ kind }) => kind)).size > 1) yield `${name} has ended by acks that contradict each other`;
    if (message && counted.length > 0) yield* ended(message, attempt, counted, arrivals.get(messageId) ?? []);
    yield* extensions(name, said);
  }
  for (const message of history.stored) {
    if (message.awaitAckMs == null) continue;
    for (const attempt of message.attempts) {
      yield* ofAttempt(message, attempt, words.get(keyOf({ messageId: message.id, attempt: attempt.number })) ?? []);
    }
  }
}

function keyOf({ messageId, attempt }: Pick<Word, 'messageId' | 'attempt'>): string {
  return `${messageId} ${attempt}`;
}

/** The service has confirmed a word that ends the attempt. */
function* ended(
  { id, state, attempts }: StoredMessage,
  number: number,
  counted: readonly Word[],
  arrivals: readonly Arrival[],
): Iterable<string> {
  const attempt = attempts[number - 1];
  const { kind } = counted[0]!;
  const outcome = kind === 'ok' ? 'answered' : 'rejected';
  if (attempt?.outcome !== outcome) yield `attempt ${number} of ${id} was acknowledged, but is ${attempt?.outcome}`;
  const isLast = attempts.length === number;
  if (state === 'cancelled' && isLast && attempt?.nextAt == null) {
    yield `${id} was cancelled during attempt ${number}, although this was acknowledged`;
  }
  if (kind === 'ok' && (!isLast || state !== 'delivered')) {
    yield `${id} is ${state} after ${attempts.length} attempts, although attempt ${number} was acknowledged`;
  }
  const at = Math.min(...counted.map((word) => word.at));
  const later = kind === 'ok' && arrivals.find((arrival) => arrival.at > at);
  if (later) yield `${id} arrived ${later.at - at} ms after its success was acknowledged`;
  if (!isLast && counted.some(({ kind, retry }) => kind === 'failed' && !retry) && attempt?.nextAt == null) {
    yield `${id} was tried again after its receiver wanted no retry`;
  }
}

function* extensions(name: string, said: readonly Word[]): Iterable<string> {
  for (const { reply, wantedAt, deadlineAt, latestAt } of said) {
    if (reply !== 'noted' || wantedAt === null) continue;
    const wanted = Math.min(wantedAt, latestAt!);
    if (deadlineAt! < wanted) yield `${name} was extended, and its deadline is ${wanted - deadlineAt!} ms too early`;
  }
}

function* ofAttempt({ id, state }: StoredMessage, attempt: StoredAttempt, said: readonly Word[]): Iterable<string> {
  const { number, outcome, status, endedAt } = attempt;
  const name = `attempt ${number} of ${id}`;
  // A word that met the cancel of its message is recorded with the attempt, and refused.
  const may = (kind: Word['kind']) =>
    said.some((word) => word.kind === kind && (word.reply !== 'gone' || state === 'cancelled'));
  if (outcome === 'answered' && status === 202 && !may('ok')) yield `${name} succeeded without an ack`;
  if (outcome === 'rejected' && !may('failed')) yield `${name} failed by an ack that nobody sent for it`;
  if (outcome !== 'noAck' || state === 'cancelled') return;
  const promised = Math.max(0, ...said.flatMap(({ deadlineAt = 0 }) => deadlineAt));
  if (endedAt < promised) yield `${name} was given up ${promised - endedAt} ms before its deadline`;
}

/** An attempt that awaits its ack is no node's: it ends by a word or by its deadline, and not before. */
export function* awaitedAcks({ history }: Evidence): Iterable<string> {
  const awaited = new Map<string, number>();
  for (const step of history.steps ?? []) {
    if (step.kind === 'awaiting') awaited.set(step.id, step.deadlineAt);
    if (step.kind === 'claimed' && awaited.has(step.id)) yield `${step.id} was claimed while its ack was awaited`;
    if (step.kind !== 'waits' && step.kind !== 'ended') continue;
    const deadlineAt = awaited.get(step.id);
    awaited.delete(step.id);
    const { end = null } = step;
    if (deadlineAt === undefined || end === null || step.how === 'cancelled') continue;
    if (end.outcome === 'interrupted') yield `${step.id} was cut off while its ack was awaited`;
    if (end.outcome === 'noAck' && end.at < deadlineAt) yield `${step.id} was given up before its ack was due`;
  }
}
