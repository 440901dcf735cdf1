// The attempts in flight on this node, counted by account and host, and how many more may start. For the metrics it
// also counts how much of the shared pools is used: slots, and the bytes of large bodies until they are released.

import type { Claim, Message } from '../../rules/delivery/message.ts';
import { type ClaimLimits, countedBytes, fitsShare, NO_SLOTS, slotsRoom } from '../../rules/delivery/slots.ts';
import { TurnoverMap } from '../../runtime/collections/turnover.ts';

export interface EngineLimits {
  readonly concurrency: number;
  /** Null: the account has no limit of its own, only its fair share. */
  readonly accountConcurrency: number | null;
  readonly hostConcurrency: number;
  /** Limit for the bytes of message bodies that attempts in flight hold in memory. Small bodies are not counted. */
  readonly bodyBytes: number;
}

export interface PoolUse {
  readonly max: number;
  readonly used: number;
}

/** What one account has in flight. */
interface Account {
  attempts: number;
  bytes: number;
}

interface Host {
  attempts: number;
  readonly accounts: Map<string, number>;
}

interface Flight {
  claim: Claim;
  /** The counted bytes of the body, while the body is held. */
  bytes: number;
  /** True if the body was larger than the account's share, so that it is counted outside the pool. */
  readonly isOversized: boolean;
}

/**
 * Limit for the accounts that an offer names. With more accounts in flight, an offer names only the busy ones, so that
 * it stays short when there are thousands.
 */
const NAMED_ACCOUNTS_MAX = 256;
const NAMED_HOSTS_MAX = 32;

const NOTHING = new Uint8Array(0);

export class InFlight {
  readonly #limits: EngineLimits;
  readonly #flights = new TurnoverMap<string, Flight>();
  readonly #accounts = new Map<string, Account>();
  readonly #hosts = new Map<string, Host>();
  #bytes = 0;
  #oversized = 0;

  constructor(limits: EngineLimits) {
    this.#limits = limits;
  }

  get count(): number {
    return this.#flights.size;
  }

  /** How much of the shared pools is used. The bytes of oversized bodies are not counted here. */
  readonly pools = {
    slots: this.#pool(() => [this.#limits.concurrency, this.#flights.size]),
    inFlightBytes: this.#pool(() => [this.#limits.bodyBytes, this.#bytes]),
  };

  get(lease: string): Claim | undefined {
    return this.#flights.get(lease)?.claim;
  }

