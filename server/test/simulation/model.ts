// What the store should hold, kept as a plain map beside it: every verb that changes messages is replayed here from its
// arguments and its answer, and an answer that the map does not allow is a violation. It knows no SQL.

import type { EngineLimits } from '../../src/delivery/engine/in-flight.ts';
import type { Claim, Message, NewMessage, Settlement, SettleResult } from '../../src/rules/delivery/message.ts';
import { CRASHES_ALONE_MAX, SUSPECT_INTERRUPTIONS } from '../../src/rules/delivery/recovery.ts';
import type { CancelAnswer } from '../../src/store/ports/message-store.ts';
import type { AcceptCommand } from '../../src/store/shared/commands.ts';
import { sharedBodies } from '../../src/store/shared/shared-bodies.ts';
import type { ClaimCommand } from '../../src/store/sqlite/deliveries/claim.ts';
import type { Happening } from './coverage.ts';

export interface Entry {
  readonly id: string;
  readonly accountId: string;
  readonly host: string;
  readonly queueName: string | null;
  readonly retriesMax: number;
  state: 'pending' | 'claimed' | 'held' | 'delivered' | 'failed' | 'cancelled';
  lease: string | null;
  node: string | null;
  dueAt: number;
  retried: number;
  interrupted: number;
  aloneAtCrash: number;
  attempts: number;
  /** It is to be cancelled, and ends with its claim. */
  isCancelling: boolean;
  /** It may only be claimed alone. */
  startsAlone: boolean;
}

export class Model {
  readonly entries = new Map<string, Entry>();
  readonly claimed = new Set<Entry>();
  /** Ended or not, in sums that the database can give as well. */
  readonly sums = {
    total: 0,
    claimed: 0,
    held: 0,
    delivered: 0,
    failed: 0,
    cancelled: 0,
    attempts: 0,
    retried: 0,
    interrupted: 0,
  };
  /** Until when each node is taken to be alive, on the monotonic clock. */
  readonly aliveUntilMs = new Map<string, number>();
  readonly #leases = new Map<string, Entry>();
  readonly #limits: EngineLimits;
  /** The latest that any node ever took for the time: what was due once stays so. */
  readonly #latestNow: () => number;
  readonly #report: (violation: string) => void;
  readonly #note: (happening: Happening) => void;

  constructor(
    limits: EngineLimits,
    latestNow: () => number,
    report: (violation: string) => void,
    note: (happening: Happening) => void,
  ) {
    this.#limits = limits;
    this.#latestNow = latestNow;
    this.#report = report;
    this.#note = note;
  }

  /** Leases whose node was not told of them. */
  readonly #unknown = new Set<string>();

  get open(): number {
    const { total, delivered, failed, cancelled } = this.sums;
    return total - delivered - failed - cancelled;
  }

  get held(): number {
    return this.sums.held;
  }

  claimedBy(node: string): Entry[] {
    return [...this.claimed].filter((entry) => entry.node === node);
  }

  /** What this work leases to the node, the node will not know of. */
  leasedUnknown<T>(node: string, work: () => T): T {
    const before = new Set(this.claimedBy(node).map(({ lease }) => lease));
    const result = work();
    for (const { lease } of this.claimedBy(node)) if (!before.has(lease)) this.#unknown.add(lease!);
    return result;
  }

