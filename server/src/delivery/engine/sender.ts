// The port between the engine, which decides, and the sender, which sends. Both directions carry batches of plain data,
// so that sending can move to other threads without any decision moving with it. A test puts a network of its own
// behind it.

import type { HeaderList, Method, Outcome } from '../../rules/delivery/message.ts';

/** One request to make. It needs no further read from the store. */
export interface Delivery {
  /** The claim's lease: identifies this attempt. */
  readonly lease: string;
  readonly messageId: string;
  /** The account whose share of the shared pools it uses. */
  readonly accountId: string;
  /** Exactly as the user wrote it. The signature covers it. */
  readonly url: string;
  readonly method: Method;
  /** All headers of the request but Host, Content-Length and the signatures. */
  readonly headers: HeaderList;
  readonly body: Uint8Array;
  /** For the whole exchange, from connecting to the last byte of the response. */
  readonly timeoutMs: number;
  readonly signingKey: string;
}

export interface SendReport {
  readonly lease: string;
  readonly startedAt: number;
  readonly endedAt: number;
  /** `unsent`: it was too late to start, or it never had its turn. Not a byte of it was written. */
  readonly outcome: Outcome | 'unsent';
}

export interface Sender {
  /** Starts the attempts. Each one is reported exactly once, whatever happens. */
  send(deliveries: readonly Delivery[]): void;
  /** Called with what has ended since the last call. Set once, before the first `send`. */
  onReports(listener: (reports: readonly SendReport[]) => void): void;
  /**
   * Called with attempts whose bodies are written to their connections: nothing of them is held here any more. Only
   * large bodies are named, those that count among the bytes in flight. Set once, before the first `send`.
   */
  onWritten(listener: (leases: readonly string[]) => void): void;
  /**
   * Requests may be written to the network until this time (monotonic). A delivery that has not started by then is never
   * sent, even if the time is extended later: it is reported as `unsent`. Without a call, there is no limit.
   */
  mayStartUntil(untilMs: number): void;
  /**
   * Prevents these attempts from starting. Returns those of which not a byte was written: they are not reported. The
   * others are being sent, or have ended.
   */
  drop(leases: readonly string[]): readonly string[];
  /** Cuts off running attempts (reported as `interrupted`) and closes every connection. */
  close(): Promise<void>;
}
