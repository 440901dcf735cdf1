// How commands and replies travel between the threads. Copying objects key by key, with one buffer for each body, takes
// longer than some of the statements. So frequent commands travel as one flat list of values and one transferred buffer
// with all bodies; all other commands are sent as objects.

import type { Attempt, Claim, Settlement, SettleResult } from '../../../rules/delivery/message.ts';
import type { AcceptCommand, AcceptReply, AccountAtClaim, SettleReply } from '../../shared/commands.ts';
import type { ClaimReply } from '../../shared/standing-offer.ts';
import type { SuccessorLeases } from '../../shared/succession.ts';
import { putMessage, takeMessage } from './message-code.ts';
import {
  type Packed,
  Packing,
  putEach,
  putHeaders,
  putValue,
  takeEach,
  takeHeaders,
  takeValue,
  Unpacking,
} from './packing.ts';
import { type Command, type FailedReply, failedReply, type Reply } from './verbs.ts';

/** Written before each command and reply: the type of what follows. */
const ACCEPT = 1;
const SETTLE = 2;
const AS_IT_IS = 3;
/** From this size on, the body in a claim is transferred. Smaller bodies are copied, which takes less time. */
const LARGE_BYTES = 16 * 1024;
const NOTHING: ArrayBuffer[] = [];

export function packCommands(commands: readonly Command[]): Packed {
  const to = new Packing();
  for (const command of commands) {
    if (command.verb === 'accept') {
      to.put(ACCEPT);
      putAccept(to, command.args[0] as AcceptCommand);
    } else if (command.verb === 'settle') {
      const [settlements, now, successors] = command.args as [readonly Settlement[], number, SuccessorLeases | null];
      to.put(SETTLE);
      to.put(now);
      to.put(successors);
      putEach(to, settlements, putSettlement);
    } else {
      to.put(AS_IT_IS);
      to.put(command);
    }
  }
  return to.packed();
}

export function unpackCommands(packed: Packed): Command[] {
  const from = new Unpacking(packed);
  const commands: Command[] = [];
  while (from.hasMore) {
    const kind = from.take<number>();
    if (kind === ACCEPT) {
      commands.push({ verb: 'accept', args: [takeAccept(from)] });
    } else if (kind === SETTLE) {
      const now = from.take<number>();
      const successors = from.take<SuccessorLeases | null>();
      commands.push({ verb: 'settle', args: [takeEach(from, takeSettlement), now, successors] });
    } else {
      commands.push(from.take<Command>());
    }
  }
  return commands;
}

/** Packs the replies to these commands, in the same order. */
export function packReplies(commands: readonly Command[], replies: readonly Reply[]): Packed {
  const to = new Packing();
  replies.forEach((reply, index) => {
    const { verb } = commands[index]!;
    if ('value' in reply && verb === 'accept') {
      to.put(ACCEPT);
      putAcceptReply(to, reply.value as AcceptReply);
    } else if ('value' in reply && verb === 'settle') {
      const { results, dueAt, claims } = reply.value as SettleReply;
      to.put(SETTLE);
      to.put(dueAt);
      to.put(claims);
      putEach(to, results, putValue);
    } else {
      to.put(AS_IT_IS);
      to.put(reply);
    }
  });
  return to.packed();
}

/**
 * The memory of the large bodies in these replies, to be transferred. Copying a body of 1 MB takes both threads longer
 * than the rest of the work for its message, and leaves twice the garbage.
 */
export function largeBodies(commands: readonly Command[], replies: readonly Reply[]): ArrayBuffer[] {
  const found = new Set<ArrayBuffer>();
  replies.forEach((reply, index) => {
    const { verb } = commands[index]!;
    if (!('value' in reply) || (verb !== 'claim' && verb !== 'settle')) return;
    for (const { message } of (reply.value as ClaimReply | SettleReply).claims) {
      const { buffer, byteLength } = message.body;
      if (byteLength >= LARGE_BYTES && byteLength === buffer.byteLength) found.add(buffer as ArrayBuffer);
    }
  });
  return found.size === 0 ? NOTHING : [...found];
}

