// The audit of a node: carries out calls that change something so that their rows are written with the change, counts
// refused calls, and writes a line to the log for each row.

import {
  type AuditFacts,
  type AuditKind,
  type AuditRow,
  type AuditRowKind,
  auditResult,
  auditTarget,
  CHANGES_OF_TOKEN_MAX,
  countedFrom,
} from '../rules/accounts/audit.ts';
import { type NewId, numbered } from '../rules/requests/id.ts';
import type { ProblemCode } from '../rules/requests/problem.ts';
import type { AccessStore } from '../store/ports/access-store.ts';
import { AuditNote, runWithNote } from '../store/shared/audit-note.ts';
import { CountedCalls } from './counted-calls.ts';

export type { AuditNote };

/** How often the counts of calls are written. A crash loses what was counted since. */
const EVERY_MS = 15_000;

/** What a command changes, and which account. */
export type CommandFacts = Pick<AuditFacts, 'call' | 'accountId' | 'target'>;

type Line = (fields: Readonly<Record<string, unknown>>, text: string) => void;

interface AuditLog {
  readonly info: Line;
  readonly debug: Line;
  isLevelEnabled(level: 'debug'): boolean;
}

export interface AuditOptions {
  readonly store: Pick<AccessStore, 'saveAudit'>;
  readonly now: () => number;
  readonly newId: NewId;
  /** False: no rows are written. The log still has its lines. */
  readonly isKept: boolean;
  readonly log: AuditLog;
  /** Called with the number of rows that could not be written. */
  readonly onLost: (rows: number) => void;
}

export class Audit {
  readonly #options: AuditOptions;
  readonly #counted = new CountedCalls();
  /** New rows that wait to be written. */
  #firsts: AuditRow[] = [];
  #writing: Promise<void> | null = null;
  /** How many changes each token has made in this minute. */
  readonly #changes = new Map<string, number>();
  #minute = 0;
  #numberedAt = 0;
  #number = 0;

  constructor(options: AuditOptions) {
    this.#options = options;
  }

