// The port to one connection: the request of an attempt, and the events that the attempt gets. There are two kinds of
// connections: plain HTTP/1.1 over our own socket, and HTTPS through undici.

import type { HeaderList, Method } from '../../rules/delivery/message.ts';
import type { TargetUrl } from '../../rules/publish/destination.ts';
import type { LargeBody } from './large-body.ts';

export interface HttpRequest {
  readonly method: Method;
  readonly target: Pick<TargetUrl, 'path' | 'hostHeader'>;
  /** All headers but Host, Connection, Content-Length and the signatures. They have been checked. */
  readonly headers: HeaderList;
  /** The headers of the signatures: a name, its value, the next name, … */
  readonly signature: readonly string[];
  readonly body: Uint8Array | LargeBody;
  /** Its first byte must be written before this time. Null: no limit. */
  readonly mustStartBefore: number | null;
}

/** The events of an exchange. After `onEnd` or `onError` there are no more. */
export interface ExchangeListener {
  /** Called just before the first byte is written. When it returns false, nothing is written. */
  onStart(): boolean;
  /** The final response has begun. Interim responses are skipped. */
  onHead(status: number, headers: HeaderList): void;
  /** A part of the body. It is valid only during the call. */
  onBody(bytes: Buffer): void;
  /** The response is complete. */
  onEnd(): void;
  onError(error: Error & { readonly code?: string }): void;
  /** Takes memory for a part of the response. Returns false when none is left. */
  takeMemory(bytes: number): boolean;
}

/** One connection. It carries one exchange at a time, and connects when the first exchange needs it. */
export interface HttpClient {
  send(request: HttpRequest, exchange: ExchangeListener): void;
  /** After an exchange: how long the connection may be kept for the next one. 0 when it must not be used again. */
  readonly reusableMs: number;
  /** Whether bytes came that belong to no request. */
  readonly hasUnasked: boolean;
  /** Cuts off the current exchange without an event for it. Resolves when the connection is closed. */
  destroy(): Promise<void>;
}

/**
 * How long an idle connection is kept. This is less than the 5 s of most servers: otherwise we would write into
 * connections that they are closing.
 */
export const IDLE_MS_MAX = 4_000;
