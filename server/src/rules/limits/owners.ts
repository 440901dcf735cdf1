// The owners of the open connections: accounts, and networks of callers whose account is not known. This file decides
// whose connection is closed first when there is no room for another one.

import { Member, MemberList } from '../../runtime/collections/member-list.ts';

/** An account, or a network of callers without a known account. */
export class Owner<M extends Member> extends Member {
  /** The id of the account, or the network. */
  readonly key: string;
  readonly isKnown: boolean;
  connections = 0;
  unreadBytes = 0;
  /**
   * The owner's connections that may be closed for a new one, the longest waiting first. Of an account, these are the
   * connections without a request in progress; of a network all, because only requests with a token are protected.
   */
  readonly closable = new MemberList<M>();

  constructor(key: string, isKnown: boolean) {
    super();
    this.key = key;
    this.isKnown = isKnown;
  }
}

/** Finds the owner with the most connections. */
class Ranking<M extends Member> {
  readonly #byCount: (MemberList<Owner<M>> | undefined)[] = [];
  #most = 0;
  total = 0;

  change(owner: Owner<M>, by: 1 | -1): void {
    this.total += by;
    owner.connections += by;
    owner.leave();
    if (owner.connections > 0) {
      this.#byCount[owner.connections] ??= new MemberList();
      this.#byCount[owner.connections]!.add(owner);
    }
    this.#most = Math.max(this.#most, owner.connections);
    while (this.#most > 0 && !this.#byCount[this.#most]?.first) this.#most -= 1;
  }

  /** A closable connection of the owner with the most connections. */
  firstToClose(): M | null {
    for (let count = this.#most; count > 0; count -= 1) {
      for (const { closable } of this.#byCount[count] ?? []) if (closable.first !== null) return closable.first;
    }
    return null;
  }
}

export class Owners<M extends Member> {
  readonly #byKey = new Map<string, Owner<M>>();
  readonly #known = new Ranking<M>();
  readonly #unknown = new Ranking<M>();

  get unknownConnections(): number {
    return this.#unknown.total;
  }

  account(id: string): Owner<M> {
    return this.#owner(id, true);
  }

  network(group: string): Owner<M> {
    return this.#owner(group, false);
  }

  #owner(key: string, isKnown: boolean): Owner<M> {
    const id = isKnown ? key : `network ${key}`;
    const owner = this.#byKey.get(id) ?? new Owner<M>(id, isKnown);
    this.#byKey.set(id, owner);
    return owner;
  }

  /** The owner has one connection more, or one less. */
  change(owner: Owner<M>, by: 1 | -1): void {
    (owner.isKnown ? this.#known : this.#unknown).change(owner, by);
    if (owner.connections === 0) this.#byKey.delete(owner.key);
    else this.#byKey.set(owner.key, owner);
  }

  /**
   * The connection to close for a new one. While callers without a known account together have more than `unknownMax`
   * connections, it is one of theirs if possible. A connection with a request of an account is never closed.
   */
  firstToClose(unknownMax: number): M | null {
    const unknown = this.#unknown.firstToClose();
    if (this.unknownConnections > unknownMax && unknown !== null) return unknown;
    return this.#known.firstToClose() ?? unknown;
  }

  /**
   * The owner with the most unread bytes. While all callers without a known account together have more than
   * `unknownMax` unread bytes, only these are considered.
   */
  mostUnread(unknownMax: number): Owner<M> | null {
    let unknownBytes = 0;
    for (const { isKnown, unreadBytes } of this.#byKey.values()) if (!isKnown) unknownBytes += unreadBytes;
    let most: Owner<M> | null = null;
    for (const owner of this.#byKey.values()) {
      if (owner.isKnown && unknownBytes > unknownMax) continue;
      if (owner.unreadBytes > (most?.unreadBytes ?? 0)) most = owner;
    }
    return most;
  }
}
