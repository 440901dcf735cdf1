// `postrider ack`: what a receiver says of a delivery that it has answered with 202.

import { type AckWord, acknowledge, type Duration, UnreachableError } from 'postrider-sdk';
import type { Invocation } from '../../frame/command.ts';
import { EXIT } from '../../frame/exit-codes.ts';
import { Failure, usageFailure } from '../../frame/failure.ts';
import { timeText } from '../../frame/time-text.ts';

export async function ack({ given, out }: Invocation): Promise<number> {
  const url = given.words[0]!;
  if (!URL.canParse(url)) throw usageFailure([`${JSON.stringify(url)} is not an ack URL`], 'ack');
  const answer = await acknowledge(url, wordOf(given)).catch((error: unknown) => {
    if (!(error instanceof UnreachableError)) throw error;
    throw new Failure(error.message, { exit: EXIT.unreachable, hint: 'Check the ack URL.' });
  });
  if (out.isJson) {
    out.json(answer);
    return EXIT.done;
  }
  const { messageId, attempt, ok, deadline } = answer;
  const said = ok === undefined ? 'noted' : ok ? 'succeeded' : 'failed';
  const until = deadline === undefined ? '' : `; the ack is awaited until ${timeText(deadline)}`;
  out.line(`attempt ${attempt} of ${messageId}: ${said}${until}`);
  return EXIT.done;
}

function wordOf(given: Invocation['given']): AckWord {
  const error = given.text('error');
  if (given.has('ok')) return { ok: true };
  if (error !== undefined) return { ok: false, error, ...(given.has('no-retry') && { retry: false }) };
  const [extendBy, progress, note] = [
    given.text('extend') as Duration | undefined,
    given.text('progress'),
    given.text('note'),
  ];
  if (extendBy === undefined && progress === undefined && note === undefined) {
    throw usageFailure(['give --ok, --error, or some of --extend, --progress and --note'], 'ack');
  }
  return {
    ...(extendBy !== undefined && { extendBy }),
    ...(progress !== undefined && { progress: Number(progress) }),
    ...(note !== undefined && { note }),
  };
}
