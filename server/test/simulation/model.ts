// What the store should hold, kept as a plain map beside it: every verb that changes messages is replayed here from its
// arguments and its answer, and an answer that the map does not allow is a violation. It knows no SQL.

import type { EngineLimits } from '../../src/delivery/engine/in-flight.ts';
import { STATUS_ACCEPTED, type StoredAck } from '../../src/rules/acks/ack.ts';
import type { ChangeOutcome, MessageChange } from '../../src/rules/delivery/change.ts';
import type { Claim, Message, NewMessage, Settlement, SettleResult } from '../../src/rules/delivery/message.ts';
import { CRASHES_ALONE_MAX, SUSPECT_INTERRUPTIONS } from '../../src/rules/delivery/recovery.ts';
import type { Expiration } from '../../src/rules/delivery/settle.ts';
import type { QueueChange } from '../../src/rules/lines/queue.ts';
import type { CancelResult } from '../../src/store/ports/message-store.ts';
import type { TickResult } from '../../src/store/ports/upkeep-store.ts';
import { LEASE_AWAITING } from '../../src/store/rows/rows.ts';
import type { AcceptCommand, AcceptReply } from '../../src/store/shared/commands.ts';
import { sharedBodies } from '../../src/store/shared/shared-bodies.ts';
import type { ClaimCommand } from '../../src/store/sqlite/deliveries/claim.ts';
import type { Happening } from './coverage.ts';

/** Under this name no node has a claim. */
const NOBODY = '';

export interface Entry {
  readonly id: string;
  readonly accountId: string;
  host: string;
  readonly queueName: string | null;
  readonly retriesMax: number;
  /** From then on it must not be claimed; null for one that does not expire. */
  mustStartBefore: number | null;
  state: 'pending' | 'claimed' | 'held' | 'delivered' | 'failed' | 'cancelled';
  lease: string | null;
  node: string | null;
  dueAt: number;
  /** Of one with a debounce key: how long after its acceptance it is due at the latest. */
  readonly acceptedAt: number;
  /** With its account; null for one that is not debounced. */
  readonly debounceKey: string | null;
  /** For how many it stands. */
  standsFor: number;
  retried: number;
  interrupted: number;
  aloneAtCrash: number;
  attempts: number;
  /** How often a person has changed or released it. */
  changes: number;
  /** What is known of the ack of its attempt; `isAwaiting`: no node has it under way. */
  ack: { readonly isAwaiting: boolean; readonly deadlineAt: number } | null;
  /** It is to be cancelled, and ends with its claim. */
  isCancelling: boolean;
  /** It may only be claimed alone. */
  startsAlone: boolean;
}

/** Every change has content that the message did not have. */
function expectedOutcome(entry: Entry | undefined, change: MessageChange): ChangeOutcome['outcome'] {
  const { dueAt, priority, versions } = change;
  if (entry?.state === 'claimed') return entry.isCancelling ? 'cancelRequested' : 'active';
  if (entry?.state !== 'pending' && entry?.state !== 'held') return 'unknown';
  if (versions !== null && !versions.includes(`${entry.attempts}-${entry.changes}`)) return 'otherVersion';
  if (priority !== null && entry.queueName !== null) return 'refused';
  if (entry.state === 'held') return dueAt !== null ? 'refused' : 'changed';
  const startsAt = dueAt ?? (entry.startsAlone ? Number.POSITIVE_INFINITY : entry.dueAt);
  const mustStartBefore = change.mustStartBefore ?? entry.mustStartBefore;
  const isAboutTime = dueAt !== null || change.mustStartBefore !== null;
  return isAboutTime && mustStartBefore !== null && mustStartBefore <= startsAt ? 'refused' : 'changed';
}

/** Whether the settlement comes in time: a 202 once, and the end for want of an ack when it is due. */
function isInTime({ ack }: Entry, { ack: ended, next }: Settlement): boolean {
  if (next.state === 'awaiting') return ack?.isAwaiting !== true;
  const dueBy = ended?.dueBy ?? null;
  return dueBy === null || (ack?.isAwaiting === true && ack.deadlineAt <= dueBy);
}

