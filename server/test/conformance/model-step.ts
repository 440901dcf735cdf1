// One step of a random sequence: what it does to the real store and to the model, and the comparison of the two after it.

import assert from 'node:assert/strict';
import type fc from 'fast-check';
import type { Claim } from '../../src/rules/delivery/message.ts';
import { countStates } from '../support/count-states.ts';
import { ACCOUNT } from './given.ts';
import type { Node } from './harness.ts';
import type { StoreModel } from './model.ts';

export interface Real {
  readonly nodes: readonly [Node, Node];
  readonly claims: Map<string, Claim>;
  /** What has happened at least once: a generator that never gets there tests nothing. */
  readonly seen: Set<string>;
}

/** A command is what it does; the comparison after it is the same for all. */
export class Step implements fc.AsyncCommand<StoreModel, Real> {
  readonly #text: string;
  readonly #run: (model: StoreModel, real: Real) => Promise<void>;
  readonly #check: (model: StoreModel) => boolean;

  constructor(
    text: string,
    run: (model: StoreModel, real: Real) => Promise<void>,
    check: (model: StoreModel) => boolean = () => true,
  ) {
    this.#text = text;
    this.#run = run;
    this.#check = check;
  }

  check(model: Readonly<StoreModel>): boolean {
    return this.#check(model);
  }

  async run(model: StoreModel, real: Real): Promise<void> {
    await this.#run(model, real);
    model.fillPlaces();
    await compare(model, real);
  }

  toString(): string {
    return this.#text;
  }
}

async function compare(model: StoreModel, real: Real): Promise<void> {
  const { store } = real.nodes[0];
  const stored = await Promise.all(model.messages.map(({ id }) => store.getMessage(ACCOUNT, id)));
  const counts = { pending: 0, claimed: 0, held: 0, delivered: 0, failed: 0, cancelled: 0 };
  for (const [index, expected] of model.messages.entries()) {
    const actual = stored[index]!;
    const { id, state, dueAt, firstDueAt, retried, interrupted, aloneAtCrash, attempts } = expected;
    const shown = { id, state, dueAt, firstDueAt, retried, interrupted, aloneAtCrash, attempts };
    const { message: found } = actual;
    assert.deepEqual(
      Object.fromEntries(Object.keys(shown).map((key) => [key, found[key as keyof typeof shown]])),
      shown,
    );
    assert.equal(actual.attempts.length, attempts);
    assert.equal(found.changes ?? 0, expected.changes);
    assert.equal(found.debounce?.count ?? 0, expected.count);
    counts[state] += 1;
  }
  assert.deepEqual(await countStates(store), counts);
  for (const [name, { parallelism, isPaused }] of model.queues) {
    const queue = (await store.getQueue(ACCOUNT, name))!;
    const expected = { parallelism, isPaused, lag: model.open(name).length };
    assert.deepEqual({ parallelism: queue.parallelism, isPaused: queue.isPaused, lag: queue.lag }, expected);
  }
}
