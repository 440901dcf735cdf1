// For frameworks that use the request and response of node:http: finds or reads the raw body, and writes the response.

import { joinBytes } from '../join-bytes.ts';
import { BODY_BYTES_MAX, SignatureError } from '../receiver.ts';
import { type Answer, type Handler, type Options, optionsFor, refusal, verifyAndHandle } from './answer.ts';

export interface NodeRequest {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The body, if a parser has already read it. */
  readonly body?: unknown;
  readonly rawBody?: unknown;
  readonly readableDidRead?: boolean;
  readonly readableEnded?: boolean;
  readonly destroyed?: boolean;
  on(name: string, listener: (value: unknown) => void): unknown;
  off(name: string, listener: (value: unknown) => void): unknown;
  pause(): unknown;
}

export interface NodeResponse {
  statusCode: number;
  readonly headersSent: boolean;
  setHeader(name: string, value: string): unknown;
  end(body?: Uint8Array): unknown;
}

/** Verifies the request, calls the function and sends the response, unless the function has already sent a response. */
export async function receiveNode<Context extends readonly unknown[]>(
  request: NodeRequest,
  response: NodeResponse,
  options: Options<Context>,
  handler: Handler<Context>,
  context: Context,
): Promise<void> {
  const own = await optionsFor(options, context);
  let answer: Answer | null;
  try {
    const body = await rawBodyOf(request, own.bodyBytesMax ?? BODY_BYTES_MAX);
    answer = await verifyAndHandle({ headers: request.headers, body }, own, handler, context);
  } catch (error) {
    answer = refusal(error);
    // The rest of the body is not read, so the connection cannot carry another request.
    response.setHeader('Connection', 'close');
  }
  if (response.headersSent) return;
  response.statusCode = answer?.status ?? 200;
  answer?.headers.forEach((value, name) => {
    response.setHeader(name, value);
  });
  response.end(answer === null ? undefined : new Uint8Array(await answer.arrayBuffer()));
}

export async function rawBodyOf(request: NodeRequest, bytesMax: number): Promise<Uint8Array | string> {
  for (const known of [request.rawBody, request.body]) {
    if (known instanceof Uint8Array || typeof known === 'string') return known;
  }
  if (request.readableDidRead) {
    throw new TypeError(
      'the body was parsed before it could be verified: register the receiver before the parser, or keep the raw body',
    );
  }
  // A parser has read the body to its end, and the body was empty. Waiting for more would never end.
  if (request.readableEnded) return new Uint8Array(0);
  if (request.destroyed) throw cutOff();
  if (Number(request.headers['content-length'] ?? 0) > bytesMax) throw tooLarge();
  return new Promise((resolve, reject) => {
    const pieces: Uint8Array[] = [];
    let length = 0;
    const onData = (value: unknown) => {
      const piece = value as Uint8Array;
      pieces.push(piece);
      length += piece.length;
      if (length <= bytesMax) return;
      request.off('data', onData);
      request.pause();
      reject(tooLarge());
    };
    request.on('end', () => resolve(joinBytes(pieces, length)));
    request.on('error', reject);
    request.on('close', () => reject(cutOff()));
    request.on('data', onData);
  });
}

function cutOff(): Error {
  return new Error('the request was cut off');
}

function tooLarge(): SignatureError {
  return new SignatureError('the body is too large', 413);
}
