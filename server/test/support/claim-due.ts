// Claims as an engine does, for tests without one: offers slots, looks for due work, and takes what was handed out since.
// What was handed out before the call takes slots of it, as it does in an engine.

import type { Claim } from '../../src/rules/delivery/message.ts';
import { type ClaimLimits, NO_SLOTS, SlotBudget } from '../../src/rules/delivery/slots.ts';
import { backlogOf } from '../../src/rules/hosts/parking.ts';
import type { DeliveryStore, NextWork } from '../../src/store/ports/delivery-store.ts';

type Claiming = Pick<DeliveryStore, 'offer' | 'onClaims' | 'claimDue'>;

const handedOut = new WeakMap<Claiming, Claim[]>();

export interface Claimed extends NextWork {
  readonly claims: readonly Claim[];
}

export async function claimDue(store: Claiming, now: number, limits: ClaimLimits): Promise<Claimed> {
  const claims = handedOutBy(store);
  const left = new SlotBudget(limits);
  for (const { message } of claims) left.use(message.accountId, backlogOf(message), message.body.length);
  store.offer(left.limits());
  const next = await store.claimDue(now);
  return { claims: claims.splice(0), ...next };
}

function handedOutBy(store: Claiming): Claim[] {
  const known = handedOut.get(store);
  if (known) return known;
  const claims: Claim[] = [];
  handedOut.set(store, claims);
  store.onClaims((more) => claims.push(...more));
  return claims;
}

/** The same beside an engine that has nothing to do: it gets the claims again when the call is over. */
export async function claimBeside(store: Claiming, now: number, limits: ClaimLimits): Promise<readonly Claim[]> {
  const claims: Claim[] = [];
  const giveUp = store.onClaims((more) => claims.push(...more));
  try {
    store.offer(limits);
    await store.claimDue(now);
  } finally {
    store.offer(NO_SLOTS);
    giveUp();
  }
  return claims;
}
