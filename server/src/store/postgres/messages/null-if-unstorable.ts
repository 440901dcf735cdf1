// Strings from outside, used for lookups. They may contain U+0000, which PostgreSQL cannot store in text. Nothing is
// stored under such a string, and a lookup by it must not be an error.

/** For a parameter: a comparison with null matches nothing. */
export function nullIfUnstorable(text: string): string | null {
  return text.includes('\0') ? null : text;
}

/** The strings that can be stored, without duplicates. */
export function nullEachUnstorable(texts: readonly string[]): string[] {
  return [...new Set(texts)].filter((text) => nullIfUnstorable(text) !== null);
}
