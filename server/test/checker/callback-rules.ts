// A callback for every attempt with a known result, but none for one that used up no retry at a parked host; a failure
// callback once for a message that failed; and none for callbacks themselves. Whether they arrive is judged like for every
// other message.

import { countedAttempts, type Evidence } from './evidence.ts';
import type { StoredMessage } from './history.ts';

export function* callbacks({ history, expected, callbacksOf }: Evidence): Iterable<string> {
  for (const message of history.stored) {
    const made = callbacksOf.get(message.id) ?? [];
    const asked = expected.get(message.id)?.message;
    if (message.kind !== 'publish') {
      if (made.length > 0) yield `${message.id} is a callback and has ${made.length} callbacks of its own`;
      continue;
    }
    if (!asked) continue;
    const known = countedAttempts(message).length;
    yield* counted(message, made, 'callback', asked.callbackUrl, known);
    yield* counted(message, made, 'failureCallback', asked.failureCallbackUrl, message.state === 'failed' ? 1 : 0);
  }
}

function* counted(
  source: StoredMessage,
  made: readonly StoredMessage[],
  kind: 'callback' | 'failureCallback',
  url: string | null,
  wanted: number,
): Iterable<string> {
  const ofKind = made.filter((message) => message.kind === kind);
  const due = url === null ? 0 : wanted;
  const name = kind === 'callback' ? 'callbacks' : 'failure callbacks';
  if (ofKind.length !== due) {
    yield `${source.id} (${source.state}) has ${ofKind.length} ${name} instead of ${due}`;
  }
  for (const message of ofKind) {
    if (url !== null && message.url !== url)
      yield `${message.id} of ${source.id} goes to ${message.url}, not to ${url}`;
  }
}
