// Asks before an action that cannot be undone. Where no person can be asked, only --yes allows it.

import { createInterface } from 'node:readline/promises';
import type { Invocation } from './command.ts';
import { EXIT } from './exit-codes.ts';
import { Failure } from './failure.ts';
import { printable } from './printable.ts';

export function confirm(invocation: Invocation, question: string): Promise<void> {
  return ask(invocation, question, '[y/N]', (answer) => /^y(?:es)?$/i.test(answer));
}

/** For what takes much with it: the person types the name of what goes. */
export function confirmByName(invocation: Invocation, question: string, name: string): Promise<void> {
  return ask(invocation, question, `Type ${name} to confirm:`, (answer) => answer === name);
}

async function ask(
  { given, io, out }: Invocation,
  question: string,
  how: string,
  isYes: (answer: string) => boolean,
): Promise<void> {
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
    const answered = asking.question(`${printable(question)} ${printable(how)} `, { signal: io.interrupted });
    const answer = await Promise.race([answered, closed]);
    if (isYes(answer.trim())) return;
  } finally {
    asking.close();
  }
  throw new Failure('nothing was changed', { exit: EXIT.failed });
}
