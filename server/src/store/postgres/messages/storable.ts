// Makes a string that PostgreSQL can store as text: without U+0000 and lone surrogates.

const REPLACEMENT = '\ufffd';

/** For error texts, which may contain words of a remote server. */
export function storable(text: string): string {
  return text.toWellFormed().replaceAll('\0', REPLACEMENT);
}
