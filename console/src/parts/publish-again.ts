// Turns a message back into the call that would publish it again, with every setting and with its body byte for byte.
// The user must enter what the service does not show.

import { type Call, calls, type Message, type Published } from 'postrider-sdk';
import { serviceNow } from '../base/service-time.ts';

export interface Draft {
  readonly mode: 'publish' | 'enqueue' | 'schedule';
  readonly destination: string;
  readonly queue: string;
  readonly contentType: string;
  readonly body: string;
  /** A body that is not text. It is used instead of `body`. */
  readonly binary: Uint8Array | null;
  /** Settings by the names of their headers, without the prefix. */
  readonly settings: readonly (readonly [name: string, value: string])[];
  /** The parts of the message that the service does not show: `body`, `Content-Type`, or the name of a setting. */
  readonly redacted: readonly string[];
}

type CallbackName = 'callback' | 'failureCallback';

const CALLBACKS: readonly (readonly [CallbackName, string])[] = [
  ['callback', 'Callback'],
  ['failureCallback', 'Failure-Callback'],
];

/**
 * The message of one endpoint goes to that URL again, not to the whole topic. The deduplication id is not copied: with
 * it the new message would be a duplicate and not be accepted. Nor is the debounce key: with it the copy would take the
 * place of the message that waits. A time of delivery is copied if it is still to come.
 */
export function draftOf(message: Message, timeoutMsDefault: number | null | undefined): Draft {
  const settings: [string, string][] = [];
  const redacted: string[] = [];
  const fields = new Set(message.redactFields);
  const isHidden = (name: string) => fields.has('headers') || fields.has(`header[${name.toLowerCase()}]`);
  const set = (name: string, value: string | number | undefined) => {
    if (value !== undefined && value !== '') settings.push([name, String(value)]);
  };
  const forward = (start: string, header: Message['header'] = {}) => {
    for (const [name, values] of Object.entries(header)) {
      if (start === '' && name.toLowerCase() === 'content-type') continue;
      const setting = `${start}Forward-${name}`;
      if (isHidden(name)) redacted.push(setting);
      for (const value of values) settings.push([setting, isHidden(name) ? '' : value]);
    }
  };
  if (message.method !== 'POST') set('Method', message.method);
  set('Retries', message.maxRetries);
  set('Retry-Delay', message.retryDelayExpression);
  set('Retry-Jitter', message.retryJitter);
  if (message.timeoutMs !== timeoutMsDefault) set('Timeout', durationText(message.timeoutMs));
  if (message.notBefore > serviceNow()) set('Not-Before', message.notBefore / 1000);
  // From its own acceptance, the new message has as much time as this one had.
  if (message.expiresAt !== undefined) set('Expires', durationText(message.expiresAt - message.createdAt));
  for (const [name, setting] of CALLBACKS) {
    set(setting, message[name]);
    for (const [own, value] of callbackSettings(message, name, timeoutMsDefault)) set(`${setting}-${own}`, value);
    forward(`${setting}-`, message[`${name}Header`]);
  }
  set('Label', message.labels?.join(', '));
  set('Order-Key', message.orderKey);
  // That of a message in a queue is its queue's.
  if (message.queueName === undefined) set('Priority', message.priority);
  set('Outage', message.outage);
  set('Await-Ack', message.awaitAck);
  set('Flow-Control-Key', message.flowControlKey);
  if (message.flowControlKey !== undefined) set('Flow-Control-Value', flowValue(message));
  set('Redact-Fields', message.redactFields?.join(', '));
  forward('', message.header);
  const contentType = Object.entries(message.header).find(([name]) => name.toLowerCase() === 'content-type');
  if (contentType && isHidden('Content-Type')) redacted.push('Content-Type');
  const isBodyHidden = fields.has('body') && (message.body ?? '') !== '';
  if (isBodyHidden) redacted.push('body');
  return {
    mode: message.queueName === undefined ? 'publish' : 'enqueue',
    destination: message.url,
    queue: message.queueName ?? '',
    contentType: isHidden('Content-Type') ? '' : (contentType?.[1][0] ?? ''),
    body: isBodyHidden ? '' : (message.body ?? ''),
    binary: message.bodyBase64 === undefined ? null : bytesOf(message.bodyBase64),
    settings,
    redacted,
  };
}

/** The settings of a callback that differ from its defaults. */
function callbackSettings(
  message: Message,
  name: CallbackName,
  timeoutMsDefault: number | null | undefined,
): [string, string][] {
  const given = message[`${name}Settings`];
  if (!given) return [];
  const { method, maxRetries, retryDelayExpression, retryJitter, delayMs, timeoutMs } = given;
  const found: [string, string][] = [];
  if (method !== 'POST') found.push(['Method', method]);
  if (maxRetries !== message.maxRetries) found.push(['Retries', String(maxRetries)]);
  if (retryDelayExpression !== undefined && retryDelayExpression !== message.retryDelayExpression)
    found.push(['Retry-Delay', retryDelayExpression]);
  if (retryJitter !== undefined && retryJitter !== message.retryJitter) found.push(['Retry-Jitter', retryJitter]);
  if (delayMs > 0) found.push(['Delay', durationText(delayMs)]);
  if (timeoutMs !== timeoutMsDefault) found.push(['Timeout', durationText(timeoutMs)]);
  return found;
}

function durationText(ms: number): string {
  return ms % 1000 === 0 ? `${ms / 1000}s` : `${ms}ms`;
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

function bytesOf(base64: string): Uint8Array {
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}

/** What the user must still enter before the draft can be sent. */
export function missingFields({ redacted, body, binary, contentType, settings }: Draft): string[] {
  return redacted.filter((name) => {
    if (name === 'body') return body === '' && binary === null;
    if (name === 'Content-Type') return contentType === '';
    return settings.some(([each, value]) => each === name && value === '');
  });
}

export type PublishResponse = Published | readonly Published[] | { readonly scheduleId: string };

/** The settings by name. In HTTP, a header that is given more than once is one list. */
export function settingsOf({ settings }: Draft): Record<string, string> {
  const given = settings.filter(([name, value]) => name !== '' && value !== '');
  const byName = Map.groupBy(given, ([name]) => name);
  return Object.fromEntries([...byName].map(([name, rows]) => [name, rows.map(([, value]) => value).join(', ')]));
}

export function callOf(draft: Draft): Call<PublishResponse> {
  const { destination, contentType, body, binary } = draft;
  // A browser adds a Content-Type to a text without one, but not to bytes.
  const content = binary ?? (contentType === '' ? new TextEncoder().encode(body) : body);
  const request = {
    destination,
    ...(contentType !== '' && { contentType }),
    settings: settingsOf(draft),
    ...(content.length > 0 && { body: content }),
  };
  if (draft.mode === 'enqueue') return calls.enqueue(draft.queue, request);
  return draft.mode === 'schedule' ? calls.createSchedule(request) : calls.publish(request);
}

/** The body after an edit. A text field has only Unix line endings: Windows line endings are restored. */
export function bodyAfterEdit(before: string, typed: string): string {
  const isWindows = before.includes('\r\n') && !/[^\r]\n|^\n|\r(?!\n)/.test(before);
  return isWindows ? typed.replaceAll(/\r?\n/g, '\r\n') : typed;
}
