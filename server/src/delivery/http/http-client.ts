// The port to one connection: what an attempt asks of it, and what it hears. There are two kinds: plain HTTP/1.1 over a
// socket of ours, and HTTPS through undici.

import type { HeaderList, Method } from '../../rules/delivery/message.ts';
import type { TargetUrl } from '../../rules/publish/destination.ts';
import type { LargeBody } from './large-body.ts';

export interface HttpRequest {
  readonly method: Method;
  readonly target: Pick<TargetUrl, 'path' | 'hostHeader'>;
  /** All but Host, Connection, Content-Length and the signatures. They were checked. */
  readonly headers: HeaderList;
  /** The headers of the signatures: a name, its value, the next name, … */
  readonly signature: readonly string[];
  readonly body: Uint8Array | LargeBody;
}

/** What an attempt hears of its exchange. After `onEnd` or `onError` it hears nothing more. */
export interface Exchange {
  /** Called just before the first byte is written. When it returns false, nothing is written. */
  onStart(): boolean;
  /** The final answer has begun. Interim answers are passed over. */
  onHead(status: number, headers: HeaderList): void;
  /** A part of the body. It is valid only during the call. */
  onBody(bytes: Buffer): void;
  /** The answer is whole. */
  onEnd(): void;
  onError(error: Error & { readonly code?: string }): void;
  /** Takes memory for a part of the answer. Returns false when none is left. */
  takeBytes(bytes: number): boolean;
}

/** One connection. It carries one exchange at a time, and connects when the first one needs it. */
export interface HttpClient {
  send(request: HttpRequest, exchange: Exchange): void;
  /** After an exchange that ended: for how long it may be kept for the next one. 0 when it must not be used again. */
  readonly reusableMs: number;
  /** Whether bytes came that no request asked for. */
  readonly hasUnasked: boolean;
  /** Cuts off what it does. Its exchange hears nothing of it. Resolves when the connection is closed. */
  destroy(): Promise<void>;
}

/** Less than the usual 5 s of servers, or we would write into connections they are just closing. */
export const IDLE_MS_MAX = 4_000;
