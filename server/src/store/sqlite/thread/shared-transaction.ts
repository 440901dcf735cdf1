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
/** The most of a long commit that one unit of work is charged. The rest has other causes, such as a busy disk. */
const COMMIT_UNIT_US = 100;

/** A command with more units of work than this takes long, and other commands would wait for its end. */
const LONG_UNITS = 200;

/** A claim that took this long is long work: others would wait for the claims of all lanes. */
const LONG_CLAIM_MS = 2;
/** A claim has its own transaction if it takes this part of a commit: each transaction has a commit. */
export const OWN_FROM_COMMIT_PART = 0.5;

/** A batch with a long command of an account, one with a long claim, or one with neither. */
export type BatchKind = 'short' | 'claim' | 'long';

/**
 * The indexes of the batches that run next: all short batches as one transaction, or one of the others alone. Short ones
 * take turns with the others, and of the others those with claims take turns with those with long commands.
 * `last`: the kinds that ran before, the last one first.
 */
export function chooseBatches(
  batches: readonly (readonly Command[])[],
  last: readonly BatchKind[] = [],
  areClaimsLong = false,
): { readonly chosen: readonly number[]; readonly kind: BatchKind } {
  const kinds = batches.map((batch) => kindOf(batch, areClaimsLong));
  const ofKind = (kind: BatchKind) => kinds.flatMap((each, index) => (each === kind ? [index] : []));
  const [short, claims, long] = [ofKind('short'), ofKind('claim'), ofKind('long')];
  if (short.length > 0 && (last[0] !== 'short' || short.length === batches.length)) {
    return { chosen: short, kind: 'short' };
  }
  const isClaim = claims.length > 0 && (long.length === 0 || last.find((kind) => kind !== 'short') !== 'claim');
  return isClaim ? { chosen: claims.slice(0, 1), kind: 'claim' } : { chosen: long.slice(0, 1), kind: 'long' };
}

function kindOf(batch: readonly Command[], areClaimsLong: boolean): BatchKind {
  if (batch.some(({ verb, args }) => (marksOf(verb).work?.(...args).units ?? 0) > LONG_UNITS)) return 'long';
  return areClaimsLong && batch.some(({ verb }) => marksOf(verb).takesLong) ? 'claim' : 'short';
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
  /** How long the last claim took. */
  #claimUs = 0;

  constructor(database: Database, verbs: Verbs, nowMs: () => number) {
    this.#database = database;
    this.#verbs = verbs;
    this.#nowMs = nowMs;
  }

  /** Whether a claim needs its own transaction, so that the commands of other lanes do not wait for it. */
  get areClaimsLong(): boolean {
    const ms = this.#claimUs / 1000;
    return ms >= LONG_CLAIM_MS && ms >= this.#commitMs * OWN_FROM_COMMIT_PART;
  }

  /** Returns one result for each batch. Batches share the time equally; work of the node itself is never put off. */
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
        if (marksOf(commands[index]!.verb).takesLong) this.#claimUs = commandsUs[index]!;
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

/** How long the commands of accounts may run in a transaction, if a commit takes `commitMs`. */
export function transactionMs(commitMs: number): number {
  return Math.max(TRANSACTION_MS, commitMs);
}

/** False for work of the node itself, such as a claim or a settlement. */
function isOfAccount({ verb }: Command): boolean {
  return marksOf(verb).work !== undefined;
}
