// What all adapters share: they verify a request, call the program's function, and send the response. The function
// returns nothing for success, or a Response. An error that the function throws goes to the framework, which responds
// with 500.

import { type Delivery, type RequestParts, SignatureError, type VerifyOptions, verify } from '../receiver.ts';

type Nothing = undefined | null;

/** A Response of any implementation: some frameworks bring their own. */
export type Answer = Pick<Response, 'status' | 'headers' | 'arrayBuffer'>;

export type Handler<Context extends readonly unknown[]> = (
  delivery: Delivery,
  ...context: Context
  // biome-ignore lint/suspicious/noConfusingVoidType: a function that returns nothing is the usual one.
) => Answer | Nothing | void | Promise<Answer | Nothing | void>;

/** Fixed options, or a function that returns them for a request, for runtimes that pass the keys with each request. */
export type Options<Context extends readonly unknown[]> =
  | VerifyOptions
  | ((...context: Context) => VerifyOptions | Promise<VerifyOptions>);

export async function optionsFor<Context extends readonly unknown[]>(
  options: Options<Context>,
  context: Context,
): Promise<VerifyOptions> {
  return typeof options === 'function' ? options(...context) : options;
}

export async function verifyAndHandle<Context extends readonly unknown[]>(
  request: Request | RequestParts,
  options: VerifyOptions,
  handler: Handler<Context>,
  context: Context,
): Promise<Answer | null> {
  let delivery: Delivery;
  try {
    delivery = await verify(request, options);
  } catch (error) {
    return refusal(error);
  }
  return (await handler(delivery, ...context)) ?? null;
}

/** The response to a request that is not a delivery. Throws all other errors, which are mistakes of the program. */
export function refusal(error: unknown): Response {
  if (!(error instanceof SignatureError)) throw error;
  return new Response(error.message, { status: error.status, headers: { 'Content-Type': 'text/plain' } });
}

/** Makes the handler for frameworks that use the standard Request and Response of the web. */
export function receiver<Context extends readonly unknown[]>(
  requestOf: (...context: Context) => Request,
  options: Options<Context>,
  handler: Handler<Context>,
): (...context: Context) => Promise<Response> {
  return async (...context) => {
    const answer = await verifyAndHandle(requestOf(...context), await optionsFor(options, context), handler, context);
    return (answer as Response | null) ?? new Response(null, { status: 200 });
  };
}
