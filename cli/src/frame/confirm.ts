// Asks before an action that cannot be undone. Where no person can be asked, only --yes allows it.

import { createInterface } from 'node:readline/promises';
import type { Invocation } from './command.ts';
import { EXIT } from './exit-codes.ts';
import { Failure } from './failure.ts';
import { printable } from './printable.ts';

export async function confirm({ given, io, out }: Invocation, question: string): Promise<void> {
  if (given.has('yes')) return;
  if (!io.stdin.isTTY || out.isJson) {
    throw new Failure(`confirmation needed: ${question}`, {
      exit: EXIT.usage,
      hint: 'Nothing was changed. This is not a terminal, so nobody can confirm: give --yes to do it.',
    });
  }
  const asking = createInterface({ input: process.stdin, output: process.stderr });
  // While readline reads a line, Ctrl-C arrives as a character and not as a signal.
  asking.on('SIGINT', () => process.kill(process.pid, 'SIGINT'));
  const closed = new Promise<string>((resolve) => asking.once('close', () => resolve('')));
  try {
    const answered = asking.question(`${printable(question)} [y/N] `, { signal: io.interrupted });
    const answer = await Promise.race([answered, closed]);
    if (/^y(?:es)?$/i.test(answer.trim())) return;
  } finally {
    asking.close();
  }
  throw new Failure('nothing was changed', { exit: EXIT.failed });
}
