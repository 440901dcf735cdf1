// How many messages that park may start at parked hosts: a part of a SlotBudget. There may be thousands of such hosts, and a
// new budget for every offer, so budgets of the same list share its index, and each notes only what it has given.

import { parkingBacklog } from './parking.ts';

/** The hosts that are parked or opening, and how many messages that park may start there. */
export type ParkedRooms = readonly (readonly [accountId: string, host: string, slots: number])[];

type Closed = readonly (readonly [accountId: string, backlog: string])[];

interface Index {
  /** By account, then by backlog. */
  readonly slots: ReadonlyMap<string, ReadonlyMap<string, number>>;
  /** The few at which anything may start. */
  readonly open: readonly (readonly [accountId: string, backlog: string, slots: number])[];
  readonly closed: Closed;
}

const indexes = new WeakMap<ParkedRooms, Index>();

function indexOf(list: ParkedRooms): Index {
  const known = indexes.get(list);
  if (known) return known;
  const slots = new Map<string, Map<string, number>>();
  const rooms = list.map(([accountId, host, room]) => [accountId, parkingBacklog(host), room] as const);
  for (const [accountId, backlog, room] of rooms) {
    const ofAccount = slots.get(accountId) ?? new Map<string, number>();
    slots.set(accountId, ofAccount.set(backlog, room));
  }
  const open = rooms.filter(([, , room]) => room > 0);
  const closed = rooms.flatMap(([accountId, backlog, room]) => (room > 0 ? [] : [[accountId, backlog] as const]));
  const index = { slots, open, closed };
  indexes.set(list, index);
  return index;
}

function keyOf(accountId: string, backlog: string): string {
  return `${accountId} ${backlog}`;
}

export class ParkedSlots {
  static readonly #none = new ParkedSlots([]);

  /** The same one for every budget without parked hosts: there is nothing in it to count. */
  static of(list: ParkedRooms): ParkedSlots {
    return list.length === 0 ? ParkedSlots.#none : new ParkedSlots(list);
  }

  readonly #list: ParkedRooms;
  readonly #index: Index;
  readonly #given: Map<string, number>;

  private constructor(list: ParkedRooms, given = new Map<string, number>()) {
    this.#list = list;
    this.#index = indexOf(list);
    this.#given = given;
  }

  /** Whether any host is parked or opening for the account. */
  has(accountId: string): boolean {
    return this.#index.slots.has(accountId);
  }

  /** Infinite if the backlog is not one of messages that wait for a parked host. */
  room(accountId: string, backlog: string): number {
    const slots = this.#index.slots.get(accountId)?.get(backlog);
    if (slots === undefined) return Number.POSITIVE_INFINITY;
    return this.#given.size === 0 ? slots : slots - (this.#given.get(keyOf(accountId, backlog)) ?? 0);
  }

  use(accountId: string, backlog: string): void {
    if (this.#index.slots.get(accountId)?.has(backlog) !== true) return;
    const key = keyOf(accountId, backlog);
    this.#given.set(key, (this.#given.get(key) ?? 0) + 1);
  }

  /** What is left. */
  list(): ParkedRooms {
    if (this.#given.size === 0) return this.#list;
    return this.#list.map(
      ([accountId, host]) => [accountId, host, this.room(accountId, parkingBacklog(host))] as const,
    );
  }

  /** Backlogs of which nothing may start. Without what was given, it is the same list for every budget. */
  closed(): Closed {
    const { closed, open } = this.#index;
    if (this.#given.size === 0) return closed;
    const full = open.filter(([accountId, backlog]) => this.room(accountId, backlog) < 1);
    return full.length === 0
      ? closed
      : [...closed, ...full.map(([accountId, backlog]) => [accountId, backlog] as const)];
  }

  copy(): ParkedSlots {
    if (this.#list.length === 0) return this;
    return new ParkedSlots(this.#list, new Map(this.#given));
  }

  /** What is left if other code spends all of `part`, which is a copy. */
  without(part: ParkedSlots): ParkedSlots {
    if (this.#list.length === 0) return this;
    const given = new Map(this.#given);
    for (const [accountId, backlog] of this.#index.open) {
      const key = keyOf(accountId, backlog);
      given.set(key, (given.get(key) ?? 0) + part.room(accountId, backlog));
    }
    return new ParkedSlots(this.#list, given);
  }
}
