// What crosses between the threads arrives as it was sent, whatever is in it.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { MessageChannel } from 'node:worker_threads';
import fc from 'fast-check';
import type { Attempt, CallbackTarget, NewMessage, Settlement } from '../../../src/rules/delivery/message.ts';
import type { AcceptCommand, AcceptReply, SettleReply } from '../../../src/store/shared/commands.ts';
import type { LeaseHolder } from '../../../src/store/shared/succession.ts';
import {
  packCommands,
  packReplies,
  unpackCommands,
  unpackReplies,
} from '../../../src/store/sqlite/thread/packed-calls.ts';
import type { Packed } from '../../../src/store/sqlite/thread/packing.ts';
import { ParkedReader, parkedText } from '../../../src/store/sqlite/thread/parked-text.ts';
import { postReplies } from '../../../src/store/sqlite/thread/port-executor.ts';
import type { Command, Reply } from '../../../src/store/sqlite/thread/verbs.ts';
import { anyMessageFields } from '../../support/any-message.ts';

const text = fc.string({ unit: 'grapheme' });
const textOrNull = fc.option(text);
const whole = fc.nat();
const time = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER });
const headers = fc.array(fc.tuple(text, text), { maxLength: 4 });
const bytes = fc.uint8Array({ maxLength: 40 });

/** Also a part of a larger buffer, as it is cut out of a request. */
const body = fc.oneof(
  bytes,
  bytes.map((all) => Buffer.from(all).subarray(Math.min(3, all.length))),
);

const target: fc.Arbitrary<CallbackTarget> = fc.record({
  url: text,
  method: fc.constantFrom('POST' as const, 'GET' as const),
  headers,
  retriesMax: whole,
  retryDelay: textOrNull,
  retryJitter: fc.option(fc.nat(100)),
  delayMs: whole,
  timeoutMs: whole,
});

const limits = fc.record({ parallelism: fc.option(whole), rate: fc.option(whole), periodMs: whole });

const newMessage: fc.Arbitrary<NewMessage> = fc.record(
  anyMessageFields(
    { text, integer: whole, bigint: time, headers, bytes: body, texts: fc.array(text, { maxLength: 3 }) },
    {
      kind: fc.constantFrom(
        'publish' as const,
        'schedule' as const,
        'callback' as const,
        'failureCallback' as const,
        'alert' as const,
      ),
      method: fc.constantFrom('GET' as const, 'POST' as const, 'PUT' as const, 'PATCH' as const, 'DELETE' as const),
      flow: fc.option(fc.record({ key: text, limits })),
      redaction: fc.option(
        fc.record({ body: fc.boolean(), allHeaders: fc.boolean(), headers: fc.array(text, { maxLength: 2 }) }),
      ),
      debounce: fc.option(fc.record({ key: text, latestAt: time, count: whole })),
      deduplication: fc.option(fc.record({ key: text, expiresAt: time })),
      callback: fc.option(target),
      failureCallback: fc.option(target),
    },
  ),
);

const attempt: fc.Arbitrary<Attempt> = fc.record({
  number: whole,
  startedAt: time,
  endedAt: time,
  outcome: fc.constantFrom('answered' as const, 'unreachable' as const, 'timedOut' as const, 'interrupted' as const),
  status: fc.option(whole),
  error: textOrNull,
  nextAt: fc.option(time),
  responseHeaders: headers,
  responseBody: body,
  isResponseBodyCut: fc.boolean(),
});

const settlement: fc.Arbitrary<Settlement> = fc.record({
  lease: text,
  accountId: text,
  messageId: text,
  host: text,
  attempt,
  isPlain: fc.boolean(),
  row: fc.option(whole),
  lagMs: whole,
  retried: whole,
  interrupted: whole,
  aloneAtCrash: whole,
  next: fc.oneof(
    fc.record({ state: fc.constant('pending' as const), dueAt: time, startsAlone: fc.boolean() }),
    fc.record({ state: fc.constant('held' as const), heldAt: time }),
    fc.record({ state: fc.constant('delivered' as const), expiresAt: time }),
    fc.record({ state: fc.constant('failed' as const), expiresAt: time, failure: text }),
  ),
  followUps: fc.array(newMessage, { maxLength: 2 }),
});

