// The attempts under way on this node, counted by account and host, and how many more may start.

import type { Claim } from '../domain/message.ts';
import type { ClaimLimits } from '../domain/slots.ts';

export interface EngineLimits {
  readonly concurrency: number;
  readonly accountConcurrency: number;
  readonly hostConcurrency: number;
  /** Message bodies held in memory by attempts under way. */
  readonly bodyBytes: number;
}

export class InFlight {
  readonly #limits: EngineLimits;
  readonly #claims = new Map<string, Claim>();
  readonly #accounts = new Map<string, number>();
  readonly #hosts = new Map<string, number>();
  #bytes = 0;

  constructor(limits: EngineLimits) {
    this.#limits = limits;
  }

  get count(): number {
    return this.#claims.size;
  }

  get(lease: string): Claim | undefined {
    return this.#claims.get(lease);
  }

  add(claim: Claim): void {
    this.#claims.set(claim.lease, claim);
    this.#count(claim, 1);
  }

  remove(claim: Claim): void {
    if (this.#claims.delete(claim.lease)) this.#count(claim, -1);
  }

  free(): ClaimLimits {
    const { concurrency, accountConcurrency, hostConcurrency, bodyBytes } = this.#limits;
    return {
      slots: Math.max(0, concurrency - this.#claims.size),
      bytes: bodyBytes - this.#bytes,
      accountMax: accountConcurrency,
      hostMax: hostConcurrency,
      accountsBusy: busy(this.#accounts, accountConcurrency),
      hostsBusy: busy(this.#hosts, hostConcurrency),
    };
  }

  #count({ message }: Claim, by: 1 | -1): void {
    this.#bytes += by * message.body.length;
    addTo(this.#accounts, message.accountId, by);
    addTo(this.#hosts, message.host, by);
  }
}

function addTo(counts: Map<string, number>, key: string, by: 1 | -1): void {
  const count = (counts.get(key) ?? 0) + by;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}

/** With so few, all are named: one that is left out counts as half busy. */
const NAMED_MAX = 32;

/** Only these need naming: see ClaimLimits. It keeps the list short when there are thousands of hosts. */
function busy(counts: ReadonlyMap<string, number>, max: number): [string, number][] {
  const all = [...counts];
  return all.length <= NAMED_MAX ? all : all.filter(([, count]) => count > Math.floor(max / 2));
}
