// The store as an array: what the model-based test holds the real one against. Small enough to be right by reading.

import { freeHeads } from '../../src/rules/lines/queue.ts';
import { NOW } from './given.ts';

export interface ModelMessage {
  readonly id: string;
  readonly queue: string | null;
  readonly host: string;
  readonly firstDueAt: number;
  dueAt: number;
  state: 'pending' | 'claimed' | 'held' | 'delivered' | 'failed' | 'cancelled';
  /** A head of its queue: from its start until its end, retries included. */
  hasPlace: boolean;
  /** The claim under way; null also while it was leased at acceptance and its node has not looked at it. */
  lease: string | null;
  /** The node to which it was leased at acceptance, until that node is given it. */
  promisedTo: number | null;
  retried: number;
  interrupted: number;
  aloneAtCrash: number;
  attempts: number;
  /** It is to be cancelled, and ends with its claim. */
  isCancelling: boolean;
  /** Only `claimAlone` hands it out. */
  startsAlone: boolean;
}

export interface ModelNode {
  /** Leases handed to it and not settled or given back, good ones and lost ones. */
  leases: string[];
  /** What its last claim left free. */
  offer: number;
}

export class StoreModel {
  now = NOW;
  /** In the order of acceptance. */
  readonly messages: ModelMessage[] = [];
  readonly queues = new Map<string, { parallelism: number; isPaused: boolean }>();
  readonly nodes: readonly ModelNode[] = [
    { leases: [], offer: 0 },
    { leases: [], offer: 0 },
  ];

  accept(id: string, queue: string | null, host: string, dueAt: number): ModelMessage {
    const state = { state: 'pending', hasPlace: false, lease: null, promisedTo: null } as const;
    const counts = {
      retried: 0,
      interrupted: 0,
      aloneAtCrash: 0,
      attempts: 0,
      startsAlone: false,
      isCancelling: false,
    };
    const message = { id, queue, host, firstDueAt: dueAt, dueAt, ...state, ...counts };
    this.messages.push(message);
    if (queue !== null && !this.queues.has(queue)) this.queues.set(queue, { parallelism: 1, isPaused: false });
    return message;
  }

  withLease(lease: string): ModelMessage | undefined {
    return this.messages.find((message) => message.lease === lease);
  }

  open(queue: string): ModelMessage[] {
    return this.messages.filter((each) => each.queue === queue && isOpen(each));
  }

  /** No longer claimed, nor a head if it ended, or if one before it has no place. */
  leave(message: ModelMessage, state: ModelMessage['state']): void {
    const isOver = state !== 'pending' && state !== 'held';
    const line = message.queue === null ? [] : this.line(message.queue);
    const isFirst = line.slice(0, line.indexOf(message)).every((each) => each.hasPlace);
    const hasPlace = message.hasPlace && !isOver && isFirst;
    Object.assign(message, { state, lease: null, promisedTo: null, hasPlace });
  }

  /** In their order: stable, so by acceptance if they become due together. */
  line(queue: string): ModelMessage[] {
    return this.open(queue).toSorted((a, b) => a.firstDueAt - b.firstDueAt);
  }

  /** To be called after every change, also of the time: the heads of the queues as they must now be. */
  fillPlaces(): void {
    for (const [name, queue] of this.queues) {
      const line = this.line(name);
      const heads = line.filter((message) => message.hasPlace);
      const idle = heads.filter((message) => message.state !== 'claimed').reverse();
      for (const message of idle.slice(0, Math.max(0, heads.length - queue.parallelism))) message.hasPlace = false;
      const waiting = line.filter((message) => !message.hasPlace && message.firstDueAt <= this.now);
      for (const message of waiting.slice(0, this.freePlaces(name))) message.hasPlace = true;
    }
  }

  freePlaces(queue: string): number {
    return freeHeads(this.queues.get(queue)!, this.open(queue).filter((message) => message.hasPlace).length);
  }

  claimable(): ModelMessage[] {
    return this.messages.filter((message) => this.mayStart(message) && message.dueAt <= this.now);
  }

  /** The one that has waited for longest to start alone; of several, any. */
  firstAlone(): ModelMessage[] {
    const waiting = this.messages.filter((each) => each.startsAlone && this.hasTurn(each) && each.dueAt <= this.now);
    const first = Math.min(...waiting.map(({ dueAt }) => dueAt));
    return waiting.filter(({ dueAt }) => dueAt === first);
  }

  nextDueAt(): number | null {
    const waiting = this.messages.filter((message) => this.mayStart(message)).map((message) => message.dueAt);
    const behind = [...this.queues.keys()]
      .filter((name) => this.freePlaces(name) > 0)
      .flatMap((name) => this.open(name).filter((message) => !message.hasPlace))
      .map((message) => message.firstDueAt);
    const times = [...waiting, ...behind].filter((at) => at > this.now);
    return times.length === 0 ? null : Math.min(...times);
  }

  mayStart(message: ModelMessage): boolean {
    return this.hasTurn(message) && !message.startsAlone;
  }

  hasTurn(message: ModelMessage): boolean {
    if (message.state !== 'pending') return false;
    return message.queue === null || (message.hasPlace && !this.queues.get(message.queue)!.isPaused);
  }
}

export function isOpen({ state }: ModelMessage): boolean {
  return state === 'pending' || state === 'claimed' || state === 'held';
}
