// Sorts every character of a TypeScript or JavaScript file into code, text (the inside of strings, templates and
// regular expressions) or comment, so that a rule can look at one of them and not stumble over the others.

/** Same length and same lines as the source; what does not belong to the view is a space. */
export interface SourceView {
  /** Without comments and without what stands between quotes; the quotes themselves stay. */
  readonly code: string;
  /** Without comments. */
  readonly codeAndText: string;
  readonly comments: string;
}

const CODE = 0;
const TEXT = 1;
const COMMENT = 2;

const COMMENT_PATTERN = /\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/y;
const STRING_PATTERN = /'(?:\\[\s\S]|[^'\\\n])*'|"(?:\\[\s\S]|[^"\\\n])*"/y;
const REGEX_PATTERN = /\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\[\n])+\/[a-z]*/y;
/** From behind a backquote, or behind the } of a ${…}, up to the next ${ or the closing backquote. */
const TEMPLATE_PATTERN = /(?:\\[\s\S]|\$(?!\{)|[^`\\$])*(?:`|\$\{|$)/y;

/** A slash behind a value divides; behind anything else it opens a regular expression. */
const ENDS_A_VALUE = /[\w$)\]}]\s*$/;
const ENDS_IN_KEYWORD = /\b(?:return|typeof|case|in|of|do|else|void|delete|instanceof|yield|await)\s*$/;

export function viewSource(source: string): SourceView {
  const kinds = classify(source);
  const view = (...kept: number[]) =>
    source
      .split('')
      .map((char, i) => (char === '\n' || kept.includes(kinds[i]!) ? char : ' '))
      .join('');
  return { code: view(CODE), codeAndText: view(CODE, TEXT), comments: view(COMMENT) };
}

function classify(source: string): Uint8Array {
  const kinds = new Uint8Array(source.length);
  /** One entry for every ${ we are inside of: how many { are open within it. */
  const openBraces: number[] = [];
  let at = source.startsWith('#!') ? source.indexOf('\n') : 0;
  kinds.fill(COMMENT, 0, Math.max(at, 0));

  const matchEnd = (pattern: RegExp, from: number): number | null => {
    pattern.lastIndex = from;
    return pattern.test(source) ? pattern.lastIndex : null;
  };
  const template = (from: number) => {
    const end = matchEnd(TEMPLATE_PATTERN, from) ?? source.length;
    const opens = source.slice(from, end).endsWith('${');
    kinds.fill(TEXT, from, end - (opens ? 2 : 1));
    if (opens) openBraces.push(0);
    return end;
  };

  while (at >= 0 && at < source.length) {
    const char = source[at]!;
    const commentEnd = char === '/' ? matchEnd(COMMENT_PATTERN, at) : null;
    const quotedEnd = char === "'" || char === '"' ? matchEnd(STRING_PATTERN, at) : null;
    if (commentEnd !== null) {
      kinds.fill(COMMENT, at, commentEnd);
      at = commentEnd;
    } else if (quotedEnd !== null) {
      kinds.fill(TEXT, at + 1, quotedEnd - 1);
      at = quotedEnd;
    } else if (char === '`') {
      at = template(at + 1);
    } else if (char === '}' && openBraces.at(-1) === 0) {
      openBraces.pop();
      at = template(at + 1);
    } else {
      if (char === '{' && openBraces.length > 0) openBraces.push(openBraces.pop()! + 1);
      if (char === '}' && openBraces.length > 0) openBraces.push(openBraces.pop()! - 1);
      const regexEnd = char === '/' && opensRegex(source, at) ? matchEnd(REGEX_PATTERN, at) : null;
      if (regexEnd !== null) kinds.fill(TEXT, at + 1, regexEnd);
      at = regexEnd ?? at + 1;
    }
  }
  return kinds;
}

function opensRegex(source: string, at: number): boolean {
  const before = source.slice(Math.max(0, at - 40), at);
  return !ENDS_A_VALUE.test(before) || ENDS_IN_KEYWORD.test(before);
}

export interface Import {
  readonly specifier: string;
  readonly isTypeOnly: boolean;
  readonly at: number;
}

const IMPORT_PATTERNS: readonly RegExp[] = [
  /\b(?:import|export)\b(?<type>\s+type\b)?[\w$\s{},*]*?\bfrom\s*(?<quote>['"])(?<inside> *)['"]/dg,
  /\bimport\s*\(?\s*(?<quote>['"])(?<inside> *)['"]/dg,
  /\bnew\s+URL\s*\(\s*(?<quote>['"])(?<inside> *)['"]\s*,\s*import\.meta\.url/dg,
];

/** Static and dynamic imports, re-exports, and the `new URL('…', import.meta.url)` that starts a worker. */
export function findImports(source: string, view: SourceView): Import[] {
  return IMPORT_PATTERNS.flatMap((pattern) =>
    [...view.code.matchAll(pattern)].map((match) => {
      const [start, end] = match.indices!.groups!.inside!;
      return {
        specifier: source.slice(start, end),
        isTypeOnly: match.groups!.type !== undefined,
        at: match.index,
      };
    }),
  );
}