function isOver(mustStartBefore: number | null, now: number): boolean {
  return mustStartBefore !== null && mustStartBefore <= now;
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
  /** How many messages took the place of one that waited. */
  replaced = 0;
  readonly #leases = new Map<string, Entry>();
  /** How long after they are due the messages of a queue may start, for those that do not say. */
  readonly #queueExpires = new Map<string, number>();
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

  queueSaved(accountId: string, name: string, { expiresMs }: QueueChange): void {
    if (expiresMs != null) this.#queueExpires.set(`${accountId}/${name}`, expiresMs);
  }

  accepted(command: AcceptCommand, { duplicates, debounced, misplaced }: AcceptReply): void {
    if (misplaced) return;
    if (sharedBodies(command.messages).some((first) => first !== null)) this.#note('accepted with a shared body');
    command.messages.forEach((message, index) => {
      if (duplicates[index] != null) {
        this.#note('taken for a duplicate');
        return;
      }
      const waitingId = debounced?.[index]?.messageId ?? message.id;
      if (waitingId !== message.id) {
        this.#replaced(waitingId, message);
        return;
      }
      const entry = this.#add(message);
      const lease = command.leases[index] ?? null;
      if (lease === null) {
        if (message.queueName !== null) this.#note('accepted into a queue');
        else this.#note(message.dueAt > command.now ? 'accepted as delayed' : 'accepted as ready');
        return;
      }
      this.#note('accepted as claimed');
      if (message.queueName !== null) this.#report(`${message.id} is in a queue, yet leased as it was accepted`);
      this.#claim(entry, lease, command.node, command.now);
      this.#checkShare(entry, command.node);
    });
  }

  /** The newest is due after its window, and not later than the first one and the maximum allow. */
  #replaced(id: string, { createdAt: now, host, dueAt, mustStartBefore, debounce }: NewMessage): void {
    const entry = this.entries.get(id);
    const isWaiting = entry?.state === 'pending' && entry.attempts === 0 && !isOver(entry.mustStartBefore, now);
    if (!entry || !isWaiting) {
      this.#report(`the place of ${id}, which is ${entry?.state}, was taken`);
      return;
    }
    this.replaced += 1;
    this.#note('took the place of one that waits');
    const latestAt = entry.acceptedAt + (debounce!.latestAt - now);
    if (latestAt < dueAt) this.#note('is due at the latest of its key');
    const wantedAt = Math.min(dueAt, latestAt);
    entry.dueAt = wantedAt > now ? wantedAt : Math.min(entry.dueAt, now);
    entry.host = host;
    entry.mustStartBefore = mustStartBefore;
    entry.changes += 1;
    entry.standsFor += 1;
  }

  /** A tick of a schedule ran. */
  ticked(messages: readonly NewMessage[], result: TickResult): void {
    this.#note(result === 'skipped' ? 'tick skipped' : 'tick made');
    if (result === 'skipped') return;
    for (const message of messages) {
      this.#add(message);
      if (message.dueAt > message.createdAt) this.#note('tick made later by its jitter');
    }
  }

  handedOut(command: ClaimCommand, claims: readonly Claim[]): void {
    if (claims.length > command.limits.slots) this.#report(`${claims.length} claims for ${command.limits.slots} slots`);
    this.#claimed(claims, command.node, command.now, (entry) => this.#checkShare(entry, command.node));
  }

  /** The next of a queue, leased to the node whose message has ended. */
  tookOver(ended: readonly Settlement[], claims: readonly Claim[], node: string, now: number): void {
    for (const { message } of claims) {
      const isInPlace = ended.some(({ messageId, next }) => {
        const before = this.entries.get(messageId);
        return (
          next.state !== 'pending' &&
          next.state !== 'awaiting' &&
          before?.queueName === message.queueName &&
          before.accountId === message.accountId
        );
      });
      if (!isInPlace) this.#report(`${message.id} was leased in place of none that ended`);
      this.#note('claim in place of one that ended');
    }
    this.#claimed(claims, node, now);
  }

  #claimed(claims: readonly Claim[], node: string, now: number, check: (entry: Entry) => void = () => {}): void {
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
      this.#claim(entry, lease, node, now);
      check(entry);
    }
  }

  handedOutAlone({ lease, message }: Claim, node: string, now: number): void {
    const entry = this.entries.get(message.id);
    if (!entry?.startsAlone) {
      this.#report(`${message.id} was claimed alone, but has no reason to`);
      return;
    }
    this.#checkCounts(entry, message);
    this.#note('claim alone');
    this.#claim(entry, lease, node, now, true);
  }

  /** Messages that have expired while they waited. */
  expired(expirations: readonly Expiration[], ids: readonly string[], now: number): void {
    for (const { messageId, followUps } of expirations) {
      const entry = this.entries.get(messageId);
      const isDue = entry?.mustStartBefore != null && entry.mustStartBefore <= now;
      const isWaiting = entry?.state === 'pending' || entry?.state === 'held';
      if (!entry || ids.includes(messageId) !== (isDue && isWaiting)) {
        this.#report(`the expiry of ${messageId}, which is ${entry?.state}, is answered wrongly`);
      }
      if (!entry || !ids.includes(messageId)) continue;
      this.#note('expired while it waited');
      this.#leave(entry, 'failed');
      for (const message of followUps) {
        this.#note('failure callback made');
        this.#add(message);
      }
    }
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
      Object.assign(entry, { interrupted: 0, aloneAtCrash: 0, dueAt: 0, changes: entry.changes + 1 });
    }
  }

  #checkCounts(entry: Entry, message: Message): void {
    if (entry.debounceKey !== null && entry.attempts === 0 && message.dueAt !== entry.dueAt)
      this.#report(`${entry.id} is claimed as due at ${message.dueAt}, not ${entry.dueAt}`);
    for (const field of ['retried', 'interrupted', 'aloneAtCrash', 'attempts'] as const) {
      if (message[field] !== entry[field])
        this.#report(`${entry.id} is claimed with ${field} ${message[field]}, not ${entry[field]}`);
    }
  }

  settled(settlements: readonly Settlement[], results: readonly SettleResult[], node: string): void {
    for (const settlement of settlements) this.#checkAlone(settlement);
    settlements.forEach((settlement, index) => {
      const entry = this.entries.get(settlement.messageId);
      const isHeld = entry?.state === 'claimed' && entry.lease === settlement.lease && isInTime(entry, settlement);
      const result = results[index];
      if (!entry || isHeld !== (result !== 'lost') || (isHeld && entry.isCancelling !== (result === 'cancelled'))) {
        this.#report(
          `the settle of ${settlement.messageId} was ${result}, but its lease ${isHeld ? 'stands' : 'is gone'}`,
        );
      }
      if (!entry) return;
      if (result === 'lost') {
        this.#note(settlement.ack?.dueBy == null ? 'settle lost to a takeover' : 'settle of an ack lost to another');
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
    this.#note(entry.ack?.isAwaiting ? 'cancelled while its ack was awaited' : 'recorded after a cancel');
    this.#leave(entry, 'cancelled');
    if (attempt.number !== entry.attempts + 1)
      this.#report(`${entry.id}: attempt ${attempt.number} follows ${entry.attempts}`);
    this.sums.attempts += 1;
    this.sums.interrupted += interrupted - entry.interrupted;
    Object.assign(entry, { attempts: attempt.number, interrupted, aloneAtCrash });
    for (const message of followUps) if (message.kind === 'callback') this.#add(message);
  }

  released(leases: readonly string[], node: string, overtaken: readonly string[], now: number): void {
    const keys = new Set<string>();
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
      if (entry.debounceKey !== null && entry.attempts === 0) keys.add(entry.debounceKey);
    }
    const expected = [...keys].flatMap((key) => this.#overtake(key, now));
    const isSame = expected.length === overtaken.length && expected.every((id) => overtaken.includes(id));
    if (!isSame) this.#report(`overtaken were ${overtaken}, not ${expected}`);
  }

  /** Of those that wait under the key, all but the newest end, and it stands for them too. Returns their ids. */
  #overtake(key: string, now: number): string[] {
    const waiting = [...this.entries.values()].filter(
      ({ debounceKey, state, attempts, mustStartBefore }) =>
        debounceKey === key && state === 'pending' && attempts === 0 && !isOver(mustStartBefore, now),
    );
    const newest = waiting.pop();
    for (const entry of waiting) {
      this.#leave(entry, 'cancelled');
      newest!.changes += entry.standsFor;
      newest!.standsFor += entry.standsFor;
    }
    return waiting.map(({ id }) => id);
  }

  cancelled(messageIds: readonly string[], { cancelled, requested, awaited }: CancelResult): void {
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
      if (entry.ack?.isAwaiting) entry.ack = { isAwaiting: true, deadlineAt: 0 };
      if (isClaimed) entry.isCancelling = true;
      else this.#leave(entry, 'cancelled');
    }
  }

  changed(id: string, change: MessageChange, outcome: ChangeOutcome['outcome']): void {
    const { dueAt, target, mustStartBefore, versions, priority, outage, awaitAckMs } = change;
    const entry = this.entries.get(id);
    const expected = expectedOutcome(entry, change);
    if (outcome !== expected)
      this.#report(`the change of ${id}, which is ${entry?.state}, is ${outcome}, not ${expected}`);
    if (outcome === 'active') this.#note('change refused while claimed');
    if (outcome === 'unknown') this.#note('changed too late');
    if (outcome === 'otherVersion') this.#note('change of another version refused');
    if (!entry || outcome !== 'changed') return;
    this.#note(entry.attempts === 0 ? 'changed before the first attempt' : 'changed between two attempts');
    if (dueAt !== null && entry.queueName !== null) this.#note('changed the time of one in a queue');
    if (versions !== null) this.#note('change of the version that was read');
    if (priority !== null) this.#note('changed the priority');
    if (mustStartBefore !== null) this.#note('changed the expiry');
    if (outage !== null) this.#note('changed the outage');
    if (awaitAckMs !== null) this.#note('changed how long an ack is awaited');
    entry.changes += 1;
    entry.host = target!.host;
    entry.mustStartBefore = mustStartBefore ?? entry.mustStartBefore;
    if (dueAt !== null) entry.dueAt = dueAt;
  }

  #add(message: NewMessage): Entry {
    if (this.entries.has(message.id)) this.#report(`${message.id} was accepted twice`);
    const { id, accountId, host, queueName, retriesMax, dueAt } = message;
    const queueExpiresMs = queueName === null ? undefined : this.#queueExpires.get(`${accountId}/${queueName}`);
    const ofQueue = queueExpiresMs === undefined ? null : dueAt + queueExpiresMs;
    const counters = {
      retried: 0,
      interrupted: 0,
      aloneAtCrash: 0,
      attempts: 0,
      changes: 0,
      startsAlone: false,
      isCancelling: false,
      ack: null,
    };
    const entry: Entry = {
      id,
      accountId,
      host,
      queueName,
      retriesMax,
      mustStartBefore: message.mustStartBefore ?? ofQueue,
      dueAt,
      acceptedAt: message.createdAt,
      debounceKey: message.debounce && `${accountId} ${message.debounce.key}`,
      standsFor: 1,
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

  #claim(entry: Entry, lease: string, node: string, now: number, isAlone = false): void {
    if (entry.mustStartBefore !== null && entry.mustStartBefore <= now)
      this.#report(`${entry.id} was claimed ${now - entry.mustStartBefore} ms after it had expired`);
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
    if (next.state === 'awaiting') {
      this.#await(entry, next.deadlineAt);
      return;
    }
    if (entry.node !== node && isInterrupted) this.#note('orphan takeover');
    if (entry.ack?.isAwaiting && isInterrupted) this.#report(`${entry.id} was cut off while its ack was awaited`);
    this.#noteAck(entry, settlement);
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
    } else if (next.state === 'failed' && next.code === 'expired') {
      this.#note('expired before a retry');
      if (entry.mustStartBefore === null) this.#report(`${entry.id} failed as expired, but never expires`);
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

  /** The attempt stays open, and is no node's. */
  #await(entry: Entry, deadlineAt: number): void {
    const lease = `${entry.lease}${LEASE_AWAITING}`;
    entry.lease = lease;
    this.#leases.set(lease, entry);
    this.#note('answered with 202');
    entry.ack = { isAwaiting: true, deadlineAt: Math.max(deadlineAt, entry.ack?.deadlineAt ?? 0) };
    entry.node = NOBODY;
  }

  awaitingAck(): Entry[] {
    return [...this.entries.values()].filter(({ state, ack }) => state === 'claimed' && ack?.isAwaiting === true);
  }

  /** A receiver has reported progress. */
  noted(id: string, { isAwaiting, deadlineAt }: StoredAck): void {
    const entry = this.entries.get(id);
    const isOpen = entry?.state === 'claimed' && !entry.isCancelling;
    if (!entry || !isOpen || isAwaiting !== (entry.ack?.isAwaiting ?? false)) {
      this.#report(`progress of ${id} was noted, which is ${entry?.state}`);
      return;
    }
    entry.ack = { isAwaiting, deadlineAt };
  }

  #noteAck({ ack }: Entry, { attempt: { outcome, status } }: Settlement): void {
    if (outcome === 'noAck') this.#note('no ack in time');
    const isWord = outcome === 'rejected' || (outcome === 'answered' && status === STATUS_ACCEPTED);
    if (isWord && !ack?.isAwaiting) this.#note('ack before the response');
  }

  /** No lease any more, and another state. */
  #leave(entry: Entry, state: Exclude<Entry['state'], 'claimed'>): void {
    if (entry.state === 'claimed' || entry.state === 'held') this.sums[entry.state] -= 1;
    this.claimed.delete(entry);
    entry.state = state;
    entry.lease = null;
    entry.node = null;
    entry.ack = null;
    if (state !== 'pending') this.sums[state] += 1;
  }
}
