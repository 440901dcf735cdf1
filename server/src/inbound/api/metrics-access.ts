// Decides who may read /metrics: everybody, or callers with the token that the operator has set. This token belongs to
// no account.

import { timingSafeEqual } from 'node:crypto';
import { hashToken, tokenFromHeader } from '../../accounts/tokens.ts';
import { ApiError } from './errors.ts';

export class MetricsAccess {
  readonly #hash: Uint8Array | null;

  /** A null token means that everybody may read. */
  constructor(token: string | null) {
    this.#hash = token === null ? null : hashToken(token);
  }

  get needsToken(): boolean {
    return this.#hash !== null;
  }

  /**
   * Throws unless the caller may read the metrics. How long it takes does not reveal how much of a token is correct.
   */
  require(authorization: string | undefined): void {
    if (this.#hash === null) return;
    const token = tokenFromHeader(authorization);
    if (token !== null && timingSafeEqual(hashToken(token), this.#hash)) return;
    throw new ApiError('unauthorized', 'Authorization: /metrics needs the token that --metrics-token has set');
  }
}
