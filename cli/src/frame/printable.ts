// Makes foreign text safe for a terminal: a message, a URL or a response may contain anything, and a terminal obeys
// control characters.

/** Control characters, and those that change the direction of text or break lines. */
const UNSAFE =
  /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

const NAMED: ReadonlyMap<string, string> = new Map([
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
]);

/** The text as one line that is safe for a terminal. */
export function printable(text: string): string {
  return text.replace(UNSAFE, (character) => NAMED.get(character) ?? escaped(character));
}

/** The text made safe for a terminal. Line breaks and tabs stay. */
export function printableLines(text: string): string {
  return text.replace(UNSAFE, (character) =>
    character === '\n' || character === '\t' ? character : escaped(character),
  );
}

/** JSON that is safe for a terminal: the same value, without characters that a terminal obeys. */
export function safeJson(value: unknown, indent?: number): string {
  return JSON.stringify(value, null, indent).replace(UNSAFE, (character) =>
    character === '\n' ? character : escaped(character),
  );
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

const WIDE =
  /^[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1f64f}\u{1f900}-\u{1f9ff}\u{20000}-\u{3fffd}]/u;
const COMBINING = /^\p{M}/u;

/** How many columns of a terminal the text takes. */
export function widthOf(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  let width = 0;
  for (const character of text) {
    if (COMBINING.test(character) || character === '\u200d' || character === '\ufe0f') continue;
    width += WIDE.test(character) ? 2 : 1;
  }
  return width;
}

/** The start of a text that is too wide, followed by an ellipsis. */
export function cutTo(text: string, widthMax: number): string {
  if (widthOf(text) <= widthMax) return text;
  let kept = '';
  for (const character of text) {
    if (widthOf(kept + character) > widthMax - 1) break;
    kept += character;
  }
  return `${kept}…`;
}
