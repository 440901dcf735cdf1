// Reads and parses the bodies of management calls. An account may have only a few long bodies in work at a time, from
// before they are parsed until their calls have ended. Parsing takes turns with other callers.

import type { IncomingMessage } from 'node:http';
import { UNCOUNTED_MANAGEMENT_BYTES_MAX } from '../../rules/limits/budgets.ts';
import { laneAccountMax } from '../../runtime/lane-part.ts';
import type { LoopTurns } from '../../runtime/loop-turns.ts';
import type { BodyReader } from '../publish/body.ts';
import { parseManagementJson } from '../publish/json.ts';
import { WorkUnderWay } from '../publish/work-under-way.ts';
import { GrowingBytes } from '../server/growing-bytes.ts';
import { ApiError } from './errors.ts';

/** Limit for the body of a management call. Bodies of messages go to the publish handler, which has other limits. */
const BODY_BYTES_MAX = 1024 * 1024;
const BODY_LIMIT = {
  bytesMax: BODY_BYTES_MAX,
  error: () =>
    new ApiError('request_too_large', `the request body is larger than the limit of ${BODY_BYTES_MAX} bytes`),
};

export interface ReadBody {
  /** The parsed body. Undefined if the body is empty. */
  readonly value: unknown;
  /** Until this is called, the bytes of the body count as held, and the next long body of its account waits. */
  release(): void;
}

export class ManagementBodies {
  readonly #bodies: BodyReader;
  readonly #turns: LoopTurns;
  readonly #underWay = new WorkUnderWay(laneAccountMax('managementBytes'));

  constructor({ bodies, turns }: { readonly bodies: BodyReader; readonly turns: LoopTurns }) {
    this.#bodies = bodies;
    this.#turns = turns;
  }

  async read(request: IncomingMessage, accountId: string, isGone: () => boolean): Promise<ReadBody> {
    const whole = new GrowingBytes();
    const held = await this.#bodies.receive(request, accountId, BODY_LIMIT, (piece) => whole.add(piece));
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
      return { value: whole.length === 0 ? undefined : parseManagementJson(whole.view()), release };
    } catch (error) {
      release();
      throw error;
    } finally {
      this.#turns.charge(user, sinceMs);
    }
  }
}
