// What a node does by itself: takes messages in, leases and settles them, runs schedules and bulk operations, says that it is
// alive, and clears up after nodes that are not. `now` is always an argument; each verb is one transaction.

import type { KeptTime } from '../domain/clock.ts';
import type { Job, JobStep, JobWork } from '../domain/job.ts';
import type { Claim, NewMessage, Settlement, SettleResult } from '../domain/message.ts';
import type { NodeInfo } from '../domain/node.ts';
import type { Schedule } from '../domain/schedule.ts';
import type { ClaimLimits } from '../domain/slots.ts';

export interface AcceptAnswer {
  /** Beside each message the id of the one that stands for it already, or null when it was accepted. */
  readonly duplicates: readonly (string | null)[];
  /** The account has used up its day: nothing was accepted. */
  readonly isOverQuota: boolean;
}

/** What the store knows of work that is not due yet. */
export interface NextWork {
  /** When something that is not due yet becomes due; null if nothing is waiting for the clock. */
  readonly nextDueAt: number | null;
  /** When the next schedule is due; null if there is none. */
  readonly nextScheduleAt: number | null;
}

export interface SettleOptions {
  /**
   * For each message of these accounts that ends there is a free slot: the store may lease the next of its queue to the
   * same node, and hands it out.
   */
  readonly takesOver?: readonly string[];
  /** Nobody waits for it: the store may write it with what it is asked next, a moment later. */
  readonly canWait?: boolean;
}

/** What `claimAlone` answers. */
export interface AloneReply {
  readonly claim: Claim | null;
  /** From when the next message waits to start alone; null when none does. */
  readonly nextAt: number | null;
}

/** What crashes have left behind. */
export interface Recovery {
  /** From when a message waits to start alone; null when none does. */
  readonly nextAloneAt: number | null;
  /** How many messages are held, of all accounts; counted up to 10,000. */
  readonly held: number;
}

export interface HeardTime {
  readonly kept: KeptTime | null;
  /** What the store's own clock shows, if it has one that its nodes share. */
  readonly wallAt: number | null;
}

/** What a start must know of the time before it. */
export interface StoredTime extends HeardTime {
  /** The newest time that was given to a message in a line, or an earlier message was accepted; null if there is none. */
  readonly newestAt: number | null;
}

export interface DueLimits {
  readonly schedules: number;
  /** Of their bodies together; one that is larger comes alone. */
  readonly bytes: number;
  /** The account that was served last. */
  readonly after: string;
}

export interface DueSchedules {
  readonly due: readonly Schedule[];
  /** When the next is due, one of these or a later one; null if none is. */
  readonly nextAt: number | null;
}

/** A run of a schedule. */
export interface Tick {
  readonly schedule: Schedule;
  readonly messages: readonly NewMessage[];
  /** When it runs again. */
  readonly nextAt: number | null;
  /** With so many in its account's day it makes none; no limit where it is not named. */
  readonly dayMax?: number | null;
}

/** How many messages a tick made; null when it was not this call's to make. */
export type TickMade = number | 'overQuota' | null;

/** When a schedule runs, without what it publishes. */
export interface ScheduleTime {
  readonly accountId: string;
  readonly id: string;
  readonly cron: string;
  readonly nextAt: number;
}

export interface DeliveryStore {
  // ——— in ———

  /**
   * Writes all messages and counts their usage, or nothing. Queues and flow keys that do not exist are made. One whose
   * deduplication key is taken is left out, and the id it is taken by is answered. `dayMax` is the account's quota.
   */
  accept(messages: readonly NewMessage[], now: number, dayMax?: number | null): Promise<AcceptAnswer>;

  // ——— out ———

  /**
   * The slots that are free on this node from now on. The store leases messages to the node within them, in whichever
   * transaction meets them: an acceptance, a settlement that starts the next of a queue, or a look for due work. Each call
   * replaces the offer before; without slots it takes the offer back. A transaction that has begun may still lease.
   */
  offer(limits: ClaimLimits): void;

