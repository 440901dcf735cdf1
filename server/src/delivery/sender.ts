// The port between the engine, which decides, and whatever sends. Plain data in batches both ways, so that sending
// can move to other threads without any policy moving with it. A test puts a network of its own behind it.

import type { HeaderList, Method, Outcome } from '../domain/message.ts';

/** One request to make. Nothing here needs another look into the store. */
export interface SendJob {
  /** The claim's lease: names this attempt and no other. */
  readonly lease: string;
  readonly messageId: string;
  /** Whose share of what all accounts use it takes. */
  readonly accountId: string;
  /** Exactly as the user wrote it; also what the signature vouches for. */
  readonly url: string;
  readonly method: Method;
  /** All headers of the request but Host, Content-Length and the signatures. */
  readonly headers: HeaderList;
  readonly body: Uint8Array;
  /** The whole exchange, from connect to the last byte of the answer. */
  readonly timeoutMs: number;
  readonly signingKey: string;
}

export interface SendReport {
  readonly lease: string;
  readonly startedAt: number;
  readonly endedAt: number;
  /** `unsent`: it came too late to start, or never had its turn, and not a byte of it was written. */
  readonly outcome: Outcome | 'unsent';
}

export interface Sender {
  /** Starts the attempts. Each one is reported exactly once, whatever happens. */
  send(jobs: readonly SendJob[]): void;
  /** Called with what has ended since the last call. Set once, before the first `send`. */
  onReports(listener: (reports: readonly SendReport[]) => void): void;
  /**
   * Called with attempts whose bodies are written to their connections: nothing of them is held here any more. Only large
   * ones are named, those that count among the bytes in flight. Set once, before the first `send`.
   */
  onWritten(listener: (leases: readonly string[]) => void): void;
  /**
   * Requests may be put on the wire until this time (monotonic). What has not started when it passes is never sent, also
   * not when it is extended later: it is reported as `unsent`. Without a call, there is no end.
   */
  mayStartUntil(untilMs: number): void;
  /**
   * Sees to it that none of these starts any more, and answers those of which not a byte was written: they are not reported.
   * The others are on the wire, or have ended.
   */
  drop(leases: readonly string[]): readonly string[];
  /** Cuts off what is still running (reported as `interrupted`) and closes every connection. */
  close(): Promise<void>;
}
