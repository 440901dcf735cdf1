// The code blocks of a page, and what can be said about a command without running it.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { sharedFlags } from '../../src/cli/frame/command-line.ts';
import { COMMAND_TABLE, SETTINGS_COMMANDS } from '../../src/cli/table/table.ts';
import { SETTING_KEYS, SETTINGS } from '../../src/config.ts';

export const ROOT = join(import.meta.dirname, '..', '..', '..');

export interface Block {
  readonly page: string;
  readonly line: number;
  readonly language: string;
  readonly text: string;
}

export function readPage(page: string): string {
  return readFileSync(join(ROOT, page), 'utf8');
}

export function blocksOf(page: string): Block[] {
  const blocks: Block[] = [];
  let open: { line: number; language: string; lines: string[] } | null = null;
  for (const [index, line] of readPage(page).split('\n').entries()) {
    const fence = /^ *```(\S*)$/.exec(line);
    if (fence && open === null) open = { line: index + 1, language: fence[1]!, lines: [] };
    else if (fence && open !== null) {
      blocks.push({ page, line: open.line, language: open.language, text: open.lines.join('\n') });
      open = null;
    } else open?.lines.push(line);
  }
  if (open !== null) throw new Error(`${page}:${open.line}: this block has no end`);
  return blocks;
}

/** The calls of our command in a text: each as its words. */
export function commandsIn(text: string): string[][] {
  const whole = text.replaceAll('\\\n', ' ');
  return [...whole.matchAll(/(?<![\w/.:@-])postrider ((?:[a-z][\w-]*|--?\w)[^\n`|;&']*)/g)].map(([, words]) =>
    words!
      .replace(/\s#.*$/, '')
      .trim()
      .split(/\s+/),
  );
}

/** What is wrong with a call: a command or a flag that does not exist. Null when nothing is. */
export function commandProblem(words: readonly string[]): string | null {
  const flags = words.filter((word) => /^--?[a-z]/.test(word)).map((word) => word.split('=')[0]!);
  const unknown = (known: ReadonlySet<string>) => flags.find((flag) => !known.has(flag)) ?? null;
  const settings = SETTINGS_COMMANDS.find(({ name }) => name === words[0]);
  if (settings) {
    const known = SETTING_KEYS.map((key) => SETTINGS[key]).filter(({ commands }) =>
      (commands as readonly string[]).includes(settings.name),
    );
    return unknown(new Set(['--help', ...known.map(({ flag }) => `--${flag}`)]));
  }
  const command =
    COMMAND_TABLE.find(({ name }) => name === words.slice(0, 2).join(' ')) ??
    COMMAND_TABLE.find(({ name }) => name === words[0]) ??
    COMMAND_TABLE.find(({ name, isDefault }) => isDefault && name.split(' ')[0] === words[0]);
  if (!command) return words[0] === 'help' ? null : `no command "${words.slice(0, 2).join(' ')}"`;
  const own = [...(command.flags ?? []), ...sharedFlags(command)];
  return unknown(new Set(['--help', ...own.flatMap(({ name, short }) => [`--${name}`, `-${short ?? name}`])]));
}

/** Tables that a blank line or a missing cell has broken, as `line: row`. */
export function brokenTables(page: string): string[] {
  const lines = readPage(page).split('\n');
  const cells = (row: string) => row.split(/(?<!\\)\|/).length;
  const broken: string[] = [];
  let head: string | null = null;
  let isCode = false;
  for (const [index, line] of lines.entries()) {
    if (/^ *```/.test(line)) isCode = !isCode;
    const isRow = !isCode && /^\|/.test(line);
    const isFirst = isRow && head === null;
    if (isFirst && !/^\|[\s:|-]+\|$/.test(lines[index + 1] ?? '')) broken.push(`${index + 1}: ${line}`);
    if (isRow && head !== null && cells(line) !== cells(head)) broken.push(`${index + 1}: ${line}`);
    head = isRow ? (head ?? line) : null;
  }
  return broken;
}
