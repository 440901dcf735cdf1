// Schedules, by what the store did: a tick is at a time that the schedule names, runs once on any number of nodes and makes
// one message, from the schedule as it then is; with `skip` none is made while a message of an earlier one is open, and only
// then is one skipped; its message is due later by its jitter at most; and no change of a schedule loses its history.

import type { Evidence } from './evidence.ts';
import type { History, StoredSchedule } from './history.ts';
import type { ScheduleStep, TickStep } from './step.ts';

class Schedule {
  readonly id: string;
  readonly createdAt: number;
  #now: ScheduleStep;
  #version = 0;
  #skipped = 0;
  #last: TickStep | null = null;
  readonly #ticksAt = new Set<number>();

  constructor(step: ScheduleStep) {
    this.id = step.scheduleId;
    this.createdAt = step.createdAt;
    this.#now = step;
  }

  change(step: ScheduleStep): void {
    this.#version += 1;
    this.#now = step;
  }

  pause(isPaused: boolean): void {
    if (isPaused === this.#now.isPaused) return;
    this.change({ ...this.#now, isPaused });
  }

  *tick(step: TickStep, openIds: readonly string[], mayRepeat: boolean): Iterable<string> {
    const { tickAt, result, messages, version } = step;
    const { everyMs, offsetMs, overlap, jitterMs, isPaused } = this.#now;
    const what = `${this.id}: its tick at ${tickAt}`;
    const fromAt = offsetMs ?? Math.floor(this.createdAt / 1000) * 1000;
    if ((tickAt - fromAt) % everyMs !== 0) yield `${what} is at no time that it names`;
    if (this.#ticksAt.has(tickAt) && !mayRepeat) yield `${what} ran twice`;
    if (version !== this.#version) yield `${what} was made from version ${version}, and it has ${this.#version}`;
    if (isPaused) yield `${what} ran while it is paused`;
    this.#ticksAt.add(tickAt);
    const isSkip = overlap === 'skip' && openIds.length > 0;
    if (isSkip !== (result === 'skipped')) {
      yield `${what} is ${result}, and of those before ${openIds.length === 0 ? 'none' : openIds} is open`;
    }
    if (result === 'skipped') {
      this.#skipped += 1;
      return;
    }
    this.#last = step;
    if (messages.length !== 1) yield `${what} made ${messages.length} messages`;
    for (const { id, laterMs } of messages) {
      if (laterMs < 0 || laterMs > jitterMs)
        yield `${what}: ${id} is due ${laterMs} ms later, at most ${jitterMs} are allowed`;
    }
  }

  *end({ createdAt, skippedCount, lastMessageIds }: StoredSchedule): Iterable<string> {
    if (createdAt !== this.createdAt) yield `${this.id} was created at ${this.createdAt}, and says ${createdAt}`;
    if (skippedCount !== this.#skipped) yield `${this.id} has skipped ${this.#skipped} ticks, and says ${skippedCount}`;
    const last = this.#last?.messages.map(({ id }) => id) ?? [];
    if (`${lastMessageIds}` !== `${last}`) yield `${this.id} made ${last} last, and says ${lastMessageIds}`;
  }
}

export function* schedules({ history }: Evidence): Iterable<string> {
  const all = new Map<string, Schedule>();
  const openOf = new Map<string, Set<string>>();
  const scheduleOf = new Map<string, string>();
  const made = new Map<string, number>();
  let isSetBack = false;
  for (const step of history.steps ?? []) {
    if (step.kind === 'schedule') {
      const known = all.get(step.scheduleId);
      if (known) known.change(step);
      else all.set(step.scheduleId, new Schedule(step));
    } else if (step.kind === 'schedulePaused') all.get(step.scheduleId)?.pause(step.isPaused);
    else if (step.kind === 'clockSetBack') isSetBack = true;
    else if (step.kind === 'tick') {
      const { scheduleId, tickAt, messages } = step;
      const open = openOf.get(scheduleId) ?? new Set();
      openOf.set(scheduleId, open);
      yield* all.get(scheduleId)?.tick(step, [...open], isSetBack) ?? [`${scheduleId} ticks, and nobody made it`];
      for (const { id } of messages) {
        open.add(id);
        scheduleOf.set(id, scheduleId);
      }
      const tick = `${scheduleId} ${tickAt}`;
      made.set(tick, (made.get(tick) ?? 0) + messages.length);
    } else if (step.kind === 'ended') openOf.get(scheduleOf.get(step.id) ?? '')?.delete(step.id);
  }
  for (const stored of history.schedules ?? []) yield* all.get(stored.id)?.end(stored) ?? [];
  yield* messagesOfTicks(history, made);
}

/** What the store has of each tick in the end, by the header that its messages bear. */
function* messagesOfTicks({ stored, tickHeader }: History, made: ReadonlyMap<string, number>): Iterable<string> {
  if (tickHeader === undefined) return;
  const found = Map.groupBy(
    stored.filter(({ kind }) => kind === 'schedule'),
    ({ headers }) => headers.find(([name]) => name === tickHeader)?.[1] ?? 'none',
  );
  for (const tick of new Set([...found.keys(), ...made.keys()])) {
    const [count, wanted] = [found.get(tick)?.length ?? 0, made.get(tick) ?? 0];
    if (count !== wanted) yield `the tick ${tick} has ${count} messages, and made ${wanted}`;
  }
}
