// Accepts and settles in groups: all calls that arrive while a transaction runs share the next one. Messages that are
// due at accept are leased to the engine of this node at once, if a slot is free.

import type { NewMessage, Settlement } from '../../../rules/delivery/message.ts';
import { workUnitsOf } from '../../../rules/limits/turns.ts';
import type { Clock } from '../../../runtime/world.ts';
import type { AcceptResult, DeliveryStore } from '../../ports/delivery-store.ts';
import type { OnCommit } from '../../ports/store.ts';
import {
  type AcceptCommand,
  type AcceptReply,
  acceptResult,
  mayBeRefused,
  type SettleReply,
} from '../../shared/commands.ts';
import { bodyBytes } from '../../shared/shared-bodies.ts';
import type { StandingOffer } from '../../shared/standing-offer.ts';
import { accountsTakingOver, type LeaseHolder } from '../../shared/succession.ts';
import { acceptAll, isPlain } from '../deliveries/accept.ts';
import { waitForFirst } from '../deliveries/cancel.ts';
import { arePlain, settle } from '../deliveries/settle.ts';
import { hasDebounceKey, MessageBusy } from '../messages/debounce.ts';
import type { Database } from '../sessions/database.ts';
import type { OwnLife } from '../sessions/own-life.ts';
import type { Pool } from '../sessions/pool.ts';
import type { Calls } from './calls.ts';
import { Committer } from './committer.ts';
import type { Doubts } from './doubts.ts';
import { SlotWaits } from './slot-waits.ts';
import { WriteTurns } from './write-turns.ts';

/** The limits of one transaction: while it runs, no other call gets its reply. */
const BATCH_MESSAGES_MAX = 1000;
const BATCH_BYTES_MAX = 16 * 1024 * 1024;

export interface GroupsOptions {
  readonly pool: Pool;
  readonly timers: Clock;
  readonly node: string;
  readonly offer: StandingOffer;
  readonly doubts: Doubts;
  readonly calls: Calls;
  readonly life: OwnLife;
}

interface SettleCommand {
  readonly settlements: readonly Settlement[];
  readonly now: number;
  readonly takesOver: readonly string[];
}

export class Groups {
  readonly #options: GroupsOptions;
  readonly #accepting: Committer<AcceptCommand, AcceptReply>;
  /** Separate, because these accepts may wait for a queue, a key or a quota and must not delay the others. */
  readonly #acceptingInLine: Committer<AcceptCommand, AcceptReply>;
  /** Separate, because these accepts may be run again, when another transaction has changed the message that waits. */
  readonly #debouncing: Committer<AcceptCommand, AcceptReply>;
  readonly #settling: Committer<SettleCommand, Omit<SettleReply, 'claims'>>;
  readonly #slotWaits: SlotWaits;

