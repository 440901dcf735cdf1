// How often a node may tell the others that there is work or news. All who tell stand in one line in the database, and
// everybody hears everything: what they say together stays the same, however many they are.

/** A busy node says a few words a second, not one for every message. */
const EVERY_MS_MIN = 20;
/** News may be as late as this; work is looked for without being told after some seconds. */
const EVERY_MS_MAX = 1000;
/** Of all nodes together. */
const PER_SECOND_MAX = 100;

/** The time between two hints of a node, when so many are alive. */
export function hintEveryMs(nodes: number): number {
  return Math.min(EVERY_MS_MAX, Math.max(EVERY_MS_MIN, Math.ceil((nodes * 1000) / PER_SECOND_MAX)));
}
