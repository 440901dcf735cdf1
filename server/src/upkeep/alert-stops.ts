// When a manual clock stops to evaluate alerts. Each stop costs time, and without alerts there would be none, so it
// stops only where the result may differ from the last one.

/** A manual clock stops at each of these moments, so there are fewer than in a running service. */
export const EVALUATED_BY_HAND_EVERY_MS = 60_000;

export class AlertStops {
  #plannedAt: number | null = null;
  /** Alerts that are due until then get their stop. */
  #changingUntil = Number.NEGATIVE_INFINITY;

  /** A run that was not planned was woken: something has happened, and may still happen at this moment. */
  begin(now: number): void {
    if (this.#plannedAt === null || now < this.#plannedAt) this.noteChange(now);
    this.#plannedAt = null;
  }

  /** From now on every alert is evaluated at least once more. */
  noteChange(now: number): void {
    this.#changingUntil = now + EVALUATED_BY_HAND_EVERY_MS;
  }

  /** The next run is wanted at this time. */
  plan(at: number): void {
    this.#plannedAt = at;
  }

  isNeededAt(at: number): boolean {
    return at <= this.#changingUntil;
  }
}
