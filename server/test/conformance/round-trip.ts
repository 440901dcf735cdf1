// Whatever is accepted is read back the same, byte for byte, by getMessage and in a claim; so is an attempt's record.

import assert from 'node:assert/strict';
import { describe } from 'node:test';
import fc from 'fast-check';
import type { Attempt, CallbackTarget, HeaderList, NewMessage, Outcome } from '../../src/rules/delivery/message.ts';
import { METHODS } from '../../src/rules/delivery/message.ts';
import { anyMessageFields } from '../support/any-message.ts';
import { claimDue } from '../support/claim-due.ts';
import { ACCOUNT, KEYS, limits, message, NOW, OK, settlementOf } from './given.ts';
import { type HarnessFactory, type Node, storeTests } from './harness.ts';

const RUNS = 100;
/** Fixed, so that a failure is the same for everybody; fast-check prints what is needed to repeat one alone. */
const SEED = 20260101;

/** Plain objects only, like those the program makes. */
function record<T extends object>(model: { [K in keyof T]: fc.Arbitrary<T[K]> }): fc.Arbitrary<T> {
  return fc.record<T>(model, { noNullPrototype: true }) as fc.Arbitrary<T>;
}

/** As the door lets it in: well-formed, and without the one character that PostgreSQL cannot hold. */
const text = fc.string({ unit: 'binary', maxLength: 40 }).map((any) => any.replaceAll('\0', ' '));
const latin1 = fc.string({ unit: fc.integer({ min: 0x20, max: 0xff }).map((code) => String.fromCharCode(code)) });
const name = fc.stringMatching(/^[A-Za-z0-9._-]{1,30}$/);
const count = fc.integer({ min: 0, max: 1000 });
const instant = fc.integer({ min: NOW - 1_000_000, max: 8_000_000_000_000 });
const bytes = fc.uint8Array({ maxLength: 2000 });
const method = fc.constantFrom(...METHODS);
const headers: fc.Arbitrary<HeaderList> = fc.array(fc.tuple(name, latin1), { maxLength: 5 });

const callback: fc.Arbitrary<CallbackTarget> = record({
  url: text,
  method,
  headers,
  retriesMax: count,
  retryDelay: fc.option(text),
  retryJitter: fc.option(fc.nat(100)),
  delayMs: count,
  timeoutMs: count,
});

const newMessage: fc.Arbitrary<NewMessage> = record(
  anyMessageFields(
    {
      text,
      integer: count,
      bigint: instant,
      headers,
      bytes,
      texts: fc.uniqueArray(name, { maxLength: 3 }),
    },
    {
      id: fc.constant(''), // given anew in every run: shrinking repeats the same ids
      accountId: fc.constantFrom(ACCOUNT, 'acc_Ünïcode 🐎'),
      kind: fc.constantFrom('publish', 'schedule', 'callback', 'failureCallback'),
      host: fc.stringMatching(/^[a-z0-9.-]{1,20}:[0-9]{1,5}$/),
      method,
      timeoutMs: count,
      queueName: fc.option(name),
      orderKey: fc.constant(null),
      flow: fc.constant(null),
      scheduleId: fc.option(name),
      redaction: fc.option(
        record({ body: fc.boolean(), allHeaders: fc.boolean(), headers: fc.array(name, { maxLength: 2 }) }),
      ),
      deduplication: fc.constant(null),
      debounce: fc.option(
        record({ key: fc.uuid(), latestAt: fc.nat(), count: fc.integer({ min: 1, max: 2 ** 31 - 1 }) }),
      ),
      topicName: fc.option(name),
      callback: fc.option(callback),
      failureCallback: fc.option(callback),
      // Later than anything is due: one that has expired would not be claimed.
      mustStartBefore: fc.option(fc.integer({ min: 8_000_000_000_001, max: 8_640_000_000_000_000 })),
    },
  ),
);

const attempt: fc.Arbitrary<Omit<Attempt, 'number'>> = record({
  startedAt: instant,
  endedAt: instant,
  outcome: fc.constantFrom<Outcome['kind'][]>('answered', 'unreachable', 'timedOut', 'refusedByPolicy', 'interrupted'),
  status: fc.option(fc.integer({ min: 100, max: 999 })),
  error: fc.option(text),
  nextAt: fc.option(instant),
  responseHeaders: fc.array(fc.tuple(text, latin1), { maxLength: 5 }),
  responseBody: bytes,
  isResponseBodyCut: fc.boolean(),
});

const settings = { numRuns: RUNS, seed: SEED };

export function roundTripConformance(factory: HarnessFactory): void {
  const test = storeTests(factory);

  describe('round trip', () => {
    test.onTwo('a message is read as it was accepted', async ({ a, b }) => {
      await prepare(a);
      await fc.assert(
        fc.asyncProperty(fc.array(newMessage, { minLength: 1, maxLength: 4 }), async (given) => {
          const batch = given.map((each) => ({ ...each, id: message().id }));
          await a.store.accept(batch, NOW);
          for (const accepted of batch) {
            const stored = await b.store.getMessage(accepted.accountId, accepted.id);
            // Its turn in its queue may have come already.
            const readyAt = accepted.queueName === null ? null : stored!.message.readyAt;
            assert.deepStrictEqual(stored, { message: { ...asStored(accepted), readyAt }, attempts: [] });
          }
        }),
        settings,
      );
    });

    test.onTwo(
      'a message is claimed as it was accepted, from the store and from the standing offer',
      async ({ a, b }) => {
        await prepare(a);
        await fc.assert(
          fc.asyncProperty(newMessage, fc.boolean(), async (given, isOffered) => {
            const accepted = { ...given, id: message().id, queueName: null, dueAt: NOW };
            if (!isOffered) await claimDue(a.store, NOW, limits({ slots: 0 }));
            await a.store.accept([accepted], NOW);
            const claims = [...(await a.claims(NOW)), ...(await b.claims(NOW))];
            assert.deepStrictEqual(
              claims.map((claim) => claim.message),
              [{ ...asStored(accepted), state: 'claimed', claimedAt: NOW }],
            );
          }),
          settings,
        );
      },
    );

    test.onTwo('an attempt is read as it was recorded', async ({ a, b }) => {
      await prepare(a);
      await fc.assert(
        fc.asyncProperty(newMessage, attempt, async (given, recorded) => {
          const accepted = { ...given, id: message().id, queueName: null, callback: null, dueAt: NOW };
          await a.store.accept([accepted], NOW);
          const claim = await a.claimOne(NOW);
          const expected: Attempt = { ...recorded, number: 1 };
          await a.store.settle([{ ...settlementOf(claim, OK, NOW), attempt: expected, followUps: [] }], NOW);
          const stored = await b.store.getMessage(accepted.accountId, accepted.id);
          assert.deepStrictEqual(stored!.attempts, [expected]);
        }),
        settings,
      );
    });
  });
}

async function prepare(node: Node): Promise<void> {
  await node.store.createAccount({ id: 'acc_Ünïcode 🐎', name: 'Ünïcode 🐎', tier: 'free', createdAt: NOW }, KEYS);
}

function asStored(accepted: NewMessage) {
  return {
    ...accepted,
    state: 'pending',
    firstDueAt: accepted.dueAt,
    retried: 0,
    interrupted: 0,
    aloneAtCrash: 0,
    heldAt: null,
    readyAt: null,
    attempts: 0,
    endedAt: null,
    claimedAt: null,
    failure: null,
    lastStatus: null,
  };
}