export function unpackReplies(packed: Packed): Reply[] {
  const from = new Unpacking(packed);
  const replies: Reply[] = [];
  while (from.hasMore) {
    const kind = from.take<number>();
    if (kind === ACCEPT) {
      replies.push({ value: takeAcceptReply(from) });
    } else if (kind === SETTLE) {
      const dueAt = from.take<number | null>();
      const claims = from.take<readonly Claim[]>();
      const value: SettleReply = { results: takeEach(from, takeValue<SettleResult>), dueAt, claims };
      replies.push({ value });
    } else {
      replies.push(from.take<Reply>());
    }
  }
  return replies;
}

/** For each entry of `list`: why it cannot be sent to another thread (as a function cannot), or null if it can. */
export function transferErrors<T>(
  list: readonly T[],
  pack: (one: T, index: number) => Packed,
): readonly (FailedReply | null)[] {
  return list.map((one, index) => {
    try {
      structuredClone(pack(one, index).values);
      return null;
    } catch (error) {
      return failedReply(error);
    }
  });
}

function putAccept(to: Packing, command: AcceptCommand): void {
  putEach(to, command.messages, putMessage);
  putEach(to, command.leases, putValue);
  to.put(command.node);
  to.put(command.now);
  to.put(command.dayMax);
}

// An object literal evaluates its properties in the order of the text, which must be the order of packing.
function takeAccept(from: Unpacking): AcceptCommand {
  return {
    messages: takeEach(from, takeMessage),
    leases: takeEach(from, takeValue<string | null>),
    node: from.take(),
    now: from.take(),
    dayMax: from.take(),
  };
}

function putSettlement(to: Packing, settlement: Settlement): void {
  to.put(settlement.lease);
  to.put(settlement.accountId);
  to.put(settlement.messageId);
  to.put(settlement.host);
  putAttempt(to, settlement.attempt);
  to.put(settlement.isPlain);
  to.put(settlement.row);
  to.put(settlement.lagMs);
  to.put(settlement.ack ?? null);
  to.put(settlement.retried);
  to.put(settlement.interrupted);
  to.put(settlement.aloneAtCrash);
  to.put(settlement.next);
  putEach(to, settlement.followUps, putMessage);
}

function takeSettlement(from: Unpacking): Settlement {
  return {
    lease: from.take(),
    accountId: from.take(),
    messageId: from.take(),
    host: from.take(),
    attempt: takeAttempt(from),
    isPlain: from.take(),
    row: from.take(),
    lagMs: from.take(),
    ...takeAck(from),
    retried: from.take(),
    interrupted: from.take(),
    aloneAtCrash: from.take(),
    next: from.take(),
    followUps: takeEach(from, takeMessage),
  };
}

function takeAck(from: Unpacking): Pick<Settlement, 'ack'> {
  const ack = from.take<NonNullable<Settlement['ack']> | null>();
  return ack === null ? {} : { ack };
}

function putAttempt(to: Packing, attempt: Attempt): void {
  to.put(attempt.number);
  to.put(attempt.startedAt);
  to.put(attempt.endedAt);
  to.put(attempt.outcome);
  to.put(attempt.status);
  to.put(attempt.error);
  to.put(attempt.nextAt);
  putHeaders(to, attempt.responseHeaders);
  to.putBody(attempt.responseBody);
  to.put(attempt.isResponseBodyCut);
}

function takeAttempt(from: Unpacking): Attempt {
  return {
    number: from.take(),
    startedAt: from.take(),
    endedAt: from.take(),
    outcome: from.take(),
    status: from.take(),
    error: from.take(),
    nextAt: from.take(),
    responseHeaders: takeHeaders(from),
    responseBody: from.takeBody(),
    isResponseBodyCut: from.take(),
  };
}

function putAcceptReply(to: Packing, reply: AcceptReply): void {
  putEach(to, reply.duplicates, putValue);
  to.put(reply.isOverQuota);
  to.put(reply.dueAt);
  // Replies for the same account have the same object, which is sent once.
  putEach(to, reply.accounts, putValue);
  putEach(to, reply.rows, putValue);
  to.put(reply.debounced);
  to.put(reply.misplaced);
}

function takeAcceptReply(from: Unpacking): AcceptReply {
  return {
    duplicates: takeEach(from, takeValue<string | null>),
    isOverQuota: from.take(),
    dueAt: from.take(),
    accounts: takeEach(from, takeValue<AccountAtClaim | null>),
    rows: takeEach(from, takeValue<number | null>),
    debounced: from.take(),
    misplaced: from.take(),
  };
}
