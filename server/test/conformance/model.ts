// The store as an array: what the model-based test holds the real one against. Small enough to be right by reading.

import type { NewMessage, Settlement } from '../../src/rules/delivery/message.ts';
import { NEVER_AT } from '../../src/rules/delivery/recovery.ts';
import { freeHeads } from '../../src/rules/lines/queue.ts';
import { NOW } from './given.ts';

export interface ModelMessage {
  readonly id: string;
  readonly queue: string | null;
  host: string;
  readonly priority: number | null;
  /** Whether it waits while its host is parked. */
  parks: boolean;
  /** Its debounce key, when it was accepted under it, and for how many it stands. */
  readonly key: string | null;
  readonly acceptedAt: number;
  count: number;
  firstDueAt: number;
  /** From then on it must not start; null if it does not expire. */
  mustStartBefore: number | null;
  dueAt: number;
  /** What its last change made of it: a number in its URL, its body and a header. Null until then. */
  content: number | null;
  changes: number;
  state: 'pending' | 'claimed' | 'held' | 'delivered' | 'failed' | 'cancelled';
  /** A head of its queue: from its start until its end, retries included. */
  hasPlace: boolean;
  /** Whether it had a place since it came into its line. */
  hadPlace: boolean;
  /** The claim under way; null also while it was leased at acceptance and its node has not looked at it. */
  lease: string | null;
  /** The node to which it was leased at acceptance, until that node is given it. */
  promisedTo: number | null;
  retried: number;
  interrupted: number;
  aloneAtCrash: number;
  attempts: number;
  readonly retriesMax: number;
  /** How long a 202 waits for its ack; null: it ends the attempt. */
  readonly awaitAckMs: number | null;
  /** What the receiver has reported of the attempt under way, or that its ack is awaited. */
  ack: ModelAck | null;
  /** How each attempt has ended. */
  readonly ends: AttemptEnd[];
  /** It is to be cancelled, and ends with its claim. */
  isCancelling: boolean;
  /** Only `claimAlone` hands it out. */
  startsAlone: boolean;
}

export interface ModelAck {
  isAwaiting: boolean;
  deadlineAt: number;
  latestAt: number;
  progress: number | null;
}

export interface AttemptEnd {
  readonly how: 'ok' | 'rejected' | 'else';
  readonly hasNext: boolean;
  /** No attempt could follow, whatever its receiver wanted. */
  readonly isLast: boolean;
}

export interface ModelNode {
  /** Leases handed to it and not settled or given back, good ones and lost ones. */
  leases: string[];
  /** What its last claim left free. */
  offer: number;
  /** What its last claim left free at parked hosts. */
  rooms: Map<string, number>;
}

export class StoreModel {
  now = NOW;
  contents = 0;
  /** In the order of acceptance. */
  readonly messages: ModelMessage[] = [];
  readonly queues = new Map<string, { parallelism: number; isPaused: boolean }>();
  /** When messages were due that later ones with their debounce keys put off: a node may look then, and find nothing. */
  readonly putOff = new Set<number>();
  /** Parked hosts, and how many messages that park may start there. */
  readonly rooms = new Map<string, number>();
  readonly nodes: readonly ModelNode[] = [
    { leases: [], offer: 0, rooms: new Map() },
    { leases: [], offer: 0, rooms: new Map() },
  ];

  accept(accepted: NewMessage): ModelMessage {
    const { id, queueName: queue, host, dueAt, priority, mustStartBefore, debounce, outage } = accepted;
    const { retriesMax, awaitAckMs } = accepted;
    const state = {
      state: 'pending',
      hasPlace: false,
      hadPlace: false,
      content: null,
      lease: null,
      promisedTo: null,
    } as const;
    const counts = {
      retried: 0,
      interrupted: 0,
      aloneAtCrash: 0,
      attempts: 0,
      startsAlone: false,
      isCancelling: false,
      changes: 0,
    };
    const debounced = { key: debounce?.key ?? null, acceptedAt: this.now, count: debounce?.count ?? 0 };
    const times = { firstDueAt: dueAt, mustStartBefore, dueAt };
    const parks = outage === 'park';
    const acks = { retriesMax, awaitAckMs, ack: null, ends: [] };
    const message = { id, queue, host, priority, parks, ...debounced, ...times, ...state, ...counts, ...acks };
    this.messages.push(message);
    if (queue !== null && !this.queues.has(queue)) this.queues.set(queue, { parallelism: 1, isPaused: false });
    return message;
  }

  /** The one whose place the next message with the key takes. */
  waiting(key: string): ModelMessage | undefined {
    return this.waitingUnder(key).at(-1);
  }

  waitingUnder(key: string): ModelMessage[] {
    const waits = (each: ModelMessage) => each.state === 'pending' && each.attempts === 0 && !this.isExpired(each);
    return this.messages.filter((each) => each.key === key && waits(each));
  }

  /** A claim was given back. Of those that now wait under its key, the newest stands for all, and the others have ended. */
  overtake({ key, attempts, state }: ModelMessage): ModelMessage[] {
    const waiting = key === null || attempts > 0 || state !== 'pending' ? [] : this.waitingUnder(key);
    const newest = waiting.pop();
    for (const each of waiting) {
      newest!.count += each.count;
      this.leave(each, 'cancelled');
    }
    return waiting;
  }

