// What PostgreSQL's text can hold of a text: all but U+0000 and halves of characters.

const REPLACEMENT = '\ufffd';

/** What went wrong may be told in a stranger's words. */
export function storable(text: string): string {
  return text.toWellFormed().replaceAll('\0', REPLACEMENT);
}
