// Strings from outside may contain U+0000 and lone surrogates, which PostgreSQL cannot store in text. An error text is
// stored without these characters. No name with them is stored, and a lookup by such a name must not fail.

const REPLACEMENT = '\ufffd';

/** For error texts, which may contain words of a remote server. */
export function storable(text: string): string {
  return text.toWellFormed().replaceAll('\0', REPLACEMENT);
}

/** For a parameter: a comparison with null matches nothing. */
export function nullIfUnstorable(text: string): string | null {
  return text.includes('\0') ? null : text;
}

/** The strings that can be stored, without duplicates. */
export function nullEachUnstorable(texts: readonly string[]): string[] {
  return [...new Set(texts)].filter((text) => nullIfUnstorable(text) !== null);
}
