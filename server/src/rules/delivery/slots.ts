// How many attempts may start, and for which accounts. Claims and leases at accept use the same budget, in every store
// adapter. So together they cannot start more than the engine has room for, or give one account the share of others.

import { shareRoom } from '../../runtime/collections/pool.ts';
import { type ParkedRooms, ParkedSlots } from '../hosts/parked-slots.ts';
import { hostOfBacklog, parkingBacklog } from '../hosts/parking.ts';
import { UNCOUNTED_BODY_BYTES_MAX } from '../limits/budgets.ts';

/**
 * What is free, and what accounts have in flight. The share of an account is as much as then remains free for others.
 */
export interface ClaimLimits {
  /** How many attempts may start at most. */
  readonly slots: number;
  /** Free slots of the node. An account may take its share of them. */
  readonly sharedSlots: number;
  /** Free bytes for large bodies (see countedBytes). An account may take its share of them. */
  readonly bytes: number;
  /** How many messages may start whose bodies are larger than the share of their account. */
  readonly oversized: number;
  /** Whether an account with nothing in flight may take the last free slot. */
  readonly lastGoes: boolean;
  readonly accountMax: number;
  /** Attempts in flight by account, and their counted bytes. */
  readonly accountsBusy: readonly (readonly [accountId: string, attempts: number, bytes: number])[];
  /** An account that is not named in `accountsBusy` has at most this many attempts in flight, and no counted bytes. */
  readonly accountsOther: number;
  /**
   * For each host: its free slots, and how many attempts an account that `busyAtHosts` does not name has there at most.
   */
  readonly hostsFree: readonly (readonly [host: string, slots: number, attempts: number])[];
  /**
   * A host that `hostsFree` does not name has at least this many free slots, and an account has at most this many
   * attempts there.
   */
  readonly hostsOther: readonly [slots: number, attempts: number];
  /** Attempts in flight by account and host. */
  readonly busyAtHosts: readonly (readonly [accountId: string, host: string, attempts: number])[];
  readonly parked: ParkedRooms;
}

export const NO_SLOTS: ClaimLimits = {
  slots: 0,
  sharedSlots: 0,
  bytes: 0,
  oversized: 0,
  lastGoes: false,
  accountMax: 0,
  accountsBusy: [],
  accountsOther: 0,
  hostsFree: [],
  hostsOther: [0, 0],
  busyAtHosts: [],
  parked: [],
};

/** How many bytes a body counts for in flight. Small bodies are not counted. */
export function countedBytes(bodyBytes: number): number {
  return bodyBytes > UNCOUNTED_BODY_BYTES_MAX ? bodyBytes : 0;
}

/** How many of the `free` slots an account may take that already holds `held` slots. */
export function slotsRoom(free: number, held: number, lastGoes: boolean): number {
  const room = shareRoom(free, 0, held);
  // Without this exception nobody could take the last slot, because no share would then remain for others.
  return room === 0 && lastGoes && held === 0 && free > 0 ? 1 : room;
}

/**
 * Whether a body fits into the share of its account. If not, the body is counted as oversized, outside the pool, so
 * that it does not wait for ever.
 */
export function fitsShare(counted: number, free: number, held: number): boolean {
  return counted === 0 || counted <= shareRoom(free, 0, held);
}

/** What one account holds. */
interface Held {
  attempts: number;
  bytes: number;
}

/** The slots at one host. */
interface HostSlots {
  free: number;
  /** How many attempts an account without an entry in `busy` has in flight at most. */
  readonly others: number;
  /** Attempts in flight by account. */
  readonly busy: Map<string, number>;
}

/** Counts down from the given limits what is claimed. */
export class SlotBudget {
  #slots: number;
  #sharedSlots: number;
  #bytes: number;
  #oversized: number;
  readonly #lastGoes: boolean;
  readonly #accountMax: number;
  readonly #accounts = new Map<string, Held>();
  readonly #accountsOther: number;
  readonly #hosts = new Map<string, HostSlots>();
  readonly #hostsOther: ClaimLimits['hostsOther'];
  readonly #parked: ParkedSlots;

