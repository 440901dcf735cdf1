// How long functions are: from where one begins to its last line, its parameters and the functions within it included.

import { parseSync } from 'vite';

export interface LongFunction {
  /** Where in the text it begins. */
  readonly at: number;
  readonly lines: number;
}

const FUNCTION = /^(?:FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/;

export function functionsOver(linesMax: number, path: string, text: string): LongFunction[] {
  const found: LongFunction[] = [];
  const look = (node: unknown): void => {
    if (Array.isArray(node)) for (const each of node) look(each);
    else if (typeof node === 'object' && node !== null) {
      const { type, start, end } = node as { type?: unknown; start?: unknown; end?: unknown };
      if (typeof type === 'string' && FUNCTION.test(type) && typeof start === 'number' && typeof end === 'number') {
        const lines = text.slice(start, end).split('\n').length;
        // None within it is longer.
        if (lines <= linesMax) return;
        found.push({ at: start, lines });
      }
      for (const each of Object.values(node)) look(each);
    }
  };
  look(parseSync(path, text).program.body);
  return found;
}
