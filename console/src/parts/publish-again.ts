// Turns a message back into the call that would publish it again.

import { type Call, calls, type Message, type Published } from 'postrider-sdk';

export interface Draft {
  readonly mode: 'publish' | 'enqueue' | 'schedule';
  readonly destination: string;
  readonly queue: string;
  readonly contentType: string;
  readonly body: string;
  /** Headers of ours, without the prefix. */
  readonly settings: readonly (readonly [name: string, value: string])[];
}

/** A topic's copy goes to its one URL again, not to the whole topic. */
export function draftOf(message: Message): Draft {
  const settings: [string, string][] = [];
  const set = (name: string, value: string | number | undefined) => {
    if (value !== undefined && value !== '') settings.push([name, String(value)]);
  };
  if (message.method !== 'POST') set('Method', message.method);
  set('Retries', message.maxRetries);
  set('Retry-Delay', message.retryDelayExpression);
  set('Callback', message.callback);
  set('Failure-Callback', message.failureCallback);
  set('Label', message.labels?.join(', '));
  set('Order-Key', message.orderKey);
  set('Flow-Control-Key', message.flowControlKey);
  if (message.flowControlKey !== undefined) set('Flow-Control-Value', flowValue(message));
  for (const [name, values] of Object.entries(message.header)) {
    if (name.toLowerCase() !== 'content-type') for (const value of values) set(`Forward-${name}`, value);
  }
  const contentType = Object.entries(message.header).find(([name]) => name.toLowerCase() === 'content-type');
  return {
    mode: message.queueName === undefined ? 'publish' : 'enqueue',
    destination: message.url,
    queue: message.queueName ?? '',
    contentType: contentType?.[1][0] ?? '',
    body: message.body ?? '',
    settings,
  };
}

function flowValue({ parallelism, rate, period }: Message): string {
  return [
    parallelism !== undefined && `parallelism=${parallelism}`,
    rate !== undefined && `rate=${rate}`,
    rate !== undefined && period !== undefined && `period=${period}s`,
  ]
    .filter(Boolean)
    .join(', ');
}

export type SentAnswer = Published | readonly Published[] | { readonly scheduleId: string };

export function callOf(draft: Draft): Call<SentAnswer> {
  const request = {
    destination: draft.destination,
    ...(draft.contentType !== '' && { contentType: draft.contentType }),
    settings: Object.fromEntries(draft.settings.filter(([name]) => name !== '')),
    ...(draft.body !== '' && { body: draft.body }),
  };
  if (draft.mode === 'enqueue') return calls.enqueue(draft.queue, request);
  return draft.mode === 'schedule' ? calls.createSchedule(request) : calls.publish(request);
}

export function publishCallOf(message: Message): Call<SentAnswer> {
  return callOf(draftOf(message));
}
