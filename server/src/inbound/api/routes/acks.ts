// Acks of receivers. The secret in the path is the authority: it names the attempt, and nobody else has it.

import type { AckTarget } from '../../../acks/ack-secret.ts';
import type { AckReply, Acks } from '../../../acks/acks.ts';
import { parseAckWord } from '../../../rules/acks/ack.ts';
import type { Api } from '../api.ts';
import { ApiError } from '../errors.ts';
import { AckAnswer } from '../shapes/answers.ts';
import Type from '../shapes/schema.ts';

/** The longest word: texts of which each character is written as an escape. */
const BODY_BYTES_MAX = 16 * 1024;

const Word = Type.Object({
  ok: Type.Optional(Type.Boolean({ description: 'Whether the work has succeeded. It ends the attempt.' })),
  error: Type.Optional(Type.String({ description: 'With `ok: false`: why it failed.' })),
  retry: Type.Optional(Type.Boolean({ description: 'With `ok: false`: false if no retry is to follow.' })),
  extendBy: Type.Optional(Type.String({ description: 'The ack comes within this time from now, such as `10m`.' })),
  progress: Type.Optional(Type.Number({ description: 'From 0 to 1.' })),
  note: Type.Optional(Type.String()),
});

export function ackRoutes(api: Api, acks: Acks): void {
  const targetOf = (secret: string): AckTarget => {
    const target = acks.targetOf(secret);
    if (!target) throw new ApiError('ack_not_found', 'this service has made no such ack URL');
    return target;
  };
  api.addBySecret({
    path: '/v2/acks/:secret',
    summary: 'Report how the work for an attempt that was answered with 202 has ended, or how far it is',
    params: Type.Object({ secret: Type.String() }),
    body: Word,
    answer: AckAnswer,
    bodyBytesMax: BODY_BYTES_MAX,
    accountOf: (secret) => targetOf(secret).accountId,
    handle: async (secret, body) => {
      const word = parseAckWord(body);
      if ('problem' in word) throw new ApiError(word.problem.code, word.problem.message);
      return shown(await acks.receive(targetOf(secret), word));
    },
  });
}

function shown(reply: AckReply) {
  const { messageId, attempt } = reply.target;
  if (reply.kind === 'gone') {
    const why = 'it was given up, retried or cancelled, or it has ended otherwise';
    throw new ApiError('ack_gone', `attempt ${attempt} of message "${messageId}" no longer awaits an ack: ${why}`);
  }
  if (reply.kind === 'ended') return { messageId, attempt, ok: reply.word.kind === 'ok' };
  const { deadlineAt, progress, note } = reply.ack;
  return {
    messageId,
    attempt,
    ...(deadlineAt > 0 && { deadline: deadlineAt }),
    ...(progress !== null && { progress }),
    ...(note !== null && { note }),
  };
}
