// The secret in the URL of an ack: which attempt it is for, and a MAC of that by a key of the store. So a delivery needs no
// row for its secret, every node can check it, and a forged one is refused before anything is read.

import { createHmac, timingSafeEqual } from 'node:crypto';

/** The attempt that a secret is for. */
export interface AckTarget {
  readonly accountId: string;
  readonly messageId: string;
  readonly attempt: number;
}

export class AckSecrets {
  readonly #key: Buffer;

  /** `key` is base64url. */
  constructor(key: string) {
    this.#key = Buffer.from(key, 'base64url');
  }

  make({ accountId, messageId, attempt }: AckTarget): string {
    const target = Buffer.from(`${accountId} ${messageId} ${attempt}`).toString('base64url');
    return `${target}.${this.#macOf(target).toString('base64url')}`;
  }

  /** Null: this store has made no such secret. */
  read(secret: string): AckTarget | null {
    const [target = '', mac = '', ...more] = secret.split('.');
    const given = Buffer.from(mac, 'base64url');
    const expected = this.#macOf(target);
    // The text is compared as well: other texts stand for the same bytes.
    const isSame = given.length === expected.length && timingSafeEqual(given, expected);
    if (!isSame || more.length > 0 || mac !== given.toString('base64url')) return null;
    const [accountId, messageId, attempt] = Buffer.from(target, 'base64url').toString().split(' ');
    return { accountId: accountId!, messageId: messageId!, attempt: Number(attempt) };
  }

  #macOf(target: string): Buffer {
    return createHmac('sha256', this.#key).update(`ack ${target}`).digest();
  }
}