  /** Without what its node was not told of. */
  knownTo(node: string): Entry[] {
    return this.claimedBy(node).filter(({ lease }) => !this.#unknown.has(lease!));
  }

  accepted(command: AcceptCommand): void {
    if (sharedBodies(command.messages).some((first) => first !== null)) this.#note('accepted with a shared body');
    command.messages.forEach((message, index) => {
      const entry = this.#add(message);
      const lease = command.leases[index] ?? null;
      if (lease === null) {
        if (message.queueName !== null) this.#note('accepted into a queue');
        else this.#note(message.dueAt > command.now ? 'accepted as delayed' : 'accepted as ready');
        return;
      }
      this.#note('accepted as claimed');
      if (message.queueName !== null) this.#report(`${message.id} is in a queue, yet leased as it was accepted`);
      this.#claim(entry, lease, command.node);
      this.#checkShare(entry, command.node);
    });
  }

  handedOut(command: ClaimCommand, claims: readonly Claim[]): void {
    if (claims.length > command.limits.slots) this.#report(`${claims.length} claims for ${command.limits.slots} slots`);
    this.#claimed(claims, command.node, (entry) => this.#checkShare(entry, command.node));
  }

  /** The next of a queue, leased to the node whose message has ended. */
  tookOver(ended: readonly Settlement[], claims: readonly Claim[], node: string): void {
    for (const { message } of claims) {
      const isInPlace = ended.some(({ messageId, next }) => {
        const before = this.entries.get(messageId);
        return (
          next.state !== 'pending' && before?.queueName === message.queueName && before.accountId === message.accountId
        );
      });
      if (!isInPlace) this.#report(`${message.id} was leased in place of none that ended`);
      this.#note('claim in place of one that ended');
    }
    this.#claimed(claims, node);
  }

  #claimed(claims: readonly Claim[], node: string, check: (entry: Entry) => void = () => {}): void {
    for (const { lease, message } of claims) {
      const entry = this.entries.get(message.id);
      if (!entry) {
        this.#report(`${message.id} was claimed, but never accepted`);
        continue;
      }
      this.#checkCounts(entry, message);
      if (entry.startsAlone) this.#report(`${entry.id} must start alone, but was claimed like others`);
      this.#note(entry.retried > 0 ? 'claim of a retry' : 'claim');
      if (entry.queueName !== null) this.#note('claim from a queue');
      this.#claim(entry, lease, node);
      check(entry);
    }
  }

  handedOutAlone({ lease, message }: Claim, node: string): void {
    const entry = this.entries.get(message.id);
    if (!entry?.startsAlone) {
      this.#report(`${message.id} was claimed alone, but has no reason to`);
      return;
    }
    this.#checkCounts(entry, message);
    this.#note('claim alone');
    this.#claim(entry, lease, node, true);
  }

  releasedHeld(messageIds: readonly string[]): void {
    for (const id of messageIds) {
      const entry = this.entries.get(id);
      if (entry?.state !== 'held') {
        this.#report(`${id} was let go while it is ${entry?.state}`);
        continue;
      }
      this.#leave(entry, 'pending');
      this.sums.interrupted -= entry.interrupted;
      Object.assign(entry, { interrupted: 0, aloneAtCrash: 0, dueAt: 0 });
    }
  }

