// The labels a caller puts on a message, to find it again by them. What a filter does with them is the store's.

export const LABELS_MAX = 10;
export const LABEL_LENGTH_MAX = 128;

/** ASCII only: a label comes in headers and in query strings, and those two do not agree on any other character. */
const NOT_IN_A_LABEL = /[^\x20-\x7e]/;

/** In the order given; blanks around a label, empty ones and duplicates are dropped. */
export function parseLabels(text: string): string[] | { readonly problem: string } {
  const labels = new Set<string>();
  for (const part of text.split(',')) {
    const label = part.trim();
    if (label === '') continue;
    if (label.length > LABEL_LENGTH_MAX) {
      return { problem: `${shown(label)}… has ${label.length} characters; at most ${LABEL_LENGTH_MAX} are taken` };
    }
    if (NOT_IN_A_LABEL.test(label)) return { problem: `${shown(label)} has a character that is not printable ASCII` };
    labels.add(label);
    // Not counted to the end: a long text of them is refused as soon as a short one.
    if (labels.size > LABELS_MAX) return { problem: `more than ${LABELS_MAX} labels; at most ${LABELS_MAX} are taken` };
  }
  return [...labels];
}

function shown(label: string): string {
  return JSON.stringify(label.slice(0, 40));
}