  withLease(lease: string): ModelMessage | undefined {
    return this.messages.find((message) => message.lease === lease);
  }

  open(queue: string): ModelMessage[] {
    return this.messages.filter((each) => each.queue === queue && isOpen(each));
  }

  /** No longer claimed, nor a head if it ended, or if one before it has lost its place. */
  leave(message: ModelMessage, state: ModelMessage['state']): void {
    const isOver = state !== 'pending' && state !== 'held';
    const line = message.queue === null ? [] : this.line(message.queue);
    const isFirst = line.slice(0, line.indexOf(message)).every((each) => each.hasPlace || !each.hadPlace);
    const hasPlace = message.hasPlace && !isOver && isFirst;
    Object.assign(message, { state, lease: null, promisedTo: null, hasPlace, ack: null });
  }

  /** An attempt has ended, or awaits its ack from now on. */
  settled(message: ModelMessage, settlement: Settlement): void {
    const { retried, interrupted, aloneAtCrash, next } = settlement;
    if (next.state === 'awaiting') {
      const { deadlineAt, latestAt } = next;
      const { ack: before } = message;
      // What was reported before the response counts, but not beyond the latest time.
      const extendedAt = Math.min(before?.deadlineAt ?? 0, latestAt);
      const ack = { progress: before?.progress ?? null, latestAt, deadlineAt: Math.max(deadlineAt, extendedAt) };
      message.ack = { ...ack, isAwaiting: true };
      return;
    }
    this.record(message, settlement);
    this.leave(message, next.state);
    const startsAlone = next.state === 'pending' && next.startsAlone;
    Object.assign(message, { retried, interrupted, aloneAtCrash, startsAlone });
    if (next.state === 'pending') message.dueAt = next.dueAt;
    if (next.state === 'held') message.dueAt = NEVER_AT;
  }

  /** It was to be cancelled, and its attempt has ended. */
  endCancelled(
    message: ModelMessage,
    settlement: Pick<Settlement, 'attempt' | 'next' | 'interrupted' | 'aloneAtCrash'>,
  ): void {
    const { attempt, next, interrupted, aloneAtCrash } = settlement;
    // A 202 that awaits its ack is no success.
    const outcome = next.state === 'awaiting' ? 'noAck' : attempt.outcome;
    this.record(message, { attempt: { ...attempt, outcome }, next: { state: 'cancelled' } });
    this.leave(message, 'cancelled');
    Object.assign(message, { interrupted, aloneAtCrash });
  }

  record(
    message: ModelMessage,
    {
      attempt,
      next,
    }: { readonly attempt: Settlement['attempt']; readonly next: Settlement['next'] | { state: 'cancelled' } },
  ): void {
    const { outcome, status } = attempt;
    const isOk = outcome === 'answered' && status! >= 200 && status! <= 299;
    const isExpired = next.state === 'failed' && next.code === 'expired';
    message.ends.push({
      how: isOk ? 'ok' : outcome === 'rejected' ? 'rejected' : 'else',
      hasNext: next.state === 'pending',
      isLast: isExpired || message.retried >= message.retriesMax,
    });
    message.attempts += 1;
  }

  requestCancel(message: ModelMessage): void {
    message.isCancelling = true;
    if (message.ack?.isAwaiting) message.ack.deadlineAt = 0;
  }

  /** With a new time, one that was never tried waits as if it came now; between two attempts only the next one moves. */
  move(message: ModelMessage, dueAt: number): void {
    message.dueAt = dueAt;
    if (message.attempts === 0) Object.assign(message, { firstDueAt: dueAt, hasPlace: false, hadPlace: false });
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
      for (const message of waiting.slice(0, this.freePlaces(name))) {
        Object.assign(message, { hasPlace: true, hadPlace: true });
      }
    }
  }

  freePlaces(queue: string): number {
    return freeHeads(this.queues.get(queue)!, this.open(queue).filter((message) => message.hasPlace).length);
  }

  claimable(): ModelMessage[] {
    const isDue = (message: ModelMessage) => message.dueAt <= this.now && !this.isExpired(message);
    return this.messages.filter((message) => this.mayStart(message) && isDue(message));
  }

  /** How many of these may start: at a parked host, those that park, within its room. */
  startable(claimable: readonly ModelMessage[], promised: readonly ModelMessage[]): number {
    const isParked = (each: ModelMessage) => each.parks && this.rooms.has(each.host);
    const atParked = [...this.rooms].map(([host, room]) => {
      const [own, taken] = [claimable, promised].map((all) =>
        all.filter((each) => isParked(each) && each.host === host),
      );
      return Math.min(own!.length, Math.max(0, room - taken!.length));
    });
    const others = claimable.filter((each) => !isParked(each)).length;
    return others + atParked.reduce((sum, count) => sum + count, 0);
  }

  isExpired({ mustStartBefore }: ModelMessage): boolean {
    return mustStartBefore !== null && mustStartBefore <= this.now;
  }

  /** The one that has waited for longest to start alone; of several, any. */
  firstAlone(): ModelMessage[] {
    const waiting = this.messages.filter(
      (each) => each.startsAlone && this.hasTurn(each) && each.dueAt <= this.now && !this.isExpired(each),
    );
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
