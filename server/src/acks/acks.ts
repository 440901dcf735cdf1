// Acks: what a receiver says of an attempt that it has answered with 202, and the end of attempts of which nothing was
// heard in time. Both end the attempt by a settlement with its lease, so it ends once, however many nodes do that at once.

import {
  type AckWord,
  type FinalWord,
  hasEndedSo,
  type OpenAttempt,
  outcomeOfWord,
  outcomeWithoutAck,
  type ProgressWord,
  type StoredAck,
} from '../rules/acks/ack.ts';
import type { Claim, Message, Outcome, Settlement } from '../rules/delivery/message.ts';
import { type AttemptEnd, decideSafely } from '../rules/delivery/settle.ts';
import { HARD_LIMITS, type Tier, type Tiers } from '../rules/limits/tier.ts';
import type { NewId } from '../rules/requests/id.ts';
import type { AccountStore } from '../store/ports/account-store.ts';
import type { AckStore, MessageKey } from '../store/ports/ack-store.ts';
import type { DeliveryStore } from '../store/ports/delivery-store.ts';
import type { MessageStore } from '../store/ports/message-store.ts';
import { StoreUnavailable } from '../store/ports/store.ts';
import type { AckSecrets, AckTarget } from './ack-secret.ts';

export type AcksStore = AckStore &
  Pick<MessageStore, 'getMessage'> &
  Pick<DeliveryStore, 'settle'> &
  Pick<AccountStore, 'getAccount'>;

export interface AcksOptions {
  readonly store: AcksStore;
  readonly tiers: Tiers;
  readonly headerPrefix: string;
  readonly newId: NewId;
  readonly now: () => number;
  readonly secrets: AckSecrets;
  /** An attempt ended by its ack, or because none came. */
  readonly onEnd: (kind: 'ok' | 'failed' | 'none', settlement: Settlement) => void;
  readonly onProgress: () => void;
  readonly onFault: (error: unknown) => void;
}

/** `gone`: the attempt was given up, or has ended otherwise. */
export type AckReply =
  | { readonly kind: 'gone'; readonly target: AckTarget }
  | { readonly kind: 'ended'; readonly target: AckTarget; readonly word: FinalWord }
  | { readonly kind: 'noted'; readonly target: AckTarget; readonly ack: StoredAck };

function isGivenUp({ isCancelRequested, ack }: OpenAttempt, now: number): boolean {
  return isCancelRequested || (ack?.isAwaiting === true && ack.deadlineAt <= now);
}

export interface DueEnds {
  readonly ended: number;
  readonly found: number;
  /** Null: no attempt awaits an ack. */
  readonly nextAt: number | null;
}

/** An attempt may be settled meanwhile by another node. Then its ack is looked at once more. */
const LOOKS_MAX = 2;

export class Acks {
  readonly #options: AcksOptions;
  #address = '';
  /** Called once, when the first delivery names the address. */
  onFirstUrl: (() => void) | null = null;
  /** The account whose due acks were ended last in turn. */
  #lastInTurn = '';

  constructor(options: AcksOptions) {
    this.#options = options;
  }

  /** Where receivers reach this service: a URL without a slash at its end. */
  set address(url: string) {
    this.#address = url;
  }

  /** The URL to which the receiver of this attempt reports how its work has ended. */
  readonly urlOf = ({ accountId, id, attempts }: Pick<Message, 'accountId' | 'id' | 'attempts'>): string => {
    this.onFirstUrl?.();
    this.onFirstUrl = null;
    const secret = this.#options.secrets.make({ accountId, messageId: id, attempt: attempts + 1 });
    return `${this.#address}/v2/acks/${secret}`;
  };

  targetOf(secret: string): AckTarget | null {
    return this.#options.secrets.read(secret);
  }

  receive(target: AckTarget, word: AckWord): Promise<AckReply> {
    return word.kind === 'progress' ? this.#progress(target, word) : this.#end(target, word);
  }

  /** Ends some of the attempts whose acks were due by `dueBy`. Returns how many, of how many, and when the next is due. */
  async endDue(now: number, limit: number, dueBy = now): Promise<DueEnds> {
    const { due, nextAt, lastInTurn } = await this.#options.store.dueAcks(dueBy, limit, this.#lastInTurn);
    this.#lastInTurn = lastInTurn ?? '';
    let ended = 0;
    for (const key of due) if (await this.#endOneSafely(key, now, dueBy)) ended += 1;
    return { ended, found: due.length, nextAt };
  }

  /** One that cannot be ended, such as one in a damaged page, must not keep the others open. */
  async #endOneSafely(key: MessageKey, now: number, dueBy: number): Promise<boolean> {
    try {
      return await this.#endOne(key, now, dueBy);
    } catch (error) {
      if (error instanceof StoreUnavailable) throw error;
      this.#options.onFault(error);
      return false;
    }
  }