  /**
   * Carries out a call that changes something. Its row is written with the change, or right after it, before the
   * returned promise resolves. If the call is refused, the caller counts it. `statusOf` returns the status of the response
   * when the call has ended.
   */
  async carryOut<T>(
    facts: AuditFacts,
    statusOf: () => number | null,
    call: (note: AuditNote) => Promise<T>,
  ): Promise<T> {
    const { now, isKept } = this.#options;
    const at = now();
    const kind = this.#kindOfChange(facts, at);
    const note = new AuditNote({ ...facts, id: this.#newId(at), at, lastAt: at, count: 1, kind }, isKept);
    const value = await this.#run(note, call);
    if (note.isDropped) return value;
    const status = statusOf();
    const row = { ...note.row, status };
    let isLost = false;
    if (isKept && !note.isStored) isLost = !(await this.#save([row]));
    // The row was written with the usual status of the call. Its count stays.
    else if (isKept && status !== note.row.status) await this.#save([{ ...row, count: 0 }]);
    this.#log(row, isLost);
    return value;
  }

  /**
   * Carries out what a command changes on this machine, or the start of the service. It has a row only if it changes
   * something.
   */
  command<T>({ call, accountId, target }: CommandFacts, change: () => Promise<T>): Promise<T> {
    const facts: AuditFacts = {
      accountId,
      via: 'command',
      tokenId: null,
      tokenName: null,
      address: null,
      call,
      target: target === null ? null : auditTarget(target),
      status: null,
      code: null,
      requestId: null,
    };
    return this.carryOut(
      facts,
      () => null,
      async (note) => {
        const value = await change();
        if (!note.isTaken) note.drop();
        return value;
      },
    );
  }

  async #run<T>(note: AuditNote, call: (note: AuditNote) => Promise<T>): Promise<T> {
    try {
      return await runWithNote(note, () => call(note));
    } catch (error) {
      if (note.isTaken || note.hasChanged) await this.#keepFailed(note);
      throw error;
    }
  }

  /** Something was changed, but the call could not be completed. */
  async #keepFailed({ row, isTaken, isStored }: AuditNote): Promise<void> {
    const { isKept } = this.#options;
    // Only a verb that has taken the row could have written it, with the usual status of the call.
    const failed = isTaken ? row : { ...row, status: null };
    const hasRow = isStored || (isKept && !isTaken && (await this.#save([failed])));
    this.#log(failed, isKept && !hasRow);
  }

  /**
   * A call was refused. The audit counts those of a kind that it keeps, and those of any kind whose caller may not make
   * them. The debug log has each of a known caller. `factsOf` is called only if it is needed.
   */
  refused(factsOf: () => AuditFacts, kind: AuditKind, code: ProblemCode): void {
    const isDenied = code === 'unauthorized' || code === 'forbidden';
    const isDebug = this.#options.log.isLevelEnabled('debug');
    if (kind === 'none' && !isDenied && !isDebug) return;
    const facts = factsOf();
    const isKnown = facts.accountId !== null;
    if (isKnown ? kind !== 'none' || isDenied : code === 'unauthorized') this.count(facts);
    // An unknown caller must not be able to fill the log.
    if (isDebug && isKnown) this.#options.log.debug(fieldsOf(facts), 'a request was refused');
  }

  /** Counts a call that was refused, or one for a single message. Never waits. */
  count(facts: AuditFacts): void {
    const first = this.#counted.add(facts, this.#options.now());
    if (first === null) return;
    this.#log(first, false);
    if (!this.#options.isKept) return;
    this.#firsts.push(first);
    this.#writing ??= this.#writeFirsts().finally(() => {
      this.#writing = null;
    });
  }

  /** A token that changes much does not take the place of what others have changed. */
  #kindOfChange({ tokenId }: AuditFacts, at: number): AuditRowKind {
    if (tokenId === null) return 'change';
    if (countedFrom(at) !== this.#minute) this.#changes.clear();
    this.#minute = countedFrom(at);
    const changes = (this.#changes.get(tokenId) ?? 0) + 1;
    this.#changes.set(tokenId, changes);
    return changes > CHANGES_OF_TOKEN_MAX ? 'frequent' : 'change';
  }

  /** Rows of one millisecond are listed in the order of their calls. */
  #newId(at: number): string {
    this.#number = at === this.#numberedAt ? this.#number + 1 : 0;
    this.#numberedAt = at;
    return numbered(this.#options.newId('aud', at), this.#number);
  }

  /** Writes everything that is counted, so that a list shows it. */
  async flush(): Promise<void> {
    while (this.#writing) await this.#writing;
    const rows = this.#counted.takeUncounted(this.#options.now());
    for (const ended of this.#counted.takeEnded()) this.#log(ended, false);
    if (rows.length > 0 && this.#options.isKept) await this.#save(rows);
  }

  /** Writes the counts of calls again and again. */
  get task() {
    return {
      name: 'audit',
      run: async (): Promise<number> => {
        await this.flush();
        return EVERY_MS;
      },
    };
  }

  /** One write at a time: while the store is slow, what comes meanwhile is written together. */
  async #writeFirsts(): Promise<void> {
    while (this.#firsts.length > 0) {
      const rows = this.#firsts;
      this.#firsts = [];
      await this.#save(rows);
    }
  }

  /** Returns whether the rows are stored. The call is not refused because its row cannot be written. */
  async #save(rows: readonly AuditRow[]): Promise<boolean> {
    try {
      await this.#options.store.saveAudit(rows);
      return true;
    } catch {
      this.#options.onLost(rows.length);
      return false;
    }
  }

  #log(row: AuditRow, isLost: boolean): void {
    const fields = { ...fieldsOf(row), ...(row.count > 1 && { count: row.count }), ...(isLost && { stored: false }) };
    this.#options.log.info(fields, auditResult(row) === 'done' ? 'audit: done' : 'audit: refused');
  }
}

/** The fields of a line in the log. Those that are undefined are left out of it. */
function fieldsOf(facts: AuditFacts) {
  return {
    account: facts.accountId ?? undefined,
    via: facts.via,
    token: facts.tokenId ?? undefined,
    tokenName: facts.tokenName ?? undefined,
    address: facts.address ?? undefined,
    call: facts.call,
    target: facts.target ?? undefined,
    status: facts.status ?? undefined,
    code: facts.code ?? undefined,
    request: facts.requestId ?? undefined,
  };
}

/**
 * Carries out a change of a command that has opened the store itself, with its row. Where no audit is kept, the service
 * deletes the row.
 */
export function auditCommand<T>(
  options: Pick<AuditOptions, 'store' | 'newId' | 'now'>,
  facts: CommandFacts,
  change: () => Promise<T>,
): Promise<T> {
  const silent = { info: () => {}, debug: () => {}, isLevelEnabled: () => false };
  return new Audit({ ...options, isKept: true, log: silent, onLost: () => {} }).command(facts, change);
}
