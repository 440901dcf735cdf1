// How often a node may notify the others of work or news. All notifications go through one lock in the database, and
// every node receives every one. So the total rate is limited: with more nodes, each one notifies less often.

/** A busy node sends a few dozen notifications a second, not one for every message. */
const EVERY_MS_MIN = 20;
/** News may be this late. Work is found without a notification after some seconds. */
const EVERY_MS_MAX = 1000;
/** The limit for all nodes together, for up to 100 nodes. */
const PER_SECOND_MAX = 100;

/** News alone can wait longer than work: nothing is done later because of it. */
const NEWS_EVERY_MS_MIN = 100;

/**
 * How many nodes are notified at once to look for work. If they find more than they take, each notifies as many again.
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
 * Which of the delivering nodes are notified to look for work, after `turn` of them were before; null for all of them.
 * Every look costs the database a transaction or two, and one node can take most of the work.
 */
export function nodesToNotify(deliverers: readonly string[], turn: number): readonly string[] | null {
  if (deliverers.length <= ASKED_MAX) return null;
  return Array.from({ length: ASKED_MAX }, (_, index) => deliverers[(turn + index) % deliverers.length]!);
}