  *claims(): Iterable<Claim> {
    for (const { claim } of this.#flights.values()) yield claim;
  }

  add(claim: Claim): void {
    const { accountId, host, body } = claim.message;
    const counted = countedBytes(body.length);
    let account = this.#accounts.get(accountId);
    if (!account) {
      account = { attempts: 0, bytes: 0 };
      this.#accounts.set(accountId, account);
    }
    const isOversized = !fitsShare(counted, this.#limits.bodyBytes - this.#bytes, account.bytes);
    this.#flights.set(claim.lease, { claim, bytes: counted, isOversized });
    this.#countBytes(account, counted, isOversized);
    account.attempts += 1;
    let atHost = this.#hosts.get(host);
    if (!atHost) {
      atHost = { attempts: 0, accounts: new Map() };
      this.#hosts.set(host, atHost);
    }
    atHost.attempts += 1;
    atHost.accounts.set(accountId, (atHost.accounts.get(accountId) ?? 0) + 1);
  }

  /**
   * Call this when the body is written. The body is released unless a callback will repeat it. Returns whether this
   * made room for other messages.
   */
  wrote(lease: string): boolean {
    const flight = this.#flights.get(lease);
    if (!flight || !canLetGo(flight.claim.message)) return false;
    const { claim } = flight;
    flight.claim = { ...claim, message: { ...claim.message, body: NOTHING } };
    return this.#giveBack(flight);
  }

  remove({ lease, message }: Claim): void {
    const flight = this.#flights.get(lease);
    if (!flight) return;
    this.#flights.delete(lease);
    this.#giveBack(flight);
    const account = this.#accounts.get(message.accountId)!;
    account.attempts -= 1;
    if (account.attempts === 0) this.#accounts.delete(message.accountId);
    const atHost = this.#hosts.get(message.host)!;
    atHost.attempts -= 1;
    if (atHost.attempts === 0) {
      this.#hosts.delete(message.host);
      return;
    }
    const held = atHost.accounts.get(message.accountId)! - 1;
    if (held === 0) atHost.accounts.delete(message.accountId);
    else atHost.accounts.set(message.accountId, held);
  }

  /**
   * Whether the slot of this attempt may go straight to the next message of its queue. It may not when the account has
   * more than its share.
   */
  mayPassOn({ message: { accountId, host } }: Claim): boolean {
    const { concurrency, hostConcurrency } = this.#limits;
    const account = this.#accounts.get(accountId)?.attempts ?? 0;
    const atHost = this.#hosts.get(host);
    const ownAtHost = atHost?.accounts.get(accountId) ?? 0;
    // The numbers of free slots as they are after this attempt has ended.
    const free = concurrency - this.#flights.size + 1;
    const freeAtHost = hostConcurrency - (atHost?.attempts ?? 0) + 1;
    return slotsRoom(free, account - 1, true) > 0 && slotsRoom(freeAtHost, ownAtHost - 1, true) > 0;
  }

  free(): ClaimLimits {
    const { concurrency, accountConcurrency, bodyBytes } = this.#limits;
    const slots = Math.max(0, concurrency - this.#flights.size);
    const accountsOther = this.#accounts.size <= NAMED_ACCOUNTS_MAX ? 0 : Math.floor(concurrency / NAMED_ACCOUNTS_MAX);
    const accountsBusy: [string, number, number][] = [];
    for (const [accountId, { attempts, bytes }] of this.#accounts) {
      if (attempts > accountsOther || bytes > 0) accountsBusy.push([accountId, attempts, bytes]);
    }
    return {
      slots,
      sharedSlots: slots,
      bytes: bodyBytes - this.#bytes,
      oversized: this.#oversized === 0 ? 1 : 0,
      lastGoes: true,
      accountMax: accountConcurrency ?? concurrency,
      accountsBusy,
      accountsOther,
      ...this.#freeAtHosts(),
      parked: NO_SLOTS.parked,
    };
  }

  #freeAtHosts(): Pick<ClaimLimits, 'hostsFree' | 'hostsOther' | 'busyAtHosts'> {
    const { hostConcurrency } = this.#limits;
    // A host that the offer does not name has at most this many attempts. That is a quarter of the host's limit, so
    // even an account to which all of them belong may start more there.
    const leftOut = this.#hosts.size <= NAMED_HOSTS_MAX ? 0 : Math.floor(hostConcurrency / 4);
    const hostsFree: [string, number, number][] = [];
    const busyAtHosts: [string, string, number][] = [];
    for (const [host, { attempts, accounts }] of this.#hosts) {
      if (attempts <= leftOut) continue;
      hostsFree.push([host, hostConcurrency - attempts, 0]);
      for (const [accountId, held] of accounts) busyAtHosts.push([accountId, host, held]);
    }
    return { hostsFree, hostsOther: [hostConcurrency - leftOut, leftOut], busyAtHosts };
  }

  #pool(read: () => readonly [max: number, used: number]): PoolUse {
    return {
      get max() {
        return read()[0];
      },
      get used() {
        return read()[1];
      },
    };
  }

  #countBytes(account: Account, by: number, isOversized: boolean): void {
    account.bytes += by;
    if (!isOversized) this.#bytes += by;
    else if (by !== 0) this.#oversized += Math.sign(by);
  }

  #giveBack(flight: Flight): boolean {
    const { bytes, isOversized } = flight;
    if (bytes === 0) return false;
    flight.bytes = 0;
    this.#countBytes(this.#accounts.get(flight.claim.message.accountId)!, -bytes, isOversized);
    return true;
  }
}

/** A body must be kept if a callback will repeat it. */
function canLetGo({ callback, failureCallback }: Message): boolean {
  return callback === null && failureCallback === null;
}
