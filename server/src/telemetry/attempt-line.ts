// The log line for an attempt, as text: every attempt has a line, and the logger needs three times as long to make it
// from an object. The line has the format of the logger. Most parts are the same as in the line before, and are cached.

import type { EngineEvent } from '../delivery/engine/engine.ts';

const INFO = 30;

type AttemptEvent = EngineEvent & { readonly kind: 'attempt' };
type Next = AttemptEvent['settlement']['next'];

/** The line for an attempt. It never contains a body, a header or a key. */
export function attemptLines(now: () => number): (event: AttemptEvent) => string {
  const time = remembering((nowMs: number) => new Date(nowMs).toISOString());
  const start = remembering(
    (nowMs: number, account: string) =>
      `{"level":${INFO},"time":"${time(nowMs)}","account":${quoted(account)},"message":`,
  );
  const aim = remembering(
    (kind: string, host: string, queue: string | null) =>
      `,"kind":"${kind}","host":${quoted(host)}${queue === null ? '' : `,"queue":${quoted(queue)}`}`,
  );
  const tries = remembering((number: number, retried: number) => `,"attempt":${number},"retried":${retried}`);
  const answer = remembering(
    (outcome: string, status: number | null, error: string | null) =>
      `,"outcome":"${outcome}"${status === null ? '' : `,"status":${status}`}` +
      `${error === null ? '' : `,"error":${quoted(error)}`},"ms":`,
  );
  const end = remembering(
    (state: Next['state'], dueAt: number | null, result: string) =>
      `,"next":"${state}"${dueAt === null ? '' : `,"dueAt":${dueAt}`},"settle":"${result}","msg":"attempt"}\n`,
  );
  return ({ claim: { message }, outcome, settlement: { attempt, next }, result }) =>
    start(now(), message.accountId) +
    quoted(message.id) +
    aim(message.kind, message.host, message.queueName) +
    tries(attempt.number, message.retried) +
    answer(outcome.kind, attempt.status, 'detail' in outcome ? outcome.detail : attempt.error) +
    (attempt.endedAt - attempt.startedAt) +
    end(next.state, next.state === 'pending' ? next.dueAt : null, result);
}

function quoted(text: string): string {
  return JSON.stringify(text);
}

/** Caches the last text, and makes it again only when its parts differ. */
function remembering<A, B = undefined, C = undefined>(
  make: (a: A, b: B, c: C) => string,
): (a: A, b?: B, c?: C) => string {
  let lastA: A | undefined;
  let lastB: B | undefined;
  let lastC: C | undefined;
  let text: string | null = null;
  return (a, b, c) => {
    if (text === null || a !== lastA || b !== lastB || c !== lastC) {
      text = make(a, b as B, c as C);
      lastA = a;
      lastB = b;
      lastC = c;
    }
    return text;
  };
}
