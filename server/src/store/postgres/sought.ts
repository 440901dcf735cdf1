// Texts to look something up by. They come from outside and may hold U+0000, which no text of PostgreSQL can hold:
// nothing is stored under such a text, and to ask for it must be no error.

/** As a parameter: what equals null is nothing. */
export function sought(text: string): string | null {
  return text.includes('\0') ? null : text;
}

/** Each once. */
export function soughtAll(texts: readonly string[]): string[] {
  return [...new Set(texts)].filter((text) => sought(text) !== null);
}
