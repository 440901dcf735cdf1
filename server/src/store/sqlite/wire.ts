// How commands and replies cross between the threads. Copying objects key by key, and a buffer for each body, costs more
// than some of the statements they lead to: what comes by the thousand crosses as one flat list of values and one buffer
// with all bodies, which changes hands without being copied again. Everything else crosses as it is.

import type { Attempt, Claim, HeaderList, NewMessage, Settlement, SettleResult } from '../../domain/message.ts';
import type { AccountAtClaim } from '../standing-offer.ts';
import type { Estate } from '../succession.ts';
import type { AcceptCommand, AcceptReply } from './accept.ts';
import type { SettleReply } from './settle.ts';
import { type Command, type FailedReply, failedReply, type Reply } from './verbs.ts';

export interface Packed {
  readonly values: readonly unknown[];
  /** One behind the other; the values tell how long each is. */
  readonly bodies: Uint8Array<ArrayBuffer>;
}

/** What stands before each command and reply, so that the other side knows what follows. */
const ACCEPT = 1;
const SETTLE = 2;
const AS_IT_IS = 3;

/** In place of the length of a body: it is the one before. */
const SAME_BODY = -1;

export function packCommands(commands: readonly Command[]): Packed {
  const to = new Packing();
  for (const command of commands) {
    if (command.verb === 'accept') {
      to.put(ACCEPT);
      putAccept(to, command.args[0] as AcceptCommand);
    } else if (command.verb === 'settle') {
      const [settlements, now, estate] = command.args as [readonly Settlement[], number, Estate | null];
      to.put(SETTLE);
      to.put(now);
      to.put(estate);
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
      const estate = from.take<Estate | null>();
      commands.push({ verb: 'settle', args: [takeEach(from, takeSettlement), now, estate] });
    } else {
      commands.push(from.take<Command>());
    }
  }
  return commands;
}

/** The replies to these commands, in the same order. */
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

