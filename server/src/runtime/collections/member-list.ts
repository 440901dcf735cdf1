// A linked list for entries that come and go with every message: a member joins and leaves without a search, and no
// table grows. A member is in one list at a time.

interface Leavable {
  delete(member: Member): void;
}

export class Member {
  list: Leavable | null = null;
  before: Member | null = null;
  behind: Member | null = null;

  /** Leaves the list that it is in, if any. */
  leave(): void {
    this.list?.delete(this);
  }
}

export class MemberList<T extends Member> {
  #first: Member | null = null;
  #last: Member | null = null;

  /** The member that joined first. */
  get first(): T | null {
    return this.#first as T | null;
  }

  /** Adds the member at the end. It leaves its previous list. */
  add(member: T): void {
    member.leave();
    member.list = this;
    member.before = this.#last;
    if (this.#last === null) this.#first = member;
    else this.#last.behind = member;
    this.#last = member;
  }

  /** Does nothing for a member of another list, or of none. */
  delete(member: Member): void {
    if (member.list !== this) return;
    if (member.before === null) this.#first = member.behind;
    else member.before.behind = member.behind;
    if (member.behind === null) this.#last = member.before;
    else member.behind.before = member.before;
    member.list = null;
    member.before = null;
    member.behind = null;
  }

  /** Yields the members in the order in which they joined. The current member may leave during the iteration. */
  *[Symbol.iterator](): IterableIterator<T> {
    for (let member = this.#first; member !== null; ) {
      const { behind } = member;
      yield member as T;
      member = behind;
    }
  }
}
