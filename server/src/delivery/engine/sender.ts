// The port between the engine, which decides, and the sender, which sends. Both directions carry batches of plain data,
// so that sending can move to other threads without any decision moving with it. A test puts a network of its own
// behind the port.

import type { HeaderList, Method, Outcome } from '../../rules/delivery/message.ts';

/** One request to make. It needs no further read from the store. */
export interface Delivery {
  /** The claim's lease: identifies this attempt. */
  readonly lease: string;
  readonly messageId: string;
  /** The account whose share of the shared pools this delivery uses. */
  readonly accountId: string;
  /** The URL exactly as the user wrote it. The signature covers it. */
  readonly url: string;
  readonly method: Method;
  /** All headers of the request but Host, Content-Length and the signatures. */
  readonly headers: HeaderList;
  readonly body: Uint8Array;
  /** Limit for the whole attempt: the wait for a connection, and the exchange up to the last byte of the response. */
  readonly timeoutMs: number;
  /** From this time on not a byte of the request may be written: then it is reported as `unsent`. Null: no limit. */
  readonly mustStartBefore: number | null;
  readonly signingKey: string;
}

export interface SendReport {
  readonly lease: string;
  readonly startedAt: number;
  readonly endedAt: number;
  /**
   * `unsent`: the attempt was too late to start, its message had expired, or it never had its turn. Not a byte of its
   * request was written.
   */
  readonly outcome: Outcome | 'unsent';
}

export interface Sender {
  /** Starts the attempts. Each is reported exactly once, whatever happens, unless `drop` returns it. */
  send(deliveries: readonly Delivery[]): void;
  /** The listener gets the attempts that have ended since its last call. Set once, before the first `send`. */
  onReports(listener: (reports: readonly SendReport[]) => void): void;
  /**
   * The listener gets the attempts whose bodies are written to their connections: the sender no longer holds these
   * bodies. Only attempts with large bodies are named, because only large bodies count among the bytes in flight. Set
   * once, before the first `send`.
   */
  onWritten(listener: (leases: readonly string[]) => void): void;
  /**
   * Requests may be written to the network until this time (monotonic). A delivery that has not started by then is never
   * sent, even if the time is extended later: it is reported as `unsent`. Without a call, there is no limit.
   */
  mayStartUntil(untilMs: number): void;
  /**
   * Prevents these attempts from starting. Returns the attempts of which not a byte was written: they are not reported.
   * The others are being sent, or have ended.
   */
  drop(leases: readonly string[]): readonly string[];
  /** Cuts off running attempts (reported as `interrupted`) and closes every connection. */
  close(): Promise<void>;
}