/** Beside each of them why it cannot cross by itself, or null. A function, for one, cannot. */
export function notCrossing<T>(
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

class Packing {
  readonly #values: unknown[] = [];
  readonly #bodies: Uint8Array[] = [];
  #bytes = 0;

  put(value: unknown): void {
    this.#values.push(value);
  }

  /** The same one again crosses once, and arrives as one: messages that share it here share it there. */
  putBody(body: Uint8Array): void {
    if (body === this.#bodies.at(-1)) {
      this.#values.push(SAME_BODY);
      return;
    }
    this.#values.push(body.length);
    this.#bodies.push(body);
    this.#bytes += body.length;
  }

  packed(): Packed {
    // Slow means that it is not a part of a larger buffer, which could not be handed over.
    const bodies = Buffer.allocUnsafeSlow(this.#bytes);
    let at = 0;
    for (const body of this.#bodies) {
      bodies.set(body, at);
      at += body.length;
    }
    return { values: this.#values, bodies };
  }
}

/** Takes what was put, in the same order. */
class Unpacking {
  readonly #values: readonly unknown[];
  readonly #bodies: Uint8Array;
  #at = 0;
  #bodyAt = 0;
  #lastBody: Uint8Array = new Uint8Array(0);

  constructor({ values, bodies }: Packed) {
    this.#values = values;
    this.#bodies = bodies;
  }

  get hasMore(): boolean {
    return this.#at < this.#values.length;
  }

  take<T>(): T {
    const value = this.#values[this.#at] as T;
    this.#at += 1;
    return value;
  }

  takeBody(): Uint8Array {
    const length = this.take<number>();
    if (length !== SAME_BODY) {
      const start = this.#bodyAt;
      this.#bodyAt += length;
      this.#lastBody = this.#bodies.subarray(start, this.#bodyAt);
    }
    return this.#lastBody;
  }
}

function putEach<T>(to: Packing, list: readonly T[], putOne: (to: Packing, one: T) => void): void {
  to.put(list.length);
  for (const one of list) putOne(to, one);
}

function takeEach<T>(from: Unpacking, takeOne: (from: Unpacking) => T): T[] {
  const length = from.take<number>();
  const list: T[] = [];
  for (let taken = 0; taken < length; taken += 1) list.push(takeOne(from));
  return list;
}

function putValue(to: Packing, value: unknown): void {
  to.put(value);
}

function takeValue<T>(from: Unpacking): T {
  return from.take<T>();
}

function putAccept(to: Packing, command: AcceptCommand): void {
  putEach(to, command.messages, putMessage);
  putEach(to, command.leases, putValue);
  to.put(command.node);
  to.put(command.now);
  to.put(command.dayMax);
}

// Here and below, the properties of an object literal are taken in the order in which they are written.
function takeAccept(from: Unpacking): AcceptCommand {
  return {
    messages: takeEach(from, takeMessage),
    leases: takeEach(from, takeValue<string | null>),
    node: from.take(),
    now: from.take(),
    dayMax: from.take(),
  };
}

function putMessage(to: Packing, message: NewMessage): void {
  to.put(message.id);
  to.put(message.accountId);
  to.put(message.kind);
  to.put(message.url);
  to.put(message.host);
  to.put(message.method);
  putHeaders(to, message.headers);
  to.putBody(message.body);
  to.put(message.retriesMax);
  to.put(message.retryDelay);
  to.put(message.timeoutMs);
  to.put(message.queueName);
  to.put(message.orderKey);
  to.put(message.flow);
  to.put(message.scheduleId);
  putEach(to, message.labels, putValue);
  to.put(message.redaction);
  to.put(message.deduplication);
  to.put(message.topicName);
  to.put(message.endpointName);
  to.put(message.callback);
  to.put(message.failureCallback);
  to.put(message.sourceMessageId);
  to.put(message.callerIp);
  to.put(message.hops);
  to.put(message.descendantsLeft);
  to.put(message.createdAt);
  to.put(message.dueAt);
}

function takeMessage(from: Unpacking): NewMessage {
  return {
    id: from.take(),
    accountId: from.take(),
    kind: from.take(),
    url: from.take(),
    host: from.take(),
    method: from.take(),
    headers: takeHeaders(from),
    body: from.takeBody(),
    retriesMax: from.take(),
    retryDelay: from.take(),
    timeoutMs: from.take(),
    queueName: from.take(),
    orderKey: from.take(),
    flow: from.take(),
    scheduleId: from.take(),
    labels: takeEach(from, takeValue<string>),
    redaction: from.take(),
    deduplication: from.take(),
    topicName: from.take(),
    endpointName: from.take(),
    callback: from.take(),
    failureCallback: from.take(),
    sourceMessageId: from.take(),
    callerIp: from.take(),
    hops: from.take(),
    descendantsLeft: from.take(),
    createdAt: from.take(),
    dueAt: from.take(),
  };
}

function putHeaders(to: Packing, headers: HeaderList): void {
  to.put(headers.length);
  for (const header of headers) {
    to.put(header[0]);
    to.put(header[1]);
  }
}

function takeHeaders(from: Unpacking): HeaderList {
  return takeEach(from, (header) => [header.take<string>(), header.take<string>()] as const);
}

function putSettlement(to: Packing, settlement: Settlement): void {
  to.put(settlement.lease);
  to.put(settlement.accountId);
  to.put(settlement.messageId);
  putAttempt(to, settlement.attempt);
  to.put(settlement.lagMs);
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
    attempt: takeAttempt(from),
    lagMs: from.take(),
    retried: from.take(),
    interrupted: from.take(),
    aloneAtCrash: from.take(),
    next: from.take(),
    followUps: takeEach(from, takeMessage),
  };
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
  to.put(reply.accounts.size);
  for (const [accountId, account] of reply.accounts) {
    to.put(accountId);
    // The same object in many replies of a batch crosses once.
    to.put(account);
  }
}

function takeAcceptReply(from: Unpacking): AcceptReply {
  return {
    duplicates: takeEach(from, takeValue<string | null>),
    isOverQuota: from.take(),
    dueAt: from.take(),
    accounts: new Map(takeEach(from, takeAccount)),
  };
}

function takeAccount(from: Unpacking): [accountId: string, account: AccountAtClaim] {
  return [from.take(), from.take()];
}
