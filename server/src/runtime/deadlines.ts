// The deadlines of attempts. Deadlines of the same length are in one list, in the order in which they expire, so one
// timer serves all of them. A timer for each attempt would need an object and two closures, although most attempts end
// long before their deadline.

import { Member, MemberList } from './collections/member-list.ts';
import type { Clock } from './world.ts';

export abstract class DeadlineMember extends Member {
  /** The deadline on the monotonic clock. */
  deadlineMs = 0;

  /** Called once at the deadline, unless the deadline was cancelled before. */
  abstract onDeadline(): void;
}

interface Line {
  readonly members: MemberList<DeadlineMember>;
  cancelTimer: () => void;
}

export class Deadlines {
  readonly #clock: Clock;
  /** For each length of a deadline, in milliseconds, the deadlines that have not expired. No list is empty. */
  readonly #lines = new Map<number, Line>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** How many timers run. */
  get timerCount(): number {
    return this.#lines.size;
  }

  start(member: DeadlineMember, ms: number): void {
    member.deadlineMs = this.#clock.monotonicMs() + ms;
    let line = this.#lines.get(ms);
    if (line === undefined) {
      line = { members: new MemberList(), cancelTimer: this.#clock.after(ms, () => this.#look(ms)) };
      this.#lines.set(ms, line);
    }
    line.members.add(member);
  }

  /** `ms` is the length with which the deadline was started. */
  cancel(member: DeadlineMember, ms: number): void {
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