  constructor(options: GroupsOptions) {
    const { pool, timers, calls } = options;
    const turns = new WriteTurns(timers);
    this.#options = options;
    this.#slotWaits = new SlotWaits(timers, options.offer);
    const nowMs = () => timers.monotonicMs();
    const noted = { nowMs, onCommit: calls.onCommit };
    this.#accepting = acceptor((work) => pool.add(work), noted, turns);
    this.#acceptingInLine = acceptor((work) => pool.acceptInLine(work), noted);
    this.#debouncing = acceptor((work) => againWhileBusy(pool, () => pool.acceptInLine(work)), noted);
    this.#settling = new Committer({
      run: (commands) => this.#settleAll(commands),
      sizeOf: ({ settlements }) => settlements.reduce((size, { attempt }) => size + sizeOf(attempt.responseBody), 0),
      sizeMax: 1,
      ...noted,
      inTurn: {
        turns,
        messagesOf: ({ settlements }) => settlements.length,
        isAwaited: (commands) => commands.every(({ settlements }) => arePlain(settlements)),
      },
    });
  }

  async accept(messages: readonly NewMessage[], now: number, dayMax: number | null = null): Promise<AcceptResult> {
    const { node, offer, doubts, calls, life } = this.#options;
    const isLeasedNow = () => !mayBeRefused(messages, dayMax) && life.mayLease();
    if (isLeasedNow()) {
      // An accept that finds a free slot here gets it: nothing is awaited between this check and `leaseFor`.
      for (let wait = this.#slotWaits.begin(messages, now); wait !== null; wait = wait.again()) await wait.freed;
    }
    const isLeased = isLeasedNow();
    const leases = messages.map((message) => (isLeased ? offer.leaseFor(message, now) : null));
    let reply: AcceptReply;
    try {
      const command = { messages, leases, node, now, dayMax };
      reply = await this.#acceptorOf(command).call(command);
    } catch (error) {
      offer.drop(leases);
      doubts.addLeases(
        leases.filter((lease) => lease !== null),
        error,
      );
      throw error;
    }
    offer.confirm(messages, leases, reply, now);
    calls.noteDue({ dueAt: reply.dueAt, now });
    calls.news.noteJournal();
    return acceptResult(reply);
  }

  #acceptorOf(command: AcceptCommand): Committer<AcceptCommand, AcceptReply> {
    if (isPlain(command)) return this.#accepting;
    return hasDebounceKey(command) ? this.#debouncing : this.#acceptingInLine;
  }

  readonly settle: DeliveryStore['settle'] = async (settlements, now, { takesOver = [] } = {}) => {
    const { results, dueAt } = await this.#settling.call({ settlements, now, takesOver });
    this.#options.calls.noteDue({ dueAt, now });
    this.#options.calls.news.noteJournal();
    return results;
  };

  /** Runs `work`, which grants leases. If no reply comes, leases that may have been granted are released later. */
  leasing<T>(holder: LeaseHolder, work: () => Promise<T>): Promise<T> {
    const { offer, doubts } = this.#options;
    return offer.leasing(holder, work).catch((error: unknown) => {
      doubts.addPrefix(holder.leasePrefix, error);
      throw error;
    });
  }

  async close(): Promise<void> {
    const all = [this.#accepting, this.#acceptingInLine, this.#debouncing, this.#settling];
    await Promise.all(all.map((committer) => committer.close()));
  }

  async #settleAll(commands: readonly SettleCommand[]): Promise<Omit<SettleReply, 'claims'>[]> {
    const { life } = this.#options;
    const all = commands.flatMap(({ settlements }) => settlements);
    const now = Math.max(...commands.map((command) => command.now));
    const { results, dueAt } = arePlain(all)
      ? await this.#settlePlain(all, now)
      : await this.#settleInLine(all, now, life.mayLease() ? accountsTakingOver(commands) : []);
    let at = 0;
    return commands.map(({ settlements }) => {
      at += settlements.length;
      return { results: results.slice(at - settlements.length, at), dueAt };
    });
  }

  #settlePlain(settlements: readonly Settlement[], now: number): Promise<SettleReply> {
    const written = this.#options.pool.settle((database) => settle(database, settlements, now));
    this.#slotWaits.note(settlements, written);
    return written;
  }

  async #settleInLine(
    settlements: readonly Settlement[],
    now: number,
    takesOver: readonly string[],
  ): Promise<SettleReply> {
    const { pool, offer } = this.#options;
    const successors = offer.successorLeases(takesOver);
    const write = async () => {
      const reply = await pool.transaction((database) => settle(database, settlements, now, successors));
      offer.handOn(reply.claims);
      return reply;
    };
    return successors ? this.leasing(successors, write) : write();
  }
}

/** Runs an accept until no other transaction changes the messages that it would replace. */
async function againWhileBusy<T>(pool: Pool, run: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await run();
    } catch (error) {
      if (!(error instanceof MessageBusy)) throw error;
      const { accountId, messageId } = error;
      await pool.transaction((database) => waitForFirst(database, accountId, [messageId]));
    }
  }
}

function acceptor(
  run: (work: (database: Database) => Promise<AcceptReply[]>) => Promise<AcceptReply[]>,
  noted: { readonly nowMs: () => number; readonly onCommit: OnCommit },
  turns: WriteTurns | null = null,
) {
  const messagesOf = ({ messages }: AcceptCommand) => messages.length;
  return new Committer<AcceptCommand, AcceptReply>({
    run: (commands) => run((database) => acceptAll(database, commands)),
    sizeOf: ({ messages }) => Math.max(messages.length / BATCH_MESSAGES_MAX, bodyBytes(messages) / BATCH_BYTES_MAX),
    sizeMax: 1,
    byAccount: {
      workOf: ({ messages }) => ({
        accountId: messages[0]?.accountId ?? '',
        units: workUnitsOf(messages.length, bodyBytes(messages)),
      }),
    },
    ...noted,
    ...(turns && { inTurn: { turns, messagesOf, isAwaited: () => true } }),
  });
}

/** The size of a message as a fraction of one transaction. */
function sizeOf(body: Uint8Array): number {
  return Math.max(1 / BATCH_MESSAGES_MAX, body.length / BATCH_BYTES_MAX);
}
