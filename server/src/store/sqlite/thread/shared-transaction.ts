// One transaction for the batches of several ports, bounded in time: a batch that has used its part of the time puts
// off the rest of its accounts' commands. Each command is measured, so that the sender can share out the time.

import type { Database } from './database.ts';
import { type Command, marksOf, type Reply, runBatch, type Verbs } from './verbs.ts';

/**
 * How long the commands of accounts may run in one transaction, by the estimate, for all ports together. If a commit
 * takes longer, they may run as long as a commit: then at most half of the time is spent on waiting for the disk.
 */
export const TRANSACTION_MS = 10;
/** How many times its planned time a transaction may take. Then it puts off the rest of the accounts' commands. */
const OVERRUN = 2;
/**
 * How many commits are looked at. The shortest of them counts as the time of a commit: the base cost of a slow disk. A
 * commit that wrote much, or moved the log, took longer because of that, and must not make the next transaction longer.
 */
const COMMITS_LOOKED_AT = 8;
/** Times of a transaction that is shorter than this are not reported. */
const TOLD_MS_MIN = 5;
/** Limit for a unit's part of the commit time: a longer commit has other causes, a busy disk or a moved log. */
const COMMIT_UNIT_US = 100;

/** A command with more units of work than this takes long, and other commands would wait for its end. */
const LONG_UNITS = 200;

/**
 * The numbers of the batches that run first: all batches without a long command as one transaction, or the first batch
 * with a long command alone. The two kinds take turns. `hasLongWaited`: batches without a long command ran last.
 */
export function nextTogether(
  batches: readonly (readonly Command[])[],
  hasLongWaited: boolean,
): { readonly chosen: readonly number[]; readonly areLong: boolean } {
  const all = [...batches.keys()];
  if (all.length === 1) return { chosen: all, areLong: false };
  const long = all.filter((index) => batches[index]!.some(isLong));
  if (long.length === 0) return { chosen: all, areLong: false };
  if (long.length === all.length || hasLongWaited) return { chosen: long.slice(0, 1), areLong: true };
  return { chosen: all.filter((index) => !long.includes(index)), areLong: false };
}

function isLong({ verb, args }: Command): boolean {
  return (marksOf(verb).work?.(...args).units ?? 0) > LONG_UNITS;
}

/** The measured times of a batch. */
export interface BatchTimes {
  readonly commitMs: number;
  /** The time of each command, in microseconds. */
  readonly commandsUs: readonly number[];
}

export interface RanBatch {
  readonly replies: readonly Reply[];
  /** Null if the transaction was short. */
  readonly took: BatchTimes | null;
}

/** Runs the writer's transactions, one after another. */
export class SharedTransactions {
  readonly #database: Database;
  readonly #verbs: Verbs;
  readonly #nowMs: () => number;
  #commitMs = 0;
  readonly #commits: number[] = [];

  constructor(database: Database, verbs: Verbs, nowMs: () => number) {
    this.#database = database;
    this.#verbs = verbs;
    this.#nowMs = nowMs;
  }

  /** The result is parallel to `batches`. Batches share the time equally; work of the node itself always runs. */
  run(batches: readonly (readonly Command[])[]): RanBatch[] {
    const commands = batches.length === 1 ? batches[0]! : batches.flat();
    const partMs = (OVERRUN * transactionMs(this.#commitMs)) / batches.length;
    const ends = endsOf(batches);
    const commandsUs = new Array<number>(commands.length).fill(0);
    const startedMs = this.#nowMs();
    let lastMs = startedMs;
    let batch = 0;
    let batchStartedMs = startedMs;
    let hasRun = false;
    const replies = runBatch(this.#database, this.#verbs, commands, 'writer', {
      mayRun: (index) => {
        while (index >= ends[batch]!) {
          batch += 1;
          batchStartedMs = lastMs;
          hasRun = false;
        }
        return !hasRun || lastMs - batchStartedMs < partMs || !isOfAccount(commands[index]!);
      },
      ran: (index) => {
        const nowMs = this.#nowMs();
        commandsUs[index] = (nowMs - lastMs) * 1000;
        lastMs = nowMs;
        hasRun ||= isOfAccount(commands[index]!);
      },
    });
    const commitMs = this.#nowMs() - lastMs;
    this.#noteCommit(commitMs);
    addCommit(commands, commandsUs, (commitMs - this.#commitMs) * 1000);
    const isTold = lastMs - startedMs + commitMs >= TOLD_MS_MIN;
    if (batches.length === 1) return [{ replies, took: isTold ? { commitMs: this.#commitMs, commandsUs } : null }];
    return batches.map((own, at) => {
      const [from, to] = [ends[at]! - own.length, ends[at]!];
      const took = isTold ? { commitMs: this.#commitMs, commandsUs: commandsUs.slice(from, to) } : null;
      return { replies: replies.slice(from, to), took };
    });
  }

  #noteCommit(ms: number): void {
    const commits = this.#commits;
    if (commits.length === COMMITS_LOOKED_AT) commits.shift();
    commits.push(ms);
    this.#commitMs = commits.reduce((least, each) => Math.min(least, each));
  }
}

/** A commit that writes much takes longer. That additional time is shared among the commands by their units of work. */
function addCommit(commands: readonly Command[], commandsUs: number[], longerUs: number): void {
  if (longerUs < TOLD_MS_MIN * 1000) return;
  const units = commands.map(({ verb, args }, index) =>
    commandsUs[index] === 0 ? 0 : (marksOf(verb).work?.(...args).units ?? 1),
  );
  const unitUs = longerUs / units.reduce((sum, own) => sum + own, 0);
  units.forEach((own, index) => {
    commandsUs[index]! += own * Math.min(unitUs, COMMIT_UNIT_US);
  });
}

/** The index at which each batch ends in the list of all commands. */
function endsOf(batches: readonly (readonly Command[])[]): number[] {
  let end = 0;
  return batches.map((batch) => {
    end += batch.length;
    return end;
  });
}

export function transactionMs(commitMs: number): number {
  return Math.max(TRANSACTION_MS, commitMs);
}

/** False for work of the node itself, such as a claim or a settlement. */
function isOfAccount({ verb }: Command): boolean {
  return marksOf(verb).work !== undefined;
}
