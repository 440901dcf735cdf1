// The line of the log for an attempt, as text: one is written for every attempt, and the logger needs three times as
// long to make it from an object. Its form is the logger's own.

import type { EngineEvent } from '../delivery/engine.ts';

const INFO = 30;

/** Never a body, a header or a key. */
export function attemptLine(
  { claim: { message }, outcome, settlement: { attempt, next }, result }: EngineEvent & { readonly kind: 'attempt' },
  time: string,
): string {
  let line =
    `{"level":${INFO},"time":"${time}","account":${quoted(message.accountId)},"message":${quoted(message.id)}` +
    `,"kind":"${message.kind}","host":${quoted(message.host)}`;
  if (message.queueName !== null) line += `,"queue":${quoted(message.queueName)}`;
  line += `,"attempt":${attempt.number},"retried":${message.retried},"outcome":"${outcome.kind}"`;
  if (attempt.status !== null) line += `,"status":${attempt.status}`;
  if (attempt.error !== null) line += `,"error":${quoted(attempt.error)}`;
  line += `,"ms":${attempt.endedAt - attempt.startedAt},"next":"${next.state}"`;
  if (next.state === 'pending') line += `,"dueAt":${next.dueAt}`;
  return `${line},"settle":"${result}","msg":"attempt"}\n`;
}

function quoted(text: string): string {
  return JSON.stringify(text);
}

/** The time of a line. Many lines are of one millisecond, and writing it is most of the work. */
export function timeText(now: () => number): () => string {
  let lastMs = Number.NaN;
  let lastText = '';
  return () => {
    const nowMs = now();
    if (nowMs !== lastMs) {
      lastMs = nowMs;
      lastText = new Date(nowMs).toISOString();
    }
    return lastText;
  };
}
