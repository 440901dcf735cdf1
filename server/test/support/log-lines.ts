// Finds the lines that the service may write to its log, in the sources: each call that writes one, with its level, its
// text and the names of its fields.

import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type SourceView, viewSource } from '../tidy/source-view.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const LEVELS = 'debug|info|warn|error|fatal';
/** `log.warn(`, and `log('warn', ` where a part of the program is given a function. */
const CALLS = [
  new RegExp(String.raw`\blog\.(?<level>${LEVELS})\(`, 'g'),
  new RegExp(String.raw`(?:\blog|\bsay|\.log)\(\s*'(?<level>${LEVELS})',`, 'g'),
];

export interface LogLine {
  readonly file: string;
  readonly level: string;
  /** With `…` for what differs. Null when the call does not say it. */
  readonly text: string | null;
  /** The expression of a text that the call does not say. */
  readonly expression: string;
  readonly fields: readonly string[];
}

export function logLines(files = globSync(['server/src/**/*.ts', 'cli/src/service/*.ts'], { cwd: ROOT })): LogLine[] {
  return files.flatMap((file) => linesOf(file, readFileSync(join(ROOT, file), 'utf8')));
}

export function linesOf(file: string, source: string): LogLine[] {
  const view = viewSource(source);
  return CALLS.flatMap((pattern) =>
    [...view.codeAndText.matchAll(pattern)].flatMap((found) => {
      // In a text of its own, as in the examples of the documentation.
      if (view.code[found.index] !== found[0][0]) return [];
      const open = found.index + found[0].indexOf('(');
      const args = argumentsFrom(view, open);
      const text = args.at(-1)!;
      const fields = args.length > 1 ? fieldsOf(args.at(-2)!) : [];
      const level = found.groups!.level!;
      return textsOf(text, source).map((each) => ({ file, level, text: each, expression: text, fields }));
    }),
  );
}

/** The arguments of the call whose parenthesis is at `open`, as they are written. */
function argumentsFrom({ code, codeAndText }: SourceView, open: number): string[] {
  const starts = [open + 1];
  let depth = 0;
  for (let at = open; at < code.length; at += 1) {
    const char = code[at]!;
    if ('([{'.includes(char)) depth += 1;
    if (')]}'.includes(char)) depth -= 1;
    if (char === ',' && depth === 1) starts.push(at + 1);
    if (depth > 0) continue;
    return starts
      .map((start, index) => codeAndText.slice(start, (starts[index + 1] ?? at + 1) - 1).trim())
      .filter((arg) => arg !== '');
  }
  throw new Error('a call without an end');
}

/** The texts that an expression may have: both of a choice. Null for one that it does not say. */
function textsOf(expression: string, source: string): (string | null)[] {
  const { code } = viewSource(expression);
  const question = code.search(/[^?]\?[^?.]/) + 1;
  if (question > 0) {
    const colon = code.indexOf(' : ', question);
    return [expression.slice(question + 1, colon), expression.slice(colon + 3)].flatMap((each) =>
      textsOf(each, source),
    );
  }
  const [, named] = /^([A-Z][A-Z_]+)$/.exec(expression.trim()) ?? [];
  if (named !== undefined) {
    const [, value] = new RegExp(String.raw`const ${named} =\s*([^;]*);`).exec(source) ?? [];
    return value === undefined ? [null] : textsOf(value, source);
  }
  const parts = code
    .split('+')
    .map((part, index, all) =>
      expression.slice(all.slice(0, index).join('+').length + (index > 0 ? 1 : 0)).slice(0, part.length),
    );
  const texts = parts.map((part) => /^(['`])([\s\S]*)\1$/.exec(part.trim())?.[2]);
  if (texts.some((text) => text === undefined)) return [null];
  return [
    texts
      .join('')
      .replaceAll(/\$\{[^}]*\}/g, '…')

      .trim(),
  ];
}

function fieldsOf(expression: string): string[] {
  const { code } = viewSource(expression);
  if (!code.startsWith('{')) return [];
  let depth = 0;
  let flat = '';
  for (const char of code) {
    if (')]}'.includes(char)) depth -= 1;
    if (depth === 1) flat += char;
    if ('([{'.includes(char)) depth += 1;
  }
  return flat
    .split(',')
    .map((part) => /^\s*(\w+)\s*(?::|$)/.exec(part)?.[1])
    .filter((name) => name !== undefined);
}
