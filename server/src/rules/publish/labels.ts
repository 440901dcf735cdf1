// Parses the labels of a message, by which callers find the message again. The store applies label filters.

export const LABELS_MAX = 10;
export const LABEL_LENGTH_MAX = 128;

/** A label is ASCII only, because it comes in headers and query strings, which treat other characters differently. */
const NOT_IN_A_LABEL = /[^\x20-\x7e]/;

/** Returns the labels in the order given. Blanks around labels, empty labels and duplicates are dropped. */
export function parseLabels(text: string): string[] | { readonly problem: string } {
  const labels = new Set<string>();
  for (const part of text.split(',')) {
    const label = part.trim();
    if (label === '') continue;
    if (label.length > LABEL_LENGTH_MAX) {
      return { problem: `${shown(label)}… has ${label.length} characters; the limit is ${LABEL_LENGTH_MAX}` };
    }
    if (NOT_IN_A_LABEL.test(label)) return { problem: `${shown(label)} has a character that is not printable ASCII` };
    labels.add(label);
    // The number is checked inside the loop, so that a long list is refused as fast as a short one.
    if (labels.size > LABELS_MAX) return { problem: `has too many labels; the limit is ${LABELS_MAX}` };
  }
  return [...labels];
}

function shown(label: string): string {
  return JSON.stringify(label.slice(0, 40));
}