  /** `parked`: what is left of the parked hosts of the limits, if some of it is given already. */
  constructor(limits: ClaimLimits, parked = ParkedSlots.of(limits.parked)) {
    this.#slots = limits.slots;
    this.#sharedSlots = limits.sharedSlots;
    this.#bytes = limits.bytes;
    this.#oversized = limits.oversized;
    this.#lastGoes = limits.lastGoes;
    this.#accountMax = limits.accountMax;
    for (const [accountId, attempts, bytes] of limits.accountsBusy) this.#accounts.set(accountId, { attempts, bytes });
    this.#accountsOther = limits.accountsOther;
    for (const [host, free, others] of limits.hostsFree) this.#hosts.set(host, { free, others, busy: new Map() });
    this.#hostsOther = limits.hostsOther;
    for (const [accountId, host, attempts] of limits.busyAtHosts) this.#slotsAt(host).busy.set(accountId, attempts);
    this.#parked = parked;
  }

  get slots(): number {
    return this.#slots;
  }

  /** How many more messages of this account may start, before the limits of hosts and bodies. */
  accountRoom(accountId: string): number {
    const held = this.#accounts.get(accountId)?.attempts ?? this.#accountsOther;
    const own = Math.max(0, this.#accountMax - held);
    return Math.min(this.#slots, own, slotsRoom(this.#sharedSlots, held, this.#lastGoes));
  }

  /** How many more messages of this account in this backlog may start, before the limit of bodies. */
  room(accountId: string, backlog: string): number {
    return Math.min(this.accountRoom(accountId), this.hostRoom(accountId, backlog));
  }

  /** How many more messages of this account in this backlog may start, by the slots of the host alone. */
  hostRoom(accountId: string, backlog: string): number {
    const host = this.#hostOf(backlog);
    const room = slotsRoom(this.#freeAt(host), this.#heldAt(host, accountId), this.#lastGoes);
    return Math.min(room, this.#parked.room(accountId, backlog));
  }

  /** Whether messages of this backlog wait for their host, and not for a slot. */
  isParked(accountId: string, backlog: string): boolean {
    return this.#parked.room(accountId, backlog) < 1;
  }

  /** Whether messages of the account may wait for a host. */
  hasParked(accountId: string): boolean {
    return this.#parked.has(accountId);
  }

  /** Backlogs of which no message may start, because their hosts are parked: their accounts and names. */
  parked(): readonly (readonly [accountId: string, backlog: string])[] {
    return this.#parked.closed();
  }

  #hostOf(backlog: string): string {
    return this.#hosts.has(backlog) ? backlog : hostOfBacklog(backlog);
  }

  /** Those of the accounts and backlogs of hosts that the limits name for which no message may start. */
  full(): { readonly accounts: string[]; readonly hosts: string[] } {
    return {
      accounts: [...this.#accounts.keys()].filter((accountId) => this.accountRoom(accountId) < 1),
      hosts: [...this.#hosts].flatMap(([host, { free }]) => (free < 1 ? [host, parkingBacklog(host)] : [])),
    };
  }

  /** No message of these accounts may start from now on. */
  block(accountIds: readonly string[]): void {
    for (const id of accountIds) {
      this.#accounts.set(id, { attempts: Number.MAX_SAFE_INTEGER, bytes: this.#accounts.get(id)?.bytes ?? 0 });
    }
  }

  take(accountId: string, backlog: string, bodyBytes: number): boolean {
    if (this.room(accountId, backlog) < 1) return false;
    const held = this.#accounts.get(accountId)?.bytes ?? 0;
    if (!fitsShare(countedBytes(bodyBytes), this.#bytes, held) && (held > 0 || this.#oversized < 1)) return false;
    this.use(accountId, backlog, bodyBytes);
    return true;
  }

  /** Counts a message that already has its slot, even if there is no room. */
  use(accountId: string, backlog: string, bodyBytes: number): void {
    this.#slots -= 1;
    this.#sharedSlots -= 1;
    const counted = countedBytes(bodyBytes);
    let account = this.#accounts.get(accountId);
    if (!account) {
      account = { attempts: this.#accountsOther, bytes: 0 };
      this.#accounts.set(accountId, account);
    }
    if (fitsShare(counted, this.#bytes, account.bytes)) this.#bytes -= counted;
    else this.#oversized -= 1;
    account.attempts += 1;
    account.bytes += counted;
    const atHost = this.#slotsAt(this.#hostOf(backlog));
    atHost.free -= 1;
    atHost.busy.set(accountId, (atHost.busy.get(accountId) ?? atHost.others) + 1);
    this.#parked.use(accountId, backlog);
  }

  /** What is left of this budget, as the limits of another budget. */
  limits(): ClaimLimits {
    const parked = this.#parked.list();
    // Another list would mean that something has changed at a parked host.
    return this.#limits(parked.length === 0 ? NO_SLOTS.parked : parked);
  }

  /** Mostly without the parked hosts, which may be many. */
  #limits(parked = NO_SLOTS.parked): ClaimLimits {
    return {
      slots: this.#slots,
      sharedSlots: this.#sharedSlots,
      bytes: this.#bytes,
      oversized: this.#oversized,
      lastGoes: this.#lastGoes,
      accountMax: this.#accountMax,
      accountsBusy: [...this.#accounts].map(([id, { attempts, bytes }]) => [id, attempts, bytes] as const),
      accountsOther: this.#accountsOther,
      hostsFree: [...this.#hosts].map(([host, { free, others }]) => [host, free, others] as const),
      hostsOther: this.#hostsOther,
      busyAtHosts: [...this.#hosts].flatMap(([host, { busy }]) =>
        [...busy].map(([accountId, attempts]) => [accountId, host, attempts] as const),
      ),
      parked,
    };
  }

  /**
   * A second budget that other code may spend at the same time, while this code spends `without(half)`. It has half of
   * what is free, and half of what each account holds, rounded up, with at most `most` slots. What may start at parked
   * hosts is not divided: it is mostly one message. Both budgets together never exceed a limit. Neither sees what the
   * other has given, so an account gets from both at most its share of the whole at the time of the division.
   */
  half(most = Number.POSITIVE_INFINITY): SlotBudget {
    const limits = this.#limits();
    const half: ClaimLimits = {
      ...limits,
      slots: Math.min(halfOf(limits.slots), most),
      sharedSlots: halfOf(limits.sharedSlots),
      bytes: halfOf(limits.bytes),
      lastGoes: false,
      accountMax: halfOf(limits.accountMax),
      accountsBusy: limits.accountsBusy.map(([id, attempts, bytes]) => [id, halfOf(attempts), halfOf(bytes)] as const),
      accountsOther: halfOf(limits.accountsOther),
      hostsFree: limits.hostsFree.map(([host, free, others]) => [host, halfOf(free), halfOf(others)] as const),
      hostsOther: [halfOf(limits.hostsOther[0]), halfOf(limits.hostsOther[1])],
      busyAtHosts: limits.busyAtHosts.map(([id, host, attempts]) => [id, host, halfOf(attempts)] as const),
    };
    return new SlotBudget(half, this.#parked.copy());
  }

  /** The budget that is left if other code spends all of `part`. */
  without(part: SlotBudget): SlotBudget {
    const limits = this.#limits();
    const rest: ClaimLimits = {
      ...limits,
      slots: limits.slots - part.#slots,
      sharedSlots: limits.sharedSlots - part.#sharedSlots,
      bytes: limits.bytes - part.#bytes,
      oversized: limits.oversized - part.#oversized,
      lastGoes: false,
      accountMax: limits.accountMax - part.#accountMax,
      accountsBusy: limits.accountsBusy.map(([id, attempts, bytes]) => {
        const held = part.#accounts.get(id);
        return [id, attempts - (held?.attempts ?? part.#accountsOther), bytes - (held?.bytes ?? 0)] as const;
      }),
      accountsOther: limits.accountsOther - part.#accountsOther,
      hostsFree: limits.hostsFree.map(
        ([host, free, others]) => [host, free - part.#freeAt(host), others - part.#heldAt(host)] as const,
      ),
      hostsOther: [limits.hostsOther[0] - part.#hostsOther[0], limits.hostsOther[1] - part.#hostsOther[1]],
      busyAtHosts: limits.busyAtHosts.map(
        ([id, host, attempts]) => [id, host, attempts - part.#heldAt(host, id)] as const,
      ),
    };
    return new SlotBudget(rest, this.#parked.without(part.#parked));
  }

  #freeAt(host: string): number {
    return this.#hosts.get(host)?.free ?? this.#hostsOther[0];
  }

  #heldAt(host: string, accountId?: string): number {
    const atHost = this.#hosts.get(host);
    const others = atHost?.others ?? this.#hostsOther[1];
    return accountId === undefined ? others : (atHost?.busy.get(accountId) ?? others);
  }

  #slotsAt(host: string): HostSlots {
    let atHost = this.#hosts.get(host);
    if (!atHost) {
      const [free, others] = this.#hostsOther;
      atHost = { free, others, busy: new Map() };
      this.#hosts.set(host, atHost);
    }
    return atHost;
  }
}

function halfOf(count: number): number {
  return Math.ceil(count / 2);
}
