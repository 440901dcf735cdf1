// The attempts under way on this node, counted by account and host, and how many more may start. What accounts share is
// counted here as well, for the metrics: places, and the bytes of large bodies until they are let go.

import type { Claim, Message } from '../domain/message.ts';
import { type ClaimLimits, countedBytes, fitsShare, placesRoom } from '../domain/slots.ts';

export interface EngineLimits {
  readonly concurrency: number;
  /** Null: an account has its share of the others, and no limit of its own. */
  readonly accountConcurrency: number | null;
  readonly hostConcurrency: number;
  /** Message bodies held in memory by attempts under way, as far as they are counted. */
  readonly bodyBytes: number;
}

export interface UsedPool {
  readonly max: number;
  readonly used: number;
}

/** What is under way of an account. */
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
  /** Of its body, while it is held. */
  bytes: number;
  /** It went beside the pool, because it was larger than its share. */
  readonly isOversized: boolean;
}

/** With so few, all are named in a claim; else only the busy ones: it keeps the claim short when there are thousands. */
const NAMED_ACCOUNTS_MAX = 256;
const NAMED_HOSTS_MAX = 32;

const NOTHING = new Uint8Array(0);

export class InFlight {
  readonly #limits: EngineLimits;
  readonly #flights = new Map<string, Flight>();
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

  /** How much is used of what accounts share; bodies that went beside the pool are not in it. */
  readonly pools = {
    slots: this.#pool(() => [this.#limits.concurrency, this.#flights.size]),
    inFlightBytes: this.#pool(() => [this.#limits.bodyBytes, this.#bytes]),
  };

  get(lease: string): Claim | undefined {
    return this.#flights.get(lease)?.claim;
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
    let places = this.#hosts.get(host);
    if (!places) {
      places = { attempts: 0, accounts: new Map() };
      this.#hosts.set(host, places);
    }
    places.attempts += 1;
    places.accounts.set(accountId, (places.accounts.get(accountId) ?? 0) + 1);
  }

  /** Its body is written. It is let go, unless a callback will report it. Answers whether others have room by that. */
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
    const places = this.#hosts.get(message.host)!;
    places.attempts -= 1;
    if (places.attempts === 0) {
      this.#hosts.delete(message.host);
      return;
    }
    const held = places.accounts.get(message.accountId)! - 1;
    if (held === 0) places.accounts.delete(message.accountId);
    else places.accounts.set(message.accountId, held);
  }

  /** Whether its place may go straight to the next of its queue: not where its account has more than its share. */
  mayPassOn({ message: { accountId, host } }: Claim): boolean {
    const { concurrency, hostConcurrency } = this.#limits;
    const account = this.#accounts.get(accountId)?.attempts ?? 0;
    const places = this.#hosts.get(host);
    const lane = places?.accounts.get(accountId) ?? 0;
    // As it will be when this one has left.
    const free = concurrency - this.#flights.size + 1;
    const freeAtHost = hostConcurrency - (places?.attempts ?? 0) + 1;
    return placesRoom(free, account - 1, true) > 0 && placesRoom(freeAtHost, lane - 1, true) > 0;
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
    };
  }

  #freeAtHosts(): Pick<ClaimLimits, 'hostsFree' | 'hostsOther' | 'lanesBusy'> {
    const { hostConcurrency } = this.#limits;
    // One that is left out may have so many: then a quarter is sure for an account, whatever it has there.
    const leftOut = this.#hosts.size <= NAMED_HOSTS_MAX ? 0 : Math.floor(hostConcurrency / 4);
    const hostsFree: [string, number, number][] = [];
    const lanesBusy: [string, string, number][] = [];
    for (const [host, { attempts, accounts }] of this.#hosts) {
      if (attempts <= leftOut) continue;
      hostsFree.push([host, hostConcurrency - attempts, 0]);
      for (const [accountId, held] of accounts) lanesBusy.push([accountId, host, held]);
    }
    return { hostsFree, hostsOther: [hostConcurrency - leftOut, leftOut], lanesBusy };
  }

  #pool(read: () => readonly [max: number, used: number]): UsedPool {
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

/** A callback reports what was sent. */
function canLetGo({ callback, failureCallback }: Message): boolean {
  return callback === null && failureCallback === null;
}
