// The `Retry-Delay` expression: arithmetic in milliseconds over `retried`, read by our own parser and never by `eval`.
// The same parser checks it at accept and evaluates it before each retry, so there is no compiled form to store and no
// cache to bound.

import { backoffMs, RETRY_WAIT_MS_MAX } from './backoff.ts';

export interface RetryDelay {
  readonly expression: string;
  /** The value of the expression, neither limited nor rounded. It may be NaN. */
  readonly evaluate: (retried: number) => number;
}

export const RETRY_DELAY_LENGTH_MAX = 256;
export const RETRY_DELAY_DEPTH_MAX = 32;

type Evaluate = RetryDelay['evaluate'];

type MathFunction = readonly [apply: (...args: number[]) => number, argsMin: number, argsMax: number];

const FUNCTIONS: ReadonlyMap<string, MathFunction> = new Map<string, MathFunction>([
  ['pow', [Math.pow, 2, 2]],
  ['exp', [Math.exp, 1, 1]],
  ['sqrt', [Math.sqrt, 1, 1]],
  ['abs', [Math.abs, 1, 1]],
  ['floor', [Math.floor, 1, 1]],
  ['ceil', [Math.ceil, 1, 1]],
  ['round', [Math.round, 1, 1]],
  ['min', [Math.min, 1, Number.POSITIVE_INFINITY]],
  ['max', [Math.max, 1, Number.POSITIVE_INFINITY]],
]);

export function parseRetryDelay(text: string): RetryDelay | { readonly problem: string } {
  if (text.length > RETRY_DELAY_LENGTH_MAX) {
    return { problem: `the expression has ${text.length} characters; the limit is ${RETRY_DELAY_LENGTH_MAX}` };
  }
  const parser = new Parser(text);
  const evaluate = parser.parseWhole();
  return parser.problem === null ? { expression: text.trim(), evaluate } : { problem: parser.problem };
}

/**
 * The wait before the next attempt. If the value is not a number (0/0, sqrt(-1)), the built-in backoff is used instead,
 * and also for an expression that an older version has accepted and this one does not.
 */
export function retryDelayMs(expression: string, retried: number): number {
  const parsed = parseRetryDelay(expression);
  const ms = 'problem' in parsed ? Number.NaN : parsed.evaluate(retried);
  if (Number.isNaN(ms)) return backoffMs(retried);
  if (ms <= 0) return 0;
  return Math.ceil(Math.min(RETRY_WAIT_MS_MAX, ms));
}

/**
 * A recursive-descent parser. The first error is kept and moves the parser to the end of the text, where every method
 * stops because it finds no more input. So no method checks for errors of those it called, and nothing is thrown.
 */
class Parser {
  problem: string | null = null;
  private readonly text: string;
  private at = 0;

  constructor(text: string) {
    this.text = text;
  }

  parseWhole(): Evaluate {
    if (this.next() === '') return this.fail('the expression is empty');
    const whole = this.parseSum(0);
    if (this.next() !== '') return this.fail(`unexpected ${this.found()}`);
    return whole;
  }

  private parseSum(depth: number): Evaluate {
    let sum = this.parseProduct(depth);
    for (;;) {
      const left = sum;
      if (this.take('+')) {
        const right = this.parseProduct(depth);
        sum = (retried) => left(retried) + right(retried);
      } else if (this.take('-')) {
        const right = this.parseProduct(depth);
        sum = (retried) => left(retried) - right(retried);
      } else return sum;
    }
  }

  private parseProduct(depth: number): Evaluate {
    let product = this.parseFactor(depth);
    for (;;) {
      const left = product;
      if (this.take('*')) {
        const right = this.parseFactor(depth);
        product = (retried) => left(retried) * right(retried);
      } else if (this.take('/')) {
        const right = this.parseFactor(depth);
        product = (retried) => left(retried) / right(retried);
      } else return product;
    }
  }

  private parseFactor(depth: number): Evaluate {
    if (depth > RETRY_DELAY_DEPTH_MAX) return this.fail(`nested more than ${RETRY_DELAY_DEPTH_MAX} deep`);
    if (this.take('-')) {
      const negated = this.parseFactor(depth + 1);
      return (retried) => -negated(retried);
    }
    if (this.take('(')) {
      const inner = this.parseSum(depth + 1);
      return this.take(')') ? inner : this.fail(`")" expected, not ${this.found()}`);
    }
    const number = this.match(/\d+(?:\.\d+)?/y);
    if (number !== null) {
      const value = Number(number);
      return () => value;
    }
    const start = this.at;
    const word = this.match(/[A-Za-z_]\w*/y);
    if (word === 'retried') return (retried) => retried;
    if (word !== null) return this.parseCall(word, start, depth);
    return this.fail(`a number, "retried", a function or "(" expected, not ${this.found()}`);
  }

  private parseCall(name: string, start: number, depth: number): Evaluate {
    const called = FUNCTIONS.get(name);
    if (called === undefined) {
      return this.fail(`unknown name "${name}" (known: retried, ${[...FUNCTIONS.keys()].join(', ')})`, start);
    }
    if (!this.take('(')) return this.fail(`"(" expected after "${name}", not ${this.found()}`);
    const args = [this.parseSum(depth + 1)];
    while (this.take(',')) args.push(this.parseSum(depth + 1));
    if (!this.take(')')) return this.fail(`"," or ")" expected, not ${this.found()}`);
    const [apply, argsMin, argsMax] = called;
    if (args.length < argsMin || args.length > argsMax) {
      return this.fail(`"${name}" takes ${argsMin} argument(s), not ${args.length}`, start);
    }
    return (retried) => apply(...args.map((arg) => arg(retried)));
  }

  /** The next character that is not blank, '' at the end. */
  private next(): string {
    while (this.text[this.at] === ' ' || this.text[this.at] === '\t') this.at += 1;
    return this.text[this.at] ?? '';
  }

  private take(character: string): boolean {
    if (this.next() !== character) return false;
    this.at += 1;
    return true;
  }

  private match(sticky: RegExp): string | null {
    sticky.lastIndex = this.at;
    const found = sticky.exec(this.text)?.[0] ?? null;
    this.at += found?.length ?? 0;
    return found;
  }

  private found(): string {
    const character = this.next();
    return character === '' ? 'the end' : JSON.stringify(character);
  }

  private fail(what: string, at = this.at): Evaluate {
    this.problem ??= `${what} at character ${at + 1}`;
    this.at = this.text.length;
    return () => Number.NaN;
  }
}
