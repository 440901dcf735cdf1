// The priority of a message decides its order among the ready messages of its account to the same host. The level of a
// waiting message rises, so that others overtake it for a limited time only.

export const PRIORITY_DEFAULT = 5;
export const PRIORITY_MAX = 9;

/** The time in which the level of a waiting message rises by one. */
const LEVEL_MS = 60_000;

/**
 * How long before its due time a message counts as due in the order of ready messages; negative: after it. All levels
 * rise equally fast, so two messages keep their order while they wait, and the order can be stored.
 */
export function aheadMs(priority: number): number {
  return (priority - PRIORITY_DEFAULT) * LEVEL_MS;
}

/** The inverse of `aheadMs`. */
export function priorityOf(ahead: number): number {
  return ahead / LEVEL_MS + PRIORITY_DEFAULT;
}

/** The level of a ready message now. Of two messages, the one with the higher level starts first. */
export function levelAt(priority: number | null, dueAt: number, now: number): number {
  return (priority ?? PRIORITY_DEFAULT) + Math.max(0, Math.floor((now - dueAt) / LEVEL_MS));
}

/** The level as text for people; null if the message has the default priority. */
export function levelText(priority: number | null, dueAt: number, now: number): string | null {
  if (priority === null) return null;
  const level = levelAt(priority, dueAt, now);
  return level === priority
    ? `its priority is ${priority}`
    : `its priority is ${priority}, and has risen to ${level} while it waited`;
}
