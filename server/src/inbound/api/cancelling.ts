// Cancels messages for a caller. It writes the cancellation, then waits for a limited time until the nodes that have
// claimed some of the messages confirm that no attempt for them can still start.

import type { FastifyReply } from 'fastify';
import type { StoredRoom } from '../../publish/stored-room.ts';
import type { Account } from '../../rules/accounts/account.ts';
import { eachMax } from '../../rules/limits/budgets.ts';
import type { Clock } from '../../runtime/world.ts';
import type { MessageStore } from '../../store/ports/message-store.ts';

/** How long a caller waits until the nodes confirm. */
export const CANCEL_CONFIRMED_MS_MAX = 2000;

/** The options of a search for messages that one transaction will change or delete. */
export const SEARCH_FOR_CHANGE = { withBodies: false, isForChange: true, bytesMax: eachMax('changedBytes') } as const;

export interface CancelCount {
  /** How many messages are cancelled, or will be soon. */
  readonly cancelled: number;
  /** How many of these messages a node has claimed without confirming: an attempt for them may still start. */
  readonly requested: number;
}

export interface CancellingContext {
  readonly store: MessageStore;
  readonly clock: Clock;
  readonly room: Pick<StoredRoom, 'cancelledUntil'>;
}

/** One call of the API. It may cancel in several pieces, and waits once for the confirmation of all of them. */
export class CancelCall {
  readonly #context: CancellingContext;
  readonly #account: Account;
  readonly #claimed: string[] = [];
  #cancelled = 0;

  constructor(context: CancellingContext, account: Account) {
    this.#context = context;
    this.#account = account;
  }

  get count(): number {
    return this.#cancelled;
  }

  async cancel(ids: readonly string[]): Promise<void> {
    const { store, clock, room } = this.#context;
    const now = clock.now();
    const expiresAt = await room.cancelledUntil(this.#account, now);
    const { cancelled, requested, awaited } = await store.cancel(this.#account.id, ids, now, expiresAt);
    this.#cancelled += cancelled.length + requested.length + awaited.length;
    this.#claimed.push(...requested, ...awaited);
  }

  async confirm(): Promise<CancelCount> {
    const left =
      this.#claimed.length === 0
        ? []
        : await this.#context.store.confirmCancels(this.#account.id, this.#claimed, CANCEL_CONFIRMED_MS_MAX);
    return { cancelled: this.#cancelled, requested: left.length };
  }
}

/** Sets status 202 if a node has not confirmed in time. Returns the fields that tell what happens to these messages. */
export function reportUnconfirmed(requested: number, reply: Pick<FastifyReply, 'code'>) {
  if (requested === 0) return {};
  reply.code(202);
  const who = requested === 1 ? 'One message is' : `${requested} messages are`;
  const detail = `${who} claimed by a node that has not confirmed the cancel. The claimed attempt may still start. No other attempt starts, and after that attempt the message is CANCELLED.`;
  return { requested, state: 'CANCEL_REQUESTED' as const, detail };
}
