// Reads and parses the JSON bodies of the calls of the API. An account may have only a few long bodies in work at a time, from
// before they are parsed until their calls have ended. Parsing takes turns with other callers.

import type { IncomingMessage } from 'node:http';
import type { Account } from '../../rules/accounts/account.ts';
import { UNCOUNTED_MANAGEMENT_BYTES_MAX } from '../../rules/limits/budgets.ts';
import type { Tier, TierName, Tiers } from '../../rules/limits/tier.ts';
import { laneAccountMax } from '../../runtime/lane-part.ts';
import type { LoopTurns } from '../../runtime/loop-turns.ts';
import { messageTextBytesMax } from '../publish/batch.ts';
import type { BodyLimit, BodyReader } from '../publish/body.ts';
import { MESSAGE_SHAPE, parseManagementJson } from '../publish/json.ts';
import { AccountWorkLimit } from '../publish/work-under-way.ts';
import { GrowingBytes } from '../server/growing-bytes.ts';
import { ApiError } from './errors.ts';

/** Limit for the body of a management call. A call that carries the body of a message has the limit of a batch element. */
const BODY_BYTES_MAX = 1024 * 1024;

function limitOf(bytesMax: number): BodyLimit {
  const text = `the request body is larger than the limit of ${bytesMax} bytes`;
  return { bytesMax, error: () => new ApiError('request_too_large', text) };
}

const BODY_LIMIT = limitOf(BODY_BYTES_MAX);

export interface ManagementBodiesOptions {
  readonly bodies: BodyReader;
  readonly turns: LoopTurns;
  readonly tiers: Tiers;
  readonly requestBytesMax: number;
}

export interface ManagementBody {
  /** The parsed body. Undefined if the body is empty. */
  readonly value: unknown;
  /** Until this is called, the body counts for the limits of its account, and the next long body may have to wait. */
  release(): void;
}

export class ManagementBodies {
  readonly #bodies: BodyReader;
  readonly #turns: LoopTurns;
  readonly #messageLimits: Readonly<Record<TierName, BodyLimit>>;
  readonly #underWay = new AccountWorkLimit(laneAccountMax('managementBytes'));

  constructor({ bodies, turns, tiers, requestBytesMax }: ManagementBodiesOptions) {
    this.#bodies = bodies;
    this.#turns = turns;
    const ofTier = ({ bodyBytesMax }: Tier) =>
      limitOf(
        Math.min(requestBytesMax, messageTextBytesMax(Math.min(bodyBytesMax ?? requestBytesMax, requestBytesMax))),
      );
    this.#messageLimits = { free: ofTier(tiers.free), paid: ofTier(tiers.paid) };
  }

  /** `size`: how large the body may be in bytes; or whether it may contain the body of a message. */
  async read(
    request: IncomingMessage,
    { id: accountId, tier }: Pick<Account, 'id' | 'tier'>,
    size: boolean | number,
    isGone: () => boolean,
  ): Promise<ManagementBody> {
    const whole = new GrowingBytes();
    const limit = typeof size === 'number' ? limitOf(size) : size ? this.#messageLimits[tier] : BODY_LIMIT;
    const held = await this.#bodies.receive(request, accountId, limit, (piece) => whole.add(piece));
    const isLong = whole.length > UNCOUNTED_MANAGEMENT_BYTES_MAX;
    let isHeld = true;
    const release = () => {
      if (!isHeld) return;
      isHeld = false;
      held.release();
      if (isLong) this.#underWay.end(accountId, whole.length);
    };
    const user = { key: accountId, isKnown: true };
    if (isLong) {
      await this.#underWay.begin(accountId, whole.length);
      await this.#turns.next(user);
    }
    const sinceMs = this.#turns.nowMs();
    try {
      if (isGone()) throw new ApiError('bad_request', 'the connection was closed');
      const shape = size === true ? MESSAGE_SHAPE : undefined;
      return { value: whole.length === 0 ? undefined : parseManagementJson(whole.view(), shape), release };
    } catch (error) {
      release();
      throw error;
    } finally {
      this.#turns.charge(user, sinceMs);
    }
  }
}
