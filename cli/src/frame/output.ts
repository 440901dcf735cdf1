// Writes the output of a command: tables and sentences for people, JSON for programs. Results go to standard output,
// everything else to standard error.

import type { Failure } from './failure.ts';
import { printable, printableLines, safeJson } from './printable.ts';
import { type Column, factsText, tableText } from './table-text.ts';
import type { Io } from './terminal.ts';

type Colour = 'red' | 'green' | 'yellow' | 'dim' | 'bold';

const CODES: Readonly<Record<Colour, readonly [on: number, off: number]>> = {
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  dim: [2, 22],
  bold: [1, 22],
};

const COLUMNS_ASSUMED = 100;

/** A number with its noun: `1 queue`, `2 queues`. `more` is a text after the number, such as ` or more`. */
export const countOf = (number: number, what: string, more = '') =>
  `${number}${more} ${what}${number === 1 ? '' : 's'}`;

export interface OutputOptions {
  readonly isJson: boolean;
  readonly isPlain: boolean;
  readonly isQuiet: boolean;
}

export class Output {
  readonly isJson: boolean;
  /** Whether standard output is a terminal. */
  readonly isTerminal: boolean;
  readonly #io: Io;
  readonly #isQuiet: boolean;
  readonly #isColoured: boolean;

  constructor(io: Io, { isJson, isPlain, isQuiet }: OutputOptions) {
    this.#io = io;
    this.isJson = isJson;
    this.#isQuiet = isQuiet;
    this.isTerminal = io.stdout.isTTY === true;
    // NO_COLOR counts when it is set to anything but an empty text (no-color.org).
    this.#isColoured = this.isTerminal && !isPlain && !io.env.NO_COLOR && io.env.TERM !== 'dumb';
  }

  /** Writes one JSON document. It is indented on a terminal, where a person reads it. */
  json(value: unknown): void {
    this.#io.stdout.write(`${safeJson(value, this.isTerminal ? 2 : undefined)}\n`);
  }

  /** Writes the result of a command: a JSON document for programs, a line of our own text for people. */
  result(value: unknown, text: string): void {
    if (this.isJson) this.json(value);
    else this.line(text);
  }

  /** Writes the result of a command as a list: JSON, or a table. For an empty list, people get the text `ifNone`. */
  list<T>(entries: readonly T[], ifNone: string, columns: readonly Column[], rowOf: (entry: T) => string[]): void {
    if (this.isJson) this.json(entries);
    else if (entries.length === 0) this.note(ifNone);
    else this.table(columns, entries.map(rowOf));
  }

  /** Writes one line of NDJSON. Waits while the reader is behind. */
  async record(value: unknown): Promise<void> {
    if (!this.#io.stdout.write(`${safeJson(value)}\n`)) await this.#io.stdout.drained();
  }

  /** Writes a line of this program's own text. Text from elsewhere must have passed `printable`. */
  line(text = ''): void {
    this.#io.stdout.write(`${text}\n`);
  }

  /** Writes a line of a stream. Waits while the reader is behind. */
  async streamed(text: string): Promise<void> {
    if (!this.#io.stdout.write(`${text}\n`)) await this.#io.stdout.drained();
  }

  /** Writes bytes unchanged. */
  async raw(data: Uint8Array): Promise<void> {
    if (!this.#io.stdout.write(data)) await this.#io.stdout.drained();
  }

  table(columns: readonly Column[], rows: readonly (readonly string[])[]): void {
    const { lines, leftOut } = tableText(columns, rows, this.width, (padded, state) => this.state(state, padded));
    const [head, ...rest] = lines;
    this.line(this.paint('bold', head!));
    for (const line of rest) this.line(line);
    if (leftOut.length > 0)
      this.note(`The window is too narrow for ${leftOut.join(', ')}: use a wider window, or --json, to see them.`);
  }

  /** The width of the terminal in columns. Null if the output is not a terminal. */
  get width(): number | null {
    // Some terminals report a width of 0.
    return this.isTerminal ? this.#io.stdout.columns || COLUMNS_ASSUMED : null;
  }

  facts(facts: readonly (readonly [name: string, value: string | null | undefined])[]): void {
    for (const line of factsText(facts)) this.line(line);
  }

  /** Tells people, beside the result, what was done or what comes next. Writes nothing with --json or --quiet. */
  note(text: string): void {
    if (!this.isJson && !this.#isQuiet) this.#io.stderr.write(`${printableLines(text)}\n`);
  }

  /** Writes what a person must see even when a program reads the result. */
  warn(text: string): void {
    this.#io.stderr.write(`postrider: ${printableLines(text)}\n`);
  }

  fail(command: string, failure: Failure): void {
    const { message, hint, code, status, exit } = failure;
    if (this.isJson) {
      const error = { message, ...(hint && { hint }), ...(code && { code }), ...(status && { status }), exit };
      this.#io.stderr.write(`${safeJson({ error })}\n`);
      return;
    }
    const name = command === '' ? 'postrider' : `postrider ${command}`;
    this.#io.stderr.write(`${name}: ${printableLines(message)}\n`);
    if (hint) this.#io.stderr.write(`  ${printableLines(hint)}\n`);
  }

  /** A state in its colour. `padded` is the state with the spaces that align it in a table. */
  state(state: string, padded = state): string {
    const text = printable(padded);
    if (/^(?:DELIVERED|SUCCESS|ok)$/.test(state)) return this.paint('green', text);
    if (/^(?:FAILED|ERROR|FAIL|HELD|wrong)$/.test(state)) return this.paint('red', text);
    return /^(?:RETRY|CANCEL|warning)/.test(state) ? this.paint('yellow', text) : text;
  }

  paint(colour: Colour, text: string): string {
    if (!this.#isColoured) return text;
    const [on, off] = CODES[colour];
    return `\u001b[${on}m${text}\u001b[${off}m`;
  }
}