const acceptCommand: fc.Arbitrary<AcceptCommand> = fc.record({
  messages: fc.array(newMessage, { maxLength: 3 }),
  leases: fc.array(textOrNull, { maxLength: 3 }),
  node: text,
  now: time,
  dayMax: fc.option(whole),
});

const acceptReply: fc.Arbitrary<AcceptReply> = fc.record({
  duplicates: fc.array(textOrNull, { maxLength: 3 }),
  isOverQuota: fc.boolean(),
  dueAt: fc.option(time),
  accounts: fc.array(
    fc.option(fc.record({ tier: fc.constantFrom('free' as const, 'paid' as const), signingKey: text })),
    { maxLength: 3 },
  ),
  rows: fc.array(fc.option(whole), { maxLength: 3 }),
  debounced: fc.option(fc.array(fc.option(fc.record({ messageId: text, count: whole })), { maxLength: 3 })),
  misplaced: fc.option(fc.record({ index: whole, messageId: text, part: fc.constant('queue' as const) })),
});

const settleReply: fc.Arbitrary<SettleReply> = fc.record({
  results: fc.array(fc.constantFrom('settled' as const, 'cancelled' as const, 'lost' as const), { maxLength: 4 }),
  dueAt: fc.option(time),
  claims: fc.array(
    fc.record({
      lease: text,
      message: newMessage.map((message) => ({
        ...message,
        state: 'claimed' as const,
        firstDueAt: message.dueAt,
        readyAt: null,
        retried: 0,
        interrupted: 0,
        aloneAtCrash: 0,
        attempts: 0,
        endedAt: null,
        heldAt: null,
        claimedAt: message.createdAt,
        failure: null,
        lastStatus: null,
      })),
      tier: fc.constant('free' as const),
      signingKey: text,
    }),
    { maxLength: 2 },
  ),
});

const holder: fc.Arbitrary<LeaseHolder | null> = fc.option(fc.record({ node: text, leasePrefix: text }));

const failed: fc.Arbitrary<Reply> = fc.record({
  error: text,
  reason: fc.constantFrom(null, 'full' as const, 'unavailable' as const),
});

/** A command and what may be answered to it. */
const exchange: fc.Arbitrary<{ command: Command; reply: Reply }> = fc.oneof(
  fc.record({
    command: acceptCommand.map((args): Command => ({ verb: 'accept', args: [args] })),
    reply: fc.oneof(
      acceptReply.map((value) => ({ value })),
      failed,
    ),
  }),
  fc.record({
    command: fc
      .tuple(fc.array(settlement, { maxLength: 3 }), time, holder)
      .map((args): Command => ({ verb: 'settle', args })),
    reply: fc.oneof(
      settleReply.map((value) => ({ value })),
      failed,
    ),
  }),
  fc.record({
    command: fc.tuple(text, text).map((args): Command => ({ verb: 'getMessage', args })),
    reply: fc.oneof(
      newMessage.map((message) => ({ value: { message, attempts: [] } })),
      fc.constant({ value: undefined }),
      failed,
    ),
  }),
);

test('a body of several messages crosses once and arrives as one', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(newMessage, fc.nat(3)), { maxLength: 8 }), body, body, (drafts, one, other) => {
      // As plans are made: those of one body follow each other, and some have their own.
      const messages = drafts.map(([message, which]) => ({
        ...message,
        body: [one, one, other, message.body][which]!,
      }));
      const command: Command = { verb: 'accept', args: [{ messages, leases: [], node: '', now: 0, dayMax: null }] };
      const packed = packCommands([command]);
      const follows = (index: number) => index > 0 && messages[index]!.body === messages[index - 1]!.body;
      const once = messages.filter((_, index) => !follows(index));
      assert.equal(
        packed.bodies.length,
        once.reduce((sum, message) => sum + message.body.length, 0),
      );
      const [arrived] = unpackCommands(crossed(packed))[0]!.args as [AcceptCommand];
      assert.deepEqual(arrived.messages, plain(messages));
      arrived.messages.forEach((message, index) => {
        assert.equal(index > 0 && message.body === arrived.messages[index - 1]!.body, follows(index));
      });
    }),
  );
});

