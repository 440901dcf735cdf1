// What a publisher sends: the text of a request once, with places in it that are filled in anew each time.

import { STAMP_LENGTH } from './clock.ts';

/** Where the instant goes: the first bytes of every body. */
export const STAMP = 'T'.repeat(STAMP_LENGTH);
/** Where the number of the queue goes, if there are several. */
export const QUEUE = 'QQQQQ';
export const BODY_BYTES = 1024;
export const BODY = STAMP.padEnd(BODY_BYTES, 'x');

/** The settings of a message: with `Host`, `Content-Length` and the token they are what every target is sent. */
export const HEADERS: Readonly<Record<string, string>> = {
  'Content-Type': 'application/octet-stream',
  'Service-Retries': '3',
  'Service-Forward-X-One': 'first',
  'Service-Forward-X-Two': 'second',
};

export interface RequestShape {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Messages in one request. */
  readonly messages: number;
}

export function publishOf(destination: string, token: string): RequestShape {
  return {
    path: `/v2/publish/${destination}`,
    headers: { Authorization: `Bearer ${token}`, ...HEADERS },
    body: BODY,
    messages: 1,
  };
}

export function enqueueOf(destination: string, token: string): RequestShape {
  return { ...publishOf(destination, token), path: `/v2/enqueue/q${QUEUE}/${destination}` };
}

export function batchOf(
  destination: string,
  token: string,
  messages: number,
  more: Readonly<Record<string, string>> = {},
  queue?: string,
): RequestShape {
  const element = { destination, ...(queue !== undefined && { queue }), headers: { ...HEADERS, ...more }, body: BODY };
  return {
    path: '/v2/batch',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    body: JSON.stringify(Array.from({ length: messages }, () => element)),
    messages,
  };
}

export function textOf({ path, headers, body }: RequestShape, host: string, isKeptAlive: boolean): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  if (!isKeptAlive) lines.push('Connection: close');
  return [`POST ${path} HTTP/1.1`, `Host: ${host}`, ...lines, `Content-Length: ${body.length}`, '', body].join('\r\n');
}

export function placesOf(text: string, mark: string): number[] {
  const places: number[] = [];
  for (let at = text.indexOf(mark); at !== -1; at = text.indexOf(mark, at + mark.length)) places.push(at);
  return places;
}
