// Lists, searches and counts take turns: a few run at once, and of those that wait, accounts come one after the other. So
// whoever asks waits for one piece of work of each other account at most, however much those have asked for.

import { countInPieces } from './count-in-pieces.ts';
import type { Store } from './store.ts';

export class ReadLine {
  readonly #atOnceMax: number;
  /** What waits, by account; the account whose turn is next comes first. */
  readonly #waiting = new Map<string, (() => Promise<void>)[]>();
  #running = 0;

  constructor(atOnceMax: number) {
    this.#atOnceMax = atOnceMax;
  }

  /** `read` is one bounded piece of work: nobody else has a turn before it is done. */
  run<T>(accountId: string, read: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const line = this.#waiting.get(accountId) ?? [];
      line.push(async () => read().then(resolve, reject));
      this.#waiting.set(accountId, line);
      this.#next();
    });
  }

  #next(): void {
    for (const [accountId, line] of this.#waiting) {
      if (this.#running >= this.#atOnceMax) return;
      const start = line.shift()!;
      this.#putLast(accountId, line);
      this.#running += 1;
      void start().then(() => {
        this.#running -= 1;
        // Behind those that have come meanwhile as well.
        this.#putLast(accountId, this.#waiting.get(accountId) ?? []);
        this.#next();
      });
    }
  }

  #putLast(accountId: string, line: (() => Promise<void>)[]): void {
    this.#waiting.delete(accountId);
    if (line.length > 0) this.#waiting.set(accountId, line);
  }
}

/** Of whoever runs the service. */
const NOBODY = '';

/** The store with its reads in line. What a request must know before it goes on (tokens, topics) does not wait. */
export function readingInTurn(store: Store, atOnceMax: number): Store {
  const line = new ReadLine(atOnceMax);
  const own =
    <A extends readonly unknown[], T>(read: (accountId: string, ...rest: A) => Promise<T>) =>
    (accountId: string, ...rest: A) =>
      line.run(accountId, () => read(accountId, ...rest));
  const countPiece = own(store.countPiece);
  return {
    ...store,
    getMessage: own(store.getMessage),
    whyFacts: own(store.whyFacts),
    searchMessages: own(store.searchMessages),
    countPiece,
    countMatching: (accountId, filter, max) =>
      countInPieces((rest, cursor) => countPiece(accountId, filter, rest, cursor), max),
    listEvents: own(store.listEvents),
    standing: own(store.standing),
    activity: own(store.activity),
    failureGroups: own(store.failureGroups),
    getQueue: own(store.getQueue),
    listQueues: own(store.listQueues),
    countLine: own(store.countLine),
    messageStates: own(store.messageStates),
    getFlowKey: own(store.getFlowKey),
    listFlowKeys: own(store.listFlowKeys),
    listSchedules: own(store.listSchedules),
    listJobs: own(store.listJobs),
    listTopics: own(store.listTopics),
    listTokens: own(store.listTokens),
    usage: own(store.usage),
    listAccounts: (...rest) => line.run(NOBODY, () => store.listAccounts(...rest)),
  };
}
