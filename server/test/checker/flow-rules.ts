// Flow control, by what the store did: never more attempts of a key under way than its parallelism, never more starts in a
// period than its rate, no period before the one before it is over, and no start while the key is paused.

import type { Evidence } from './evidence.ts';
import type { ClaimedStep, FlowLimits } from './step.ts';

/** As docs/decisions/0023-rates-and-uneven-clocks.md has it. */
const CLOCK_STEP_MS = 10_000;

class Key {
  readonly name: string;
  /** The loosest that a message of it has asked for: which of them is in force the store decides. */
  #asked: FlowLimits | null = null;
  #pinned: number | null = null;
  #isPaused = false;
  readonly #underWay = new Set<string>();
  /** The starts of each period, without those that were taken back. */
  readonly #periods = new Map<number, Set<ClaimedStep>>();
  readonly #lastClaim = new Map<string, ClaimedStep>();

  constructor(name: string) {
    this.name = name;
  }

  ask({ parallelism, rate, periodMs }: FlowLimits): void {
    const before = this.#asked ?? { parallelism, rate, periodMs };
    this.#asked = {
      parallelism: looser(before.parallelism, parallelism),
      rate: looser(before.rate, rate),
      periodMs: Math.min(before.periodMs, periodMs),
    };
  }

  pin(parallelism: number): void {
    this.#pinned = parallelism;
  }

  pause(isPaused: boolean): void {
    this.#isPaused = isPaused;
  }

  *claim(step: ClaimedStep): Iterable<string> {
    const { id, periodStartAt } = step;
    const { parallelism, rate } = this.#asked!;
    this.#underWay.add(id);
    this.#lastClaim.set(id, step);
    if (this.#isPaused) yield `${this.name} is paused and started ${id}`;
    const most = this.#pinned ?? parallelism ?? Number.POSITIVE_INFINITY;
    if (this.#underWay.size > most) {
      yield `${this.name}: with ${id} there are ${this.#underWay.size} under way, ${most} are allowed`;
    }
    if (rate === null || periodStartAt === null) return;
    const starts = this.#periods.get(periodStartAt) ?? new Set();
    starts.add(step);
    if (!this.#periods.has(periodStartAt)) yield* this.#checkGap(periodStartAt);
    this.#periods.set(periodStartAt, starts);
    if (starts.size > rate) {
      yield `${this.name}: ${id} is start ${starts.size} of the period from ${periodStartAt}, ${rate} are allowed`;
    }
  }

  /** Whoever was frozen on its way to the store moves the period back, if its time is older than clocks may differ. */
  accept(at: number): void {
    if (at < Math.max(...this.#periods.keys()) - CLOCK_STEP_MS) this.#periods.clear();
  }

  release(id: string, hasBegun: boolean): void {
    this.#underWay.delete(id);
    const claim = this.#lastClaim.get(id);
    if (claim && !hasBegun) this.#periods.get(claim.periodStartAt ?? 0)?.delete(claim);
  }

  *#checkGap(startAt: number): Iterable<string> {
    for (const [other, starts] of this.#periods) {
      // One whose starts were all taken back begins anew with the next start.
      if (starts.size === 0) continue;
      const gapMs = Math.abs(startAt - other);
      if (gapMs < this.#asked!.periodMs) yield `${this.name}: a period began ${gapMs} ms after another`;
    }
  }
}

export function* flowKeys({ history }: Evidence): Iterable<string> {
  const keys = new Map<string, Key>();
  const keyOf = new Map<string, Key>();
  const named = (name: string) => {
    const key = keys.get(name) ?? new Key(name);
    keys.set(name, key);
    return key;
  };
  for (const step of history.steps ?? []) {
    if (step.kind === 'accepted' && step.flow) {
      const key = named(step.flow.key);
      key.ask(step.flow);
      key.accept(step.at);
      keyOf.set(step.id, key);
    } else if (step.kind === 'claimed') yield* keyOf.get(step.id)?.claim(step) ?? [];
    else if (step.kind === 'waits') keyOf.get(step.id)?.release(step.id, step.hasBegun);
    else if (step.kind === 'ended') keyOf.get(step.id)?.release(step.id, true);
    else if (step.kind === 'flowPinned') named(step.key).pin(step.parallelism);
    else if (step.kind === 'flowPaused') named(step.key).pause(step.isPaused);
  }
}

function looser(one: number | null, other: number | null): number | null {
  return one === null || other === null ? null : Math.max(one, other);
}
