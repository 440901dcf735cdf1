// The client with the names of the API: every call of calls.ts is a method. The console and the command use this
// client.

import type { Call } from './call.ts';
import * as calls from './calls.ts';
import { type StreamedEvent, type StreamOptions, stream } from './event-stream.ts';
import type { MessageQuery } from './message-query.ts';
import { readWhole } from './pages.ts';
import type { PublishRequest, TopicRequest, UrlRequest } from './publish-request.ts';
import { type ClientOptions, retry } from './retry.ts';
import { exchangeWith, type Send, type SendOptions } from './send.ts';
import type { Published } from './shapes.ts';

export type Calls = typeof calls;
export type AnswerOf<C> = C extends Call<infer T> ? T : never;

type MakesCall = (...args: never[]) => Call<unknown>;

/**
 * For each function that makes a call, a method that sends the call. The method takes the arguments of the function,
 * and then its own `options`.
 */
export type Bound<Makers extends Readonly<Record<string, MakesCall>>> = {
  readonly [K in keyof Makers]: (
    ...args: [...Parameters<Makers[K]>, options?: SendOptions]
  ) => Promise<AnswerOf<ReturnType<Makers[K]>>>;
};

/** Publishes a message. The type of the response depends on the destination. */
export interface Publish {
  (request: UrlRequest, options?: SendOptions): Promise<Published>;
  (request: TopicRequest, options?: SendOptions): Promise<readonly Published[]>;
  (request: PublishRequest, options?: SendOptions): Promise<Published | readonly Published[]>;
}

export interface Client extends Omit<Bound<Calls>, 'publish'> {
  readonly publish: Publish;
  /** Sends any call, for instance one of `calls`. */
  readonly send: Send;
  /** Live events until `signal` aborts or the connection ends. To continue, call it again with `lastEventId`. */
  stream(filter: MessageQuery, options: StreamOptions): AsyncGenerator<StreamedEvent>;
}

export function createClient(options: ClientOptions = {}): Client {
  const exchange = exchangeWith(options, retry(options));
  const send: Send = (call, sendOptions) => readWhole(exchange, call, sendOptions);
  const { publish, ...rest } = bind(send, calls);
  return { ...rest, publish: publish as Publish, send, stream: (...args) => stream(exchange, ...args) };
}

/**
 * Makes the methods. The argument after those of the function is `options`. `make.length` is right only because no
 * function has an argument with a default value, which `length` would not count.
 */
export function bind<Makers extends Readonly<Record<string, MakesCall>>>(send: Send, makers: Makers): Bound<Makers> {
  const methods = Object.entries(makers).map(([name, make]) => [
    name,
    (...args: never[]) => send(make(...args.slice(0, make.length)), args[make.length]),
  ]);
  return Object.fromEntries(methods) as Bound<Makers>;
}
