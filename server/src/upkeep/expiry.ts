// Ends messages that have expired while they waited: for their time, their turn, a free slot or a person. Nothing else
// has to notice them, so they end soon after their expiry even in a queue that is paused. However many nodes look, the
// store lets each message end once, and only while it is not claimed.

import { decideExpiration, type Expiration, type ExpiredMessage } from '../rules/delivery/settle.ts';
import { eachMax } from '../rules/limits/budgets.ts';
import type { TierName, Tiers } from '../rules/limits/tier.ts';
import type { NewId } from '../rules/requests/id.ts';
import type { AccountStore } from '../store/ports/account-store.ts';
import type { DeliveryStore } from '../store/ports/delivery-store.ts';
import { StoreUnavailable } from '../store/ports/store.ts';
import type { UpkeepStore } from '../store/ports/upkeep-store.ts';

/** How often a node looks for messages that expire: one that was accepted since the last look may be the next. */
const LOOK_EVERY_MS = 1000;
/** The pause between two pieces while more messages have expired. It leaves time for other work. */
const PIECE_EVERY_MS = 5;
/**
 * The pause after a piece of which nothing ended: other nodes have ended it, or it cannot be written. Each further one
 * doubles it, so that messages that cannot be ended do not fill the log.
 */
const LEFT_MS = 20;
const LEFT_MS_MAX = 5000;

export interface ExpiryOptions {
  readonly store: Pick<UpkeepStore, 'dueExpiries'> &
    Pick<DeliveryStore, 'expireMessages'> &
    Pick<AccountStore, 'getAccount'>;
  readonly tiers: Tiers;
  readonly newId: NewId;
  /** Whether the time of this node is accurate enough: messages must not end before others think that they expire. */
  readonly isTimeRight?: () => boolean;
  /** Whether the clock is moved by hand. Then the loop is woken when messages come or change, and looks at no interval. */
  readonly isByHand?: boolean;
  /** Called when the end of a message could not be decided or written. The other messages are ended. */
  readonly onFault: (messageId: string, error: unknown) => void;
}

export function expiryKeeper(options: ExpiryOptions) {
  const { store, isByHand = false, isTimeRight = () => true } = options;
  const lookEveryMs = isByHand ? Number.POSITIVE_INFINITY : LOOK_EVERY_MS;
  let after = '';
  let leftMs = LEFT_MS;
  return {
    name: 'expiry',
    /** Messages expire by the time of the service. */
    dueBelowMs: Number.POSITIVE_INFINITY,
    /** Ends some of the messages that have expired. An account that is suspended makes no difference. */
    async run(now: number): Promise<number> {
      if (!isTimeRight()) return LOOK_EVERY_MS;
      const { expired, nextAt, lastInTurn } = await store.dueExpiries(now, { messages: eachMax('upkeepRows'), after });
      after = lastInTurn ?? '';
      if (expired.length === 0) return Math.min(lookEveryMs, msUntil(nextAt, now));
      const ended = await end(options, await decide(options, expired, now), now);
      if (ended > 0) {
        leftMs = LEFT_MS;
        return isByHand ? 0 : PIECE_EVERY_MS;
      }
      const pauseMs = leftMs;
      leftMs = Math.min(2 * leftMs, LEFT_MS_MAX);
      return pauseMs;
    },
  };
}

function msUntil(at: number | null, now: number): number {
  return at === null ? Number.POSITIVE_INFINITY : Math.max(1, at - now);
}

async function decide(
  { store, tiers, newId, onFault }: ExpiryOptions,
  expired: readonly ExpiredMessage[],
  now: number,
): Promise<Expiration[]> {
  const tierOf = new Map<string, TierName>();
  const expirations: Expiration[] = [];
  for (const each of expired) {
    const { message } = each;
    const { accountId } = message;
    if (!tierOf.has(accountId)) tierOf.set(accountId, (await store.getAccount(accountId))?.tier ?? 'free');
    const context = { now, retentionMs: tiers[tierOf.get(accountId)!].retentionMs, newId };
    try {
      expirations.push(decideExpiration(each, context));
    } catch (error) {
      // The callback can be too large to make. The message ends without it, so that its queue continues.
      onFault(message.id, error);
      expirations.push(decideExpiration({ ...each, message: { ...message, failureCallback: null } }, context));
    }
  }
  return expirations;
}

/**
 * Returns how many messages ended. If they cannot be written together, each is tried alone: one of them may be bad, or
 * the disk may have room for only some.
 */
async function end(options: ExpiryOptions, expirations: readonly Expiration[], now: number): Promise<number> {
  try {
    return (await options.store.expireMessages(expirations, now)).length;
  } catch (error) {
    const isUnavailable = error instanceof StoreUnavailable;
    if (isUnavailable && (error.reason !== 'full' || expirations.length === 1)) throw error;
    if (expirations.length === 1) {
      options.onFault(expirations[0]!.messageId, error);
      return 0;
    }
  }
  let ended = 0;
  for (const expiration of expirations) ended += await end(options, [expiration], now);
  return ended;
}
