// Lines that messages wait in: queues and flow keys, as people set them up and look at them.

import type { FlowKey, FlowPin } from '../../rules/lines/flow-key.ts';
import type { Queue, QueueChange } from '../../rules/lines/queue.ts';
import type { ListPart, ListPiece } from './list-piece.ts';

/** The position of a message in its queue. */
export interface LinePosition {
  readonly dueAt: number;
  readonly seq: number;
}

export interface LinePiece {
  readonly count: number;
  /** Where to continue the count; null when all are counted. */
  readonly next: LinePosition | null;
}

export interface LineStore {
  // ——— queues ———

  /** Creates the queue or changes the fields that `change` names. Takes effect with the next claim. */
  saveQueue(accountId: string, name: string, change: QueueChange, now: number): Promise<Queue>;

  /** The lag is counted up to a budget, and the result says if it was cut there. */
  getQueue(accountId: string, name: string): Promise<Queue | null>;

  /**
   * Deletes the queue if it has no open messages, apart from those whose cancel was requested. Returns the lag (0 means
   * deleted), or null if there is no such queue.
   */
  deleteQueue(accountId: string, name: string): Promise<number | null>;

  /** Ordered by name. The lag is counted as in `getQueue`. */
  listQueues(accountId: string, part?: ListPart): Promise<ListPiece<Queue>>;

  /** How many queues the account has, counted up to `max`. */
  countQueues(accountId: string, max: number): Promise<number>;

  /** Continues a count of the open messages of a queue, from a position in the queue. */
  countLine(accountId: string, queueName: string, from: LinePosition | null): Promise<LinePiece>;

  // ——— flow keys ———

  getFlowKey(accountId: string, key: string): Promise<FlowKey | null>;

  pauseFlowKey(accountId: string, key: string, isPaused: boolean, now: number): Promise<FlowKey | null>;

  /** Pins limits against those that messages carry, or removes the pins. Creates the key if it does not exist. */
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
  listFlowKeys(accountId: string, part?: ListPart): Promise<ListPiece<FlowKey>>;
}