/** As a port does it. */
function crossed(packed: Packed): Packed {
  return structuredClone(packed, { transfer: [packed.bodies.buffer] });
}

/** Bodies arrive as plain bytes, whatever they were part of. */
function plain<T>(value: T): T {
  return structuredClone(value);
}

test('the memory of large bodies that were claimed is handed over, once where messages share it; others are copied', async (t) => {
  const { port1, port2 } = new MessageChannel();
  t.after(() => port1.close());
  const large = new Uint8Array(20_000).fill(7);
  const small = new Uint8Array(100).fill(8);
  const part = new Uint8Array(50_000).fill(9).subarray(0, 30_000);
  const claims = (...bodies: Uint8Array[]) => bodies.map((own) => ({ message: { body: own } }));
  const commands = [
    { verb: 'claim', args: [] },
    { verb: 'settle', args: [] },
    { verb: 'getMessage', args: [] },
  ];
  const replies = [
    { value: { claims: claims(large, large, small) } },
    { value: { results: [], dueAt: null, claims: claims(part) } },
    { value: { message: { body: new Uint8Array(20_000) } } },
  ];
  const arrived = once(port2, 'message');
  postReplies(port1, commands as unknown as Command[], replies as unknown as Reply[]);
  assert.equal(large.byteLength, 0, 'it was handed over');
  assert.deepEqual([small.byteLength, part.byteLength], [100, 30_000]);
  const [{ replies: packed }] = (await arrived) as [{ replies: Packed }];
  const [claimed, settled] = unpackReplies(packed) as unknown as {
    value: { claims: { message: { body: Uint8Array } }[] };
  }[];
  const [first, second, third] = claimed!.value.claims.map(({ message }) => message.body);
  assert.equal(first!.length, 20_000);
  assert.ok(first!.every((byte) => byte === 7));
  assert.equal(second!.buffer, first!.buffer);
  assert.ok(third!.length === 100 && third!.every((byte) => byte === 8));
  const other = settled!.value.claims[0]!.message.body;
  assert.ok(other.length === 30_000 && other.every((byte) => byte === 9));
});

test('commands and replies of all kinds arrive as they were sent, in their order', () => {
  fc.assert(
    fc.property(fc.array(exchange, { maxLength: 6 }), (exchanges) => {
      const commands = exchanges.map(({ command }) => command);
      const replies = exchanges.map(({ reply }) => reply);
      const sent = plain({ commands, replies });
      assert.deepEqual(unpackCommands(crossed(packCommands(commands))), sent.commands);
      assert.deepEqual(unpackReplies(crossed(packReplies(commands, replies))), sent.replies);
      assert.deepEqual(plain({ commands, replies }), sent, 'the sender keeps what it sent, bodies too');
    }),
  );
});

test('the parked hosts of a claim are read again only when they differ', () => {
  const reader = new ParkedReader();
  const parked = [['acc_1', 'down.example:443', 0]] as const;
  const list = reader.read(parkedText(parked));
  assert.deepEqual(list, parked);
  assert.equal(parkedText(parked), parkedText(parked));
  assert.equal(reader.read(parkedText([...parked])), list, 'the same list, of which budgets have an index');
  assert.deepEqual(reader.read(parkedText([['acc_1', 'down.example:443', 1]])), [['acc_1', 'down.example:443', 1]]);
  assert.deepEqual([parkedText([]), reader.read(null)], [null, []]);
});
