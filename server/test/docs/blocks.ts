// The code blocks of a page, and what can be said about a command without running it.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArguments } from '../../../cli/src/frame/arguments.ts';
import { isTokenCreatedInStore } from '../../../cli/src/frame/store-or-service.ts';
import { sharedFlags } from '../../../cli/src/table/flags.ts';
import { COMMAND_TABLE, SETTINGS_COMMANDS } from '../../../cli/src/table/table.ts';
import { COMMANDS, parseConfig, SETTING_KEYS, SETTINGS } from '../../src/node/settings/config.ts';

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

/** A call of our command in a block for a shell, with the variables before it. */
export interface Call {
  readonly words: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** What may stand before our command in a line: it runs what comes after it. */
const RUNS_IT = /^(?:npx|source|sudo(?: -u \w+)?|docker exec \S+|docker compose .* exec \S+|kubectl exec \S+ --)$/;

/** The calls in a block for a shell, with their words as the shell splits them. */
export function callsIn(text: string): Call[] {
  return simpleCommands(text).flatMap((words) => {
    const start = words.findIndex((word) => !/^\w+=/.test(word));
    const env = Object.fromEntries(words.slice(0, Math.max(start, 0)).map((word) => word.split(/=(.*)/s).slice(0, 2)));
    const rest = words.slice(start);
    const at = rest.findIndex(
      (word, index) => word === 'postrider' && (index === 0 || RUNS_IT.test(rest.slice(0, index).join(' '))),
    );
    return at === -1 ? [] : [{ words: rest.slice(at + 1), env: env as Record<string, string> }];
  });
}

/** The words of each command of a list or a pipe, without quotes, comments and redirections. */
export function simpleCommands(text: string): string[][] {
  const found: string[][] = [[]];
  const joined = text.replaceAll('\\\n', ' ').replaceAll(/(^|\s)#.*/g, '$1');
  const word = /(?:'[^']*'|"[^"]*"|\\.|\$\([^)]*\)|[^\s|&;()<>'"\\])+/.source;
  const tokens = new RegExp(`[<>]+\\s*${word}|[<>]*[|&;()\\n]+|${word}`, 'g');
  for (const [token] of joined.matchAll(tokens)) {
    if (/^[<>]*[|&;()\n]/.test(token)) found.push([]);
    else if (!/^[<>]/.test(token)) found.at(-1)!.push(unquoted(token));
  }
  return found.filter((words) => words.length > 0);
}

function unquoted(word: string): string {
  return word.replaceAll(/'([^']*)'|"([^"]*)"|\\(.)/g, (_, single = '', double = '', escaped = '') => {
    return single + double.replaceAll(/\\(["$\\])/g, '$1') + escaped;
  });
}

/** What the program says to a call before it does anything. Null when it takes the call. */
export function callProblem({ words, env }: Call): string | null {
  const named = COMMANDS.find((each) => each === words[0] || each === words.slice(0, 2).join(' '));
  const isOfStore = named !== 'token create' || isTokenCreatedInStore(words, env);
  if (named && isOfStore) {
    const parsed = parseConfig(named, words.slice(named.split(' ').length), env);
    return 'problems' in parsed ? parsed.problems.join('; ') : null;
  }
  const spec = commandOf(words);
  if (!spec) return words[0] === 'help' ? null : `no command "${words.slice(0, 2).join(' ')}"`;
  const isPair = spec.name === words.slice(0, 2).join(' ');
  const shape = { arguments: spec.arguments ?? [], flags: [...(spec.flags ?? []), ...sharedFlags(spec)] };
  const parsed = parseArguments(shape, words.slice(isPair ? 2 : 1), Date.UTC(2026, 0, 1));
  return 'problems' in parsed ? parsed.problems.join('; ') : null;
}

function commandOf(words: readonly string[]) {
  return (
    COMMAND_TABLE.find(({ name }) => name === words.slice(0, 2).join(' ')) ??
    COMMAND_TABLE.find(({ name }) => name === words[0]) ??
    COMMAND_TABLE.find(({ name, isDefault }) => isDefault && name.split(' ')[0] === words[0])
  );
}

/** The calls of our command that the prose of a page names between backticks: each as its words. */
export function commandsIn(text: string): string[][] {
  const prose = text.replaceAll(/^ *```[\s\S]*?^ *```$/gm, '');
  return [...prose.matchAll(/`(?:npx )?postrider ((?:[a-z][\w-]*|--?\w)[^`|;&']*)/g)].map(([, words]) =>
    words!.trim().split(/\s+/),
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
  const command = commandOf(words);
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