  async #endOne(key: MessageKey, now: number, dueBy: number): Promise<boolean> {
    const { store, onEnd } = this.#options;
    const open = await store.dueAttempt(key.accountId, key.messageId);
    if (!open?.ack?.isAwaiting) return false;
    // The deadline of a cancelled message is over, whatever the clock says.
    const outcome = outcomeWithoutAck(open.ack, open.isCancelRequested);
    const settlement = await this.#settlement(key, open, { outcome }, now, { dueBy });
    if (!settlement) return false;
    const [result] = await store.settle([settlement], now);
    if (result === 'settled') onEnd('none', settlement);
    return result !== 'lost';
  }

  async #progress(target: AckTarget, word: ProgressWord): Promise<AckReply> {
    const { store, now, onProgress } = this.#options;
    const at = now();
    const tier = await this.#tierOf(target.accountId);
    const latestAt = at + (tier.awaitAckMsMax ?? HARD_LIMITS.awaitAckMsMax);
    const ack = await store.noteProgress(target, target.attempt, word, latestAt, at);
    if (!ack) return { kind: 'gone', target };
    onProgress();
    return { kind: 'noted', target, ack };
  }

  async #end(target: AckTarget, word: FinalWord): Promise<AckReply> {
    const { store } = this.#options;
    const { accountId, messageId, attempt } = target;
    for (let look = 0; look < LOOKS_MAX; look += 1) {
      const open = await store.openAttempt(accountId, messageId);
      if (open?.attempt !== attempt) break;
      const reply = await this.#endOpen(target, open, word);
      if (reply) return reply;
    }
    return this.#again(target, word);
  }

  /** Null: the attempt has ended since it was read. */
  async #endOpen(target: AckTarget, open: OpenAttempt, word: FinalWord): Promise<AckReply | null> {
    const { store, now, onEnd } = this.#options;
    const at = now();
    if (isGivenUp(open, at)) return { kind: 'gone', target };
    const outcome = outcomeOfWord(word, open.ack);
    const settlement = await this.#settlement(target, open, { outcome, isAcked: word.kind === 'ok' }, at);
    if (!settlement) return null;
    const [result] = await store.settle([settlement], at);
    if (result === 'cancelled') return { kind: 'gone', target };
    if (result !== 'settled') return null;
    onEnd(word.kind, settlement);
    return { kind: 'ended', target, word };
  }

  /** The attempt has ended. By this same word, perhaps: its response may have been lost. */
  async #again(target: AckTarget, word: FinalWord): Promise<AckReply> {
    const stored = await this.#options.store.getMessage(target.accountId, target.messageId, 'outline');
    const record = stored?.attempts.find(({ number }) => number === target.attempt);
    const isSame = stored && record && hasEndedSo(word, record, stored.message);
    return isSame ? { kind: 'ended', target, word } : { kind: 'gone', target };
  }

  async #settlement(
    { accountId, messageId }: MessageKey,
    { lease, attempt, claimedAt, ack }: OpenAttempt,
    { outcome, isAcked = false }: { readonly outcome: Outcome; readonly isAcked?: boolean },
    endedAt: number,
    due?: { readonly dueBy: number },
  ): Promise<Settlement | null> {
    const { headerPrefix, newId, onFault } = this.#options;
    const message = await this.#read(due ? 'readMessage' : 'getMessage', accountId, messageId);
    if (message?.attempts !== attempt - 1) return null;
    const tier = await this.#tierOf(accountId);
    const claim: Claim = { lease, message, tier: tier.name, signingKey: '' };
    const startedAt = ack?.startedAt ?? claimedAt;
    const end: AttemptEnd = { outcome, startedAt, endedAt, ...(isAcked && { isAcked }) };
    const { retentionMs, retriesDefault, retryDelayMsMin } = tier;
    const retryFloor = { afterRetries: retriesDefault, ms: retryDelayMsMin };
    const ofAck = due === undefined ? {} : { ackDueBy: due.dueBy };
    return decideSafely(claim, end, { headerPrefix, retentionMs, retryFloor, newId, ...ofAck }, onFault);
  }

  /** The body is read only if a callback reports it. */
  async #read(how: 'getMessage' | 'readMessage', accountId: string, messageId: string): Promise<Message | null> {
    const read = this.#options.store[how];
    const outline = (await read(accountId, messageId, 'outline'))?.message;
    if (!outline || (outline.callback === null && outline.failureCallback === null)) return outline ?? null;
    return (await read(accountId, messageId))?.message ?? null;
  }

  async #tierOf(accountId: string): Promise<Tier> {
    const account = await this.#options.store.getAccount(accountId);
    return this.#options.tiers[account?.tier ?? 'free'];
  }
}
