// Destinations for experiments, in development only. `/dev/sink/ok` and others respond as their path says, and the last
// requests are kept in memory for inspection.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { eachMax, nodeMax } from '../../rules/limits/budgets.ts';
import type { Clock } from '../../runtime/world.ts';
import { sendError } from '../api/errors.ts';
import { GrowingBytes } from '../server/growing-bytes.ts';

const SINK = '/dev/sink/';
const SLOW_MS_MAX = 10 * 60 * 1000;
/** Limit for the length of the key by which requests are counted. Message ids are much shorter. */
const COUNTED_LENGTH_MAX = 256;

/** One request that the sink has received. */
export interface SinkRequest {
  readonly id: number;
  readonly at: number;
  readonly method: string;
  readonly url: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: Uint8Array;
  readonly isBodyCut: boolean;
  /** The status of the response. Null while there is no response. */
  readonly status: number | null;
}

export class Sink {
  readonly #clock: Clock;
  readonly #messageIdHeader: string;
  readonly #seen = new Map<string, number>();
  #kept: { id: number; read: () => SinkRequest }[] = [];
  #lastId = 0;

  constructor(clock: Clock, headerPrefix: string) {
    this.#clock = clock;
    this.#messageIdHeader = `${headerPrefix}Message-Id`.toLowerCase();
  }

  /** Returns false when the request is not for the sink. */
  handle(request: IncomingMessage, response: ServerResponse): boolean {
    const [path, query] = splitOnce(request.url ?? '', '?');
    if (!path.startsWith(SINK)) return false;
    this.#keep(request, response);
    const parameters = new URLSearchParams(query);
    const [name, argument] = splitOnce(path.slice(SINK.length), '/');
    if (name === 'ok') answer(response, 200);
    else if (name === 'status' && /^[2-5]\d\d$/.test(argument)) answer(response, Number(argument));
    else if (name === 'fail')
      answer(response, this.#hasFailedEnough(request, numberOf(parameters, 'times', 1)) ? 200 : 503);
    else if (name === 'slow') this.#answerAfter(response, Math.min(SLOW_MS_MAX, numberOf(parameters, 'ms', 1000)));
    else {
      sendError(response, {
        code: 'not_found',
        message: 'the paths below /dev/sink/ are ok, status/503, fail?times=2 and slow?ms=1000',
      });
    }
    return true;
  }

  /** The kept requests, newest first. */
  get requests(): readonly SinkRequest[] {
    return this.#kept.map(({ read }) => read()).reverse();
  }

  forget(): void {
    this.#kept = [];
  }

  #keep(request: IncomingMessage, response: ServerResponse): void {
    this.#lastId += 1;
    const id = this.#lastId;
    const at = this.#clock.now();
    const kept = new GrowingBytes();
    let isBodyCut = false;
    request.on('data', (chunk: Buffer) => {
      const room = eachMax('sinkBodyBytes') - kept.length;
      isBodyCut ||= chunk.length > room;
      if (room > 0) kept.add(chunk.subarray(0, room));
    });
    const headers: [string, string][] = [];
    for (let i = 0; i < request.rawHeaders.length; i += 2)
      headers.push([request.rawHeaders[i]!, request.rawHeaders[i + 1]!]);
    const { method = '', url = '' } = request;
    const read = (): SinkRequest => {
      const status = response.headersSent ? response.statusCode : null;
      return { id, at, method, url, headers, body: kept.whole(), isBodyCut, status };
    };
    this.#kept.push({ id, read });
    if (this.#kept.length > nodeMax('sinkRequests')) this.#kept.shift();
  }

  #hasFailedEnough(request: IncomingMessage, times: number): boolean {
    const key = String(request.headers[this.#messageIdHeader] ?? request.url).slice(0, COUNTED_LENGTH_MAX);
    const seen = (this.#seen.get(key) ?? 0) + 1;
    this.#seen.delete(key);
    this.#seen.set(key, seen);
    if (this.#seen.size > nodeMax('sinkCounts')) this.#seen.delete(this.#seen.keys().next().value!);
    return seen > times;
  }

  #answerAfter(response: ServerResponse, ms: number): void {
    const cancel = this.#clock.after(ms, () => answer(response, 200));
    response.on('close', cancel);
  }
}

function answer(response: ServerResponse, status: number): void {
  const text = JSON.stringify({ sink: status });
  response.writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': text.length }).end(text);
}

function splitOnce(text: string, by: string): [string, string] {
  const at = text.indexOf(by);
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}

function numberOf(parameters: URLSearchParams, name: string, fallback: number): number {
  const value = Number(parameters.get(name) ?? fallback);
  return Number.isFinite(value) && value >= 0 ? value : fallback;
}
