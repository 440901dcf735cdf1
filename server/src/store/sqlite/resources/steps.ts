// How SQLite runs a verb of store/resources/, which is written once for both databases: on the thread of its
// connection, in the transaction that many verbs share.

import type { SharedVerbs } from '../../resources/shared-verb.ts';
import { type AdapterSteps, SHOWN_COUNTS, type Step, type Steps, type Value } from '../../resources/steps.ts';
import { cancel } from '../deliveries/cancel.ts';
import * as flowKeys from '../deliveries/flow-keys.ts';
import * as queues from '../deliveries/queues.ts';
import { deleteDeadLetters, retryDeadLetters } from '../messages/dead-letters.ts';
import { deleteMessagesOf } from '../messages/expired.ts';
import type { Verb, VerbContext } from '../thread/verb.ts';

const STEPS: { readonly [N in keyof AdapterSteps]: OnContext<AdapterSteps[N]> } = {
  all: ({ database }, sql, values) => database.all(inDialect(sql), ...values.map(toStored)),
  get: ({ database }, sql, values) => database.get(inDialect(sql), ...values.map(toStored)),
  run: ({ database }, sql, values) => database.run(inDialect(sql), ...values.map(toStored)),
  countStored: ({ caches }, ...args) => caches.stored.countStored(...args),
  deleteCounted: ({ caches }, accountId, sql, values) =>
    caches.stored.delete(accountId, inDialect(sql), ...values.map(toStored)),
  lockAccount: () => {},
  lockTokens: () => {},
  forgetAccounts: ({ caches }) => caches.accountsAtClaim.forget(),
  lockOrCreateQueue: ({ database }, ...args) => queues.lockOrCreateQueue(database, ...args),
  applyQueueRules: ({ database }, ...args) => queues.applyQueueRules(database, ...args),
  queueLags: ({ database }, [first]) => [queues.queueLag(database, first!)],
  applyRequestedLimits: ({ caches }) => caches.requestedFlowLimits.apply(),
  lockOrCreateFlowKey: ({ database }, ...args) => flowKeys.createFlowKey(database, ...args),
  takeBackUnstarted: ({ database }, row) => flowKeys.takeBackUnstarted(database, row),
  setFlowLimits: ({ database }, row, limits) => void flowKeys.setLimits(database, row, limits),
  admitWaiting: ({ database }, { account_id, key }, now) => void flowKeys.admitWaiting(database, account_id, key, now),
  flowKeyCounts: ({ database }, [first]) => [flowKeys.countKey(database, first!, SHOWN_COUNTS)],
  addJournal: ({ caches }, ...args) => caches.journal.add(...args),
  cancel: ({ database, caches }, ...args) => cancel(database, caches, ...args),
  deleteMessagesOf: ({ database, caches }, ...args) => deleteMessagesOf(database, caches, ...args),
  deleteDeadLetters: ({ database, caches }, ...args) => deleteDeadLetters(database, caches, ...args),
  retryDeadLetters: ({ database, caches }, ...args) => retryDeadLetters(database, caches, ...args),
};

type OnContext<F> = F extends (...args: infer A) => infer R ? (context: VerbContext, ...args: A) => R : never;

const texts = new Map<string, string>();

/** Turns common SQL into that of SQLite: without row locks, because there is one writer, and with lists as JSON. */
function inDialect(sql: string): string {
  let text = texts.get(sql);
  if (text === undefined) {
    text = sql
      .replaceAll(/\s+FOR (?:NO KEY )?UPDATE(?: OF \w+)?(?: SKIP LOCKED)?/g, '')
      .replaceAll(/= ANY \((\?\d*)\)/g, 'IN (SELECT value FROM json_each($1))');
    texts.set(sql, text);
  }
  return text;
}

function toStored(value: Value): string | number | null | Uint8Array {
  if (typeof value === 'boolean') return Number(value);
  return isList(value) ? JSON.stringify(value) : value;
}

function isList(value: Value): value is readonly string[] {
  return Array.isArray(value);
}

/** Runs the steps of a verb one after the other, and returns its result. */
export function runSteps<R>(context: VerbContext, steps: Steps<R>): R {
  let turn = steps.next();
  while (!turn.done) turn = steps.next(take(context, turn.value));
  return turn.value;
}

function take(context: VerbContext, { name, args }: Step): unknown {
  return (STEPS[name] as (context: VerbContext, ...args: readonly unknown[]) => unknown)(context, ...args);
}

type OnThread<T> = {
  readonly [V in keyof T]: T[V] extends { steps: (...args: infer A) => Steps<infer R> } ? Verb<A, R> : never;
};

/** Turns the verbs of a common table into verbs of this adapter, which run on a thread. */
export function toThreadVerbs<T extends SharedVerbs>(table: T): OnThread<T> {
  const verbs = Object.entries(table).map(([name, { steps, reads, makesWork, locksAccount: _, ...marks }]) => [
    name,
    {
      ...marks,
      // A verb that reads what was just written runs on the writer's thread.
      ...(reads !== 'written' && { reads }),
      ...(makesWork && { makesWorkAt: (reply: never, ...args: never) => makesWork(reply, ...args).dueAt }),
      run: (context: VerbContext, ...args: never) => runSteps(context, steps(...args)),
    },
  ]);
  return Object.fromEntries(verbs) as OnThread<T>;
}
