// Lines in which messages wait: queues and flow keys, as people set them up and read them.

import type { FlowKey, FlowPin } from '../../rules/lines/flow-key.ts';
import type { Queue, QueueChange } from '../../rules/lines/queue.ts';
import type { ListPiece, ListPieceRequest } from './list-piece.ts';

/** The position of a message in its queue. */
export interface LinePosition {
  readonly dueAt: number;
  readonly seq: number;
}

export interface LinePiece {
  readonly count: number;
  /** Where to continue the count. Null when all messages are counted. */
  readonly next: LinePosition | null;
}

export interface LineStore {
  // ——— queues ———

  /** Creates the queue or changes the fields that `change` names. Takes effect with the next claim. */
  saveQueue(accountId: string, name: string, change: QueueChange, now: number): Promise<Queue>;

  /** The lag is the number of open messages, counted up to a limit. The result says whether the limit was reached. */
  getQueue(accountId: string, name: string): Promise<Queue | null>;

  /**
   * Deletes the queue if it has no open messages, apart from those whose cancel was requested. Returns the lag, which
   * is 0 if the queue was deleted. Returns null if there is no such queue.
   */
  deleteQueue(accountId: string, name: string): Promise<number | null>;

  /** Ordered by name. The lag is counted as in `getQueue`. */
  listQueues(accountId: string, part?: ListPieceRequest): Promise<ListPiece<Queue>>;

  /** How many queues the account has, counted up to `max`. */
  countQueues(accountId: string, max: number): Promise<number>;

  /** Continues a count of the open messages of a queue, from a position in the queue. */
  countLine(accountId: string, queueName: string, from: LinePosition | null): Promise<LinePiece>;

  // ——— flow keys ———

  getFlowKey(accountId: string, key: string): Promise<FlowKey | null>;

  pauseFlowKey(accountId: string, key: string, isPaused: boolean, now: number): Promise<FlowKey | null>;

  /** Pins limits, so that messages cannot change them, or unpins them. Creates the key if it does not exist. */
  pinFlowKey(
    accountId: string,
    key: string,
    pin: {
      readonly parallelism: FlowPin<number>;
      readonly rate: FlowPin<{ readonly rate: number; readonly periodMs: number }>;
    },
    now: number,
  ): Promise<FlowKey>;

  resetFlowRate(accountId: string, key: string, now: number): Promise<FlowKey | null>;

  /** Ordered by key. */
  listFlowKeys(accountId: string, part?: ListPieceRequest): Promise<ListPiece<FlowKey>>;
}
