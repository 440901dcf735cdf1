// How often a node may notify other nodes: of work (messages that may be due) or of news (events for live streams). All
// notifications go through one lock in the database, and every node receives every one. So the total rate is limited:
// with more nodes, each node notifies less often.

/** The shortest time between two notifications: a busy node sends a few dozen a second, not one for every message. */
const EVERY_MS_MIN = 20;
/** The longest time between two notifications. News may be as late; work is found after a few seconds without any. */
const EVERY_MS_MAX = 1000;
/** Limit for the notifications of all nodes together in a second. It holds for up to 100 nodes. */
const PER_SECOND_MAX = 100;

/** The shortest time between two notifications of news alone. No work waits for news, so it can be later than work. */
const NEWS_EVERY_MS_MIN = 100;

/**
 * How many nodes are notified at once to look for work. A node that finds more work than it takes notifies this many
 * nodes again.
 */
const ASKED_MAX = 2;

/** The time between two notifications of a node, for this number of live nodes. */
export function hintEveryMs(nodes: number): number {
  return Math.min(EVERY_MS_MAX, Math.max(EVERY_MS_MIN, (nodes * 1000) / PER_SECOND_MAX));
}

/** The time between two notifications of a node, if they report only news. */
export function newsEveryMs(nodes: number): number {
  return Math.max(NEWS_EVERY_MS_MIN, hintEveryMs(nodes));
}

/**
 * The delivering nodes that are notified next to look for work; null: all. They are notified in turn, and `turn` counts
 * those that were notified before. Not all are notified, because every look costs the database a transaction or two,
 * and one node can take most of the work.
 */
export function nodesToNotify(deliverers: readonly string[], turn: number): readonly string[] | null {
  if (deliverers.length <= ASKED_MAX) return null;
  return Array.from({ length: ASKED_MAX }, (_, index) => deliverers[(turn + index) % deliverers.length]!);
}
