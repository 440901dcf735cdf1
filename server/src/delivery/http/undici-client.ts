// A connection for HTTPS, by undici. Two guards are between it and its socket: one bounds what a response can cost, one
// checks the time before the first byte is sent.

import type { Socket } from 'node:net';
import type { Client, Dispatcher } from 'undici';
import type { HeaderList } from '../../rules/delivery/message.ts';
import { eachMax } from '../../rules/limits/budgets.ts';
import { testFeature } from '../../runtime/node-internals/features.ts';
import { testReadGuard } from '../../runtime/node-internals/read-guard.ts';
import type { WireWindow } from '../engine/wire-window.ts';
import { guardAnswer, type TakeMemory } from './answer-guard.ts';
import { guardFirstWrite } from './first-write.ts';
import { type ExchangeListener, type HttpClient, type HttpRequest, IDLE_MS_MAX } from './http-client.ts';
import { LargeBody } from './large-body.ts';

type Undici = typeof import('undici');

let undici: Undici | null = null;

export class UndiciClient implements HttpClient {
  reusableMs = IDLE_MS_MAX;
  hasUnasked = false;
  #client: Client | null = null;
  readonly #opened: Promise<void>;
  #isDestroyed = false;
  /** Called for each request as it starts. */
  #requestStarts: (takeMemory: TakeMemory, mustStartBefore: number | null) => void = () => {};

  /** `onLost` is called when the connection is gone. */
  constructor(origin: string, wire: WireWindow, dial: () => Promise<Socket>, onLost: () => void) {
    const open = (loaded: Undici) => {
      undici = loaded;
      if (this.#isDestroyed) return;
      this.#client = this.#open(loaded, origin, wire, dial).on('disconnect', (_origin, _clients, error) => {
        if (isUnasked(error)) this.hasUnasked = true;
        onLost();
      });
    };
    // undici is loaded by the first destination with HTTPS, because it takes more memory than the rest of a delivery.
    this.#opened = undici === null ? loadUndici().then(open) : Promise.resolve(open(undici));
  }

  send(request: HttpRequest, exchange: ExchangeListener): void {
    if (this.#client !== null) this.#dispatch(this.#client, request, exchange);
    else {
      this.#opened.then(
        () => this.#client && this.#dispatch(this.#client, request, exchange),
        (error: Error) => exchange.onError(error),
      );
    }
  }

  async destroy(): Promise<void> {
    this.#isDestroyed = true;
    await this.#client?.destroy();
  }

  #open({ Client: Opening }: Undici, origin: string, wire: WireWindow, dial: () => Promise<Socket>): Client {
    return new Opening(origin, {
      connect: (_options, done) => {
        dial().then(
          (dialled) => {
            const { socket, expectAnswer } = guardAnswer(dialled);
            const expectWrite = guardFirstWrite(socket, wire);
            this.#requestStarts = (takeMemory, mustStartBefore) => {
              expectAnswer(takeMemory);
              expectWrite(mustStartBefore);
            };
            done(null, socket);
          },
          (error: Error) => done(error, null),
        );
      },
      pipelining: 1,
      allowH2: false,
      keepAliveTimeout: IDLE_MS_MAX,
      keepAliveMaxTimeout: IDLE_MS_MAX,
      maxHeaderSize: eachMax('answerHeadBytes'),
      // undici's two timers limit only the time without a byte. The whole attempt has one deadline instead.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  }

  #dispatch(
    client: Client,
    { method, target, headers, signature, body, mustStartBefore }: HttpRequest,
    exchange: ExchangeListener,
  ): void {
    const all = ['Host', target.hostHeader, ...headers.flat(), ...signature];
    if (body instanceof LargeBody) all.push('Content-Length', String(body.length));
    const request = { path: target.path, method, headers: all, body };
    const onStart = () => this.#requestStarts((bytes) => exchange.takeMemory(bytes), mustStartBefore);
    const onClosing = () => {
      this.reusableMs = 0;
    };
    const handler = new Handler(exchange, onStart, onClosing);
    client.dispatch(request as Dispatcher.DispatchOptions, handler);
  }
}

async function loadUndici(): Promise<Undici> {
  const loaded = await import('undici');
  await testFeature('answerGuard', (late) => testReadGuard(loaded, late));
  return loaded;
}

/** Passes on the events of one request from undici. */
class Handler implements Dispatcher.DispatchHandler {
  readonly #exchange: ExchangeListener;
  readonly #starts: () => void;
  readonly #closes: () => void;

  /** `closes` is called when the receiver says that it will close the connection. */
  constructor(exchange: ExchangeListener, starts: () => void, closes: () => void) {
    this.#exchange = exchange;
    this.#starts = starts;
    this.#closes = closes;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#exchange.onStart()) this.#starts();
    else controller.abort(new Error('the attempt could not start in time'));
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number): void {
    if (status < 200) return;
    const raw = controller.rawHeaders as readonly Buffer[];
    if (saysClose(raw)) this.#closes();
    this.#exchange.onHead(status, readHeaders(raw));
    // undici would keep the raw headers, two objects for each, until the body has ended.
    controller.rawHeaders = null;
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#exchange.onBody(chunk);
  }

  onResponseEnd(): void {
    this.#exchange.onEnd();
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    this.#exchange.onError(error);
  }
}

/** Whether bytes came without a request. While no request is in flight, any byte is an error to undici's parser. */
function isUnasked(error: Error): boolean {
  return error.name === 'HTTPParserError' || error.message === 'bad response';
}

function saysClose(raw: readonly Buffer[]): boolean {
  for (let i = 0; i + 1 < raw.length; i += 2) {
    if (raw[i]!.length !== 'connection'.length || raw[i]!.toString('latin1').toLowerCase() !== 'connection') continue;
    if (/(?:^|,)[ \t]*close[ \t]*(?:,|$)/i.test(raw[i + 1]!.toString('latin1'))) return true;
  }
  return false;
}

/** Returns the headers that fit into the limit, in their order. */
function readHeaders(raw: readonly Buffer[]): HeaderList {
  const headers: [string, string][] = [];
  let leftBytes = eachMax('answerHeaderBytes');
  for (let i = 0; i + 1 < raw.length && headers.length < eachMax('keptHeaders'); i += 2) {
    const name = raw[i]!;
    const value = raw[i + 1]!;
    // undici removes the blanks before a value, but not those after it.
    let end = value.length;
    while (end > 0 && (value[end - 1] === 0x20 || value[end - 1] === 0x09)) end -= 1;
    if (name.length + end > leftBytes) continue;
    leftBytes -= name.length + end;
    headers.push([name.toString('latin1'), value.toString('latin1', 0, end)]);
  }
  return headers;
}