  /** Calls `listener` with what was leased to this node, each claim once. It may run inside any call of the store. */
  onClaims(listener: (claims: readonly Claim[]) => void): void;

  /**
   * Leases due messages within the offer, shared fairly over accounts and hosts, and hands them out. A message of a queue
   * is leased only when every message before it has ended. A call during another one leases nothing and returns at once.
   */
  claimDue(now: number): Promise<NextWork>;

  /** Writes attempt, next state and follow-ups together if the lease still stands; see `SettleResult` for the rest. */
  settle(settlements: readonly Settlement[], now: number, options?: SettleOptions): Promise<readonly SettleResult[]>;

  /**
   * Gives back claims whose attempt never started: they are pending again, as if never claimed. Those that are to be
   * cancelled have ended with that.
   */
  release(leases: readonly string[], now: number): Promise<void>;

  /** Calls `listener` when there may be something to claim. A hint: it may come for nothing, and may be missed. */
  onWork(listener: () => void): void;

  // ——— cancelling ———

  /**
   * Calls `listener` when messages are to be cancelled that this node may have claimed. It resolves when none of those that
   * were requested before the call can start any more.
   */
  onCancel(listener: () => Promise<void>): void;

  /** The leases of this node whose messages are to be cancelled. */
  cancelledClaims(): Promise<readonly string[]>;

  // ——— after crashes ———

  /**
   * All claims of one node that is no longer alive, to be settled as interrupted, together; without their bodies. None
   * when there is no such node. Never those of `node` itself.
   */
  orphanedClaims(node: string): Promise<readonly Claim[]>;

  /**
   * The leases of this node that the store does not keep for it any more, up to `limit` of all it has: they are under way, or
   * the node was never told of them.
   */
  strayClaims(limit: number): Promise<readonly string[]>;

  /**
   * Leases to this node one message that must start alone and whose time has come: the one that has waited for longest.
   * Nothing else hands these out. The caller sees to it that nothing else starts.
   */
  claimAlone(now: number): Promise<AloneReply>;

  recovery(): Promise<Recovery>;

  // ——— nodes and time ———

  /**
   * Says that `node` is alive and stays so for `ttlMs`, by the store's own clock; and keeps the time. Answers what was kept
   * before, perhaps by another node.
   */
  heartbeat(node: string, ttlMs: number, time?: KeptTime | null): Promise<HeardTime>;

  storedTime(): Promise<StoredTime>;

  /** The nodes that are alive, and those that were a while ago. */
  listNodes(): Promise<readonly NodeInfo[]>;

  // ——— schedules ———

  /** Some of those that are due, an equal part for each account, beginning with the accounts behind `limits.after`. */
  dueSchedules(now: number, limits: DueLimits): Promise<DueSchedules>;

  /**
   * Takes the ticks that `schedule.nextAt` names and accepts their messages, all together or nothing; answers how many
   * each has made. Null for one that was taken or paused already, or that another node is about to take.
   */
  fireSchedules(ticks: readonly Tick[], now: number): Promise<readonly TickMade[]>;

  /** Schedules that will run, up to `limit` behind a place, in the order of account and id. */
  scheduleTimes(after: Pick<ScheduleTime, 'accountId' | 'id'>, limit: number): Promise<readonly ScheduleTime[]>;

  /** Lets schedules run at other times: those that nobody has moved, paused or taken since they were read. */
  moveSchedules(moves: readonly { readonly schedule: ScheduleTime; readonly nextAt: number }[]): Promise<void>;

  // ——— bulk operations ———

  runningJobs(): Promise<readonly Job[]>;

  /** Does the work of a running job and notes it, together; answers how many messages it was done to. */
  runJobStep(accountId: string, id: string, work: JobWork, step: Omit<JobStep, 'done'>): Promise<number>;
}
