// Counts equal calls of a minute in one row: refused calls, calls for single messages, and sign-ins. However many calls come, they
// make a limited number of rows: an attacker without a token cannot fill the store or the log.

import { hash } from 'node:crypto';
import {
  type AuditFacts,
  type AuditRow,
  COUNTED_MS,
  countedFrom,
  countedKey,
  countedKind,
  OTHER_CALLS,
} from '../rules/accounts/audit.ts';
import { accountMax, nodeMax } from '../rules/limits/budgets.ts';
import { idOf } from '../rules/requests/id.ts';

interface Counted {
  readonly row: AuditRow;
  lastAt: number;
  /** Calls of the whole minute, and those of them that no row counts yet. */
  total: number;
  uncounted: number;
}

export interface CountedCallsLimits {
  /** Rows of a minute for one account, for all accounts, and for all networks of unknown callers. */
  readonly account: number;
  readonly node: number;
  readonly networks: number;
}

const LIMITS: CountedCallsLimits = {
  account: accountMax('auditKinds'),
  node: nodeMax('auditKinds'),
  networks: nodeMax('auditNetworks'),
};

export class CountedCalls {
  readonly #limits: CountedCallsLimits;
  readonly #counted = new Map<string, Counted>();
  /** How many rows of this minute each account has. */
  readonly #ofAccounts = new Map<string, number>();
  #networks = 0;
  #from = Number.NEGATIVE_INFINITY;
  /** The counts of the minute before, until they are taken. */
  #ended: Counted[] = [];

  constructor(limits: CountedCallsLimits = LIMITS) {
    this.#limits = limits;
  }

  /** Counts a call. Returns its row if it is the first of its kind in this minute, else null. */
  add(facts: AuditFacts, at: number): AuditRow | null {
    if (at < this.#from || at >= this.#from + COUNTED_MS) this.#begin(countedFrom(at));
    const own = countedKey(facts);
    const known = this.#counted.get(own);
    if (known) return count(known, at);
    const [key, kept] = this.#room(own, facts);
    const other = this.#counted.get(key);
    if (other) return count(other, at);
    // Lanes and nodes that count the same write the same row, so their counts are added up.
    const id = idOf('aud', this.#from, hash('sha256', key, 'buffer').subarray(0, 16));
    const row: AuditRow = { ...kept, id, at, lastAt: at, count: 1, kind: countedKind(kept) };
    this.#counted.set(key, { row, lastAt: at, total: 1, uncounted: 0 });
    return row;
  }

  /** The counts that no row has yet, as rows to be added to those with the same ids. They are not returned again. */
  takeUncounted(at: number): AuditRow[] {
    if (at >= this.#from + COUNTED_MS) this.#begin(countedFrom(at));
    const rows: AuditRow[] = [];
    for (const each of [...this.#ended, ...this.#counted.values()]) {
      if (each.uncounted === 0) continue;
      rows.push({ ...each.row, lastAt: each.lastAt, count: each.uncounted });
      each.uncounted = 0;
    }
    return rows;
  }

  /** The rows of the minute that has ended, with the counts of this process, if there was more than one call. */
  takeEnded(): AuditRow[] {
    const ended = this.#ended;
    this.#ended = [];
    return ended.filter(({ total }) => total > 1).map(({ row, lastAt, total }) => ({ ...row, lastAt, count: total }));
  }

  /** The key under which a call is counted, and what its row says of it. Beyond a limit, this is less. */
  #room(own: string, facts: AuditFacts): [string, AuditFacts] {
    const { account, node, networks } = this.#limits;
    if (facts.accountId === null) {
      if (this.#networks >= networks) return ['others without a token', { ...others(facts), accountId: null }];
      this.#networks += 1;
      return [own, facts];
    }
    const before = this.#ofAccounts.get(facts.accountId) ?? 0;
    const result = facts.code === null ? 'done' : 'refused';
    if (this.#counted.size - this.#networks >= node) return [`others ${result}`, { ...others(facts), accountId: null }];
    if (before >= account) return [`others ${result} ${facts.accountId}`, others(facts)];
    this.#ofAccounts.set(facts.accountId, before + 1);
    return [own, facts];
  }

  #begin(from: number): void {
    // Those of an earlier minute were not taken in time: they are given up, so that they do not pile up.
    this.#ended = [...this.#counted.values()];
    this.#counted.clear();
    this.#ofAccounts.clear();
    this.#networks = 0;
    this.#from = from;
  }
}

function count(known: Counted, at: number): null {
  known.total += 1;
  known.uncounted += 1;
  known.lastAt = at;
  return null;
}

function others({ accountId, code }: AuditFacts): AuditFacts {
  return {
    accountId,
    via: 'none',
    tokenId: null,
    tokenName: null,
    address: null,
    call: OTHER_CALLS,
    target: null,
    status: null,
    code,
    requestId: null,
  };
}
