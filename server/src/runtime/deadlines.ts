// The deadlines of attempts. Deadlines of the same length are in one list, in order of arrival, so one timer serves all
// of them. Most attempts end long before their deadline, and a timer for each attempt would need an object and two
// closures.

import { Member, MemberList } from './collections/member-list.ts';
import type { Clock } from './world.ts';

export abstract class Timed extends Member {
  /** The deadline on the monotonic clock. */
  deadlineMs = 0;

  /** Called once at the deadline, unless the deadline was cancelled before. */
  abstract onDeadline(): void;
}

interface Line {
  readonly members: MemberList<Timed>;
  cancelTimer: () => void;
}

export class Deadlines {
  readonly #clock: Clock;
  /** The lists by length of the deadline. No list is empty. */
  readonly #lines = new Map<number, Line>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** How many timers run. */
  get timerCount(): number {
    return this.#lines.size;
  }

  start(member: Timed, ms: number): void {
    member.deadlineMs = this.#clock.monotonicMs() + ms;
    let line = this.#lines.get(ms);
    if (line === undefined) {
      line = { members: new MemberList(), cancelTimer: this.#clock.after(ms, () => this.#look(ms)) };
      this.#lines.set(ms, line);
    }
    line.members.add(member);
  }

  /** `ms` is the length with which the deadline was started. */
  cancel(member: Timed, ms: number): void {
    member.leave();
    const line = this.#lines.get(ms);
    if (line === undefined || line.members.first !== null) return;
    this.#lines.delete(ms);
    line.cancelTimer();
  }

  #look(ms: number): void {
    const line = this.#lines.get(ms)!;
    const nowMs = this.#clock.monotonicMs();
    try {
      for (let first = line.members.first; first !== null && first.deadlineMs <= nowMs; first = line.members.first) {
        first.leave();
        first.onDeadline();
      }
    } finally {
      const { first } = line.members;
      if (first !== null) line.cancelTimer = this.#clock.after(first.deadlineMs - nowMs, () => this.#look(ms));
      else if (this.#lines.get(ms) === line) this.#lines.delete(ms);
    }
  }
}