  #checkCounts(entry: Entry, message: Message): void {
    for (const field of ['retried', 'interrupted', 'aloneAtCrash', 'attempts'] as const) {
      if (message[field] !== entry[field])
        this.#report(`${entry.id} is claimed with ${field} ${message[field]}, not ${entry[field]}`);
    }
  }

  settled(settlements: readonly Settlement[], results: readonly SettleResult[], node: string): void {
    for (const settlement of settlements) this.#checkAlone(settlement);
    settlements.forEach((settlement, index) => {
      const entry = this.entries.get(settlement.messageId);
      const isHeld = entry?.state === 'claimed' && entry.lease === settlement.lease;
      const result = results[index];
      if (!entry || isHeld !== (result !== 'lost') || (isHeld && entry.isCancelling !== (result === 'cancelled'))) {
        this.#report(
          `the settle of ${settlement.messageId} was ${result}, but its lease ${isHeld ? 'stands' : 'is gone'}`,
        );
      }
      if (!entry) return;
      if (result === 'lost') {
        this.#note('settle lost to a takeover');
        return;
      }
      if (result === 'cancelled') {
        this.#endCancelled(entry, settlement);
        return;
      }
      this.#settle(entry, settlement, node);
    });
  }

  /** An attempt that was under way when its message was to be cancelled: it ends with it. */
  #endCancelled(entry: Entry, { attempt, interrupted, aloneAtCrash, followUps }: Settlement): void {
    this.#note('recorded after a cancel');
    this.#leave(entry, 'cancelled');
    if (attempt.number !== entry.attempts + 1)
      this.#report(`${entry.id}: attempt ${attempt.number} follows ${entry.attempts}`);
    this.sums.attempts += 1;
    this.sums.interrupted += interrupted - entry.interrupted;
    Object.assign(entry, { attempts: attempt.number, interrupted, aloneAtCrash });
    for (const message of followUps) if (message.kind === 'callback') this.#add(message);
  }

  released(leases: readonly string[], node: string): void {
    for (const lease of leases) {
      const entry = this.#leases.get(lease);
      if (entry?.lease !== lease || entry.node !== node) continue;
      if (entry.isCancelling) {
        this.#note('given back to be cancelled');
        this.#leave(entry, 'cancelled');
        continue;
      }
      this.#note('release');
      this.#leave(entry, 'pending');
      entry.startsAlone = entry.interrupted >= SUSPECT_INTERRUPTIONS;
    }
  }

  cancelled(messageIds: readonly string[], { cancelled, requested, awaited }: CancelAnswer): void {
    for (const id of messageIds) {
      const entry = this.entries.get(id);
      const isOpen = entry?.state === 'pending' || entry?.state === 'claimed' || entry?.state === 'held';
      const isClaimed = entry?.state === 'claimed';
      const expected = !isOpen ? null : !isClaimed ? cancelled : entry?.isCancelling ? awaited : requested;
      const isAnswered = [cancelled, requested, awaited].every((ids) => ids.includes(id) === (ids === expected));
      if (!isAnswered) this.#report(`the cancel of ${id}, which is ${entry?.state}, is answered wrongly`);
      if (!entry || !isOpen) {
        this.#note('cancelled too late');
        continue;
      }
      this.#note(`cancelled while ${entry.state as 'pending' | 'claimed' | 'held'}`);
      if (isClaimed) entry.isCancelling = true;
      else this.#leave(entry, 'cancelled');
    }
  }

  #add(message: NewMessage): Entry {
    if (this.entries.has(message.id)) this.#report(`${message.id} was accepted twice`);
    const { id, accountId, host, queueName, retriesMax, dueAt } = message;
    const counters = {
      retried: 0,
      interrupted: 0,
      aloneAtCrash: 0,
      attempts: 0,
      startsAlone: false,
      isCancelling: false,
    };
    const entry: Entry = {
      id,
      accountId,
      host,
      queueName,
      retriesMax,
      dueAt,
      state: 'pending',
      lease: null,
      node: null,
      ...counters,
    };
    this.entries.set(id, entry);
    this.sums.total += 1;
    return entry;
  }

  /** At a crash, the only one in flight was alone; of several, only one that others had made way for. */
  #checkAlone({ messageId, lease, attempt, aloneAtCrash }: Settlement): void {
    const entry = this.entries.get(messageId);
    if (!entry || entry.lease !== lease || attempt.outcome !== 'interrupted') return;
    const isAlone = this.claimedBy(entry.node!).length === 1;
    const wasAlone = aloneAtCrash > entry.aloneAtCrash;
    if (wasAlone && !isAlone && entry.interrupted < SUSPECT_INTERRUPTIONS)
      this.#report(`${messageId} counts as alone at a crash, but others were in flight`);
  }

  #claim(entry: Entry, lease: string, node: string, isAlone = false): void {
    if (entry.state !== 'pending') this.#report(`${entry.id} was claimed while it is ${entry.state}`);
    const earlyMs = entry.dueAt - this.#latestNow();
    if (earlyMs > 0) this.#report(`${entry.id} was claimed ${earlyMs} ms before it is due`);
    if (this.#leases.has(lease)) this.#report(`the lease ${lease} of ${entry.id} was handed out before`);
    this.#leases.set(lease, entry);
    entry.state = 'claimed';
    entry.lease = lease;
    entry.node = node;
    entry.startsAlone = false;
    this.claimed.add(entry);
    this.sums.claimed += 1;
    if (!isAlone) this.#checkCaps(entry, node);
  }

  #checkCaps(entry: Entry, node: string): void {
    const held = this.knownTo(node);
    const counts = [
      ['the node', held.length, this.#limits.concurrency],
      [entry.host, held.filter(({ host }) => host === entry.host).length, this.#limits.hostConcurrency],
      [
        entry.accountId,
        held.filter(({ accountId }) => accountId === entry.accountId).length,
        this.#limits.accountConcurrency ?? this.#limits.concurrency,
      ],
    ] as const;
    for (const [what, count, max] of counts) {
      if (count > max) this.#report(`${node} holds ${count} claims of ${what}, but only ${max} are allowed`);
    }
  }

  /** Of the places of a node and of a host an account takes as many as stay free after it; of the last, one. */
  #checkShare(entry: Entry, node: string): void {
    const held = this.knownTo(node);
    const pools = [
      ['the node', held, this.#limits.concurrency],
      [entry.host, held.filter(({ host }) => host === entry.host), this.#limits.hostConcurrency],
    ] as const;
    for (const [what, all, max] of pools) {
      const own = all.filter(({ accountId }) => accountId === entry.accountId).length;
      if (own > 1 && own > max - all.length)
        this.#report(`${entry.accountId} holds ${own} claims of ${what}, and ${max - all.length} are free`);
    }
  }

  #settle(entry: Entry, settlement: Settlement, node: string): void {
    const { attempt, retried, interrupted, aloneAtCrash, next, followUps } = settlement;
    const isInterrupted = attempt.outcome === 'interrupted';
    if (entry.node !== node) this.#note('orphan takeover');
    if (attempt.number !== entry.attempts + 1)
      this.#report(`${entry.id}: attempt ${attempt.number} follows ${entry.attempts}`);
    this.sums.attempts += 1;
    this.sums.retried += retried - entry.retried;
    this.sums.interrupted += interrupted - entry.interrupted;
    const isDrained = isInterrupted && interrupted === entry.interrupted;
    if (!isInterrupted && interrupted !== 0) this.#report(`${entry.id} has a result and still ${interrupted} crashes`);
    if (isInterrupted && retried !== entry.retried) this.#report(`${entry.id} was cut off and has used up a retry`);
    Object.assign(entry, { attempts: attempt.number, retried, interrupted, aloneAtCrash });
    this.#leave(entry, next.state);
    if (next.state === 'pending') {
      entry.dueAt = next.dueAt;
      entry.startsAlone = next.startsAlone;
      if (isDrained) this.#note('repeat after a drain');
      else this.#note(isInterrupted ? 'repeat after an interruption' : 'retry');
      if (next.startsAlone) this.#note('pause after an interruption');
    } else if (next.state === 'held') {
      this.#note('held');
      if (aloneAtCrash < CRASHES_ALONE_MAX) this.#report(`${entry.id} is held after ${aloneAtCrash} crashes alone`);
    } else if (isInterrupted) {
      this.#report(`${entry.id} is ${next.state} because it was cut off`);
    } else if (next.state === 'delivered') {
      this.#note(retried > 0 ? 'delivered after a retry' : 'delivered');
    } else if (attempt.outcome === 'refusedByPolicy') this.#note('failed by refusal');
    else this.#note(attempt.status === 489 ? 'failed by 489' : 'failed by exhaustion');
    for (const message of followUps) {
      this.#note(message.kind === 'callback' ? 'callback made' : 'failure callback made');
      this.#add(message);
    }
  }

  /** No lease any more, and another state. */
  #leave(entry: Entry, state: Exclude<Entry['state'], 'claimed'>): void {
    if (entry.state === 'claimed' || entry.state === 'held') this.sums[entry.state] -= 1;
    this.claimed.delete(entry);
    entry.state = state;
    entry.lease = null;
    entry.node = null;
    if (state !== 'pending') this.sums[state] += 1;
  }
}
