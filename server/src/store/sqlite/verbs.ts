// The store's verbs as plain functions over one connection, and the transaction that many of them share. Runs
// wherever the connection lives: on the writer's thread, or in the caller's for the simulation.

import type { Claim, Settlement } from '../../domain/message.ts';
import type { QueueChange } from '../../domain/queue.ts';
import { type AcceptCommand, accept } from './accept.ts';
import * as accounts from './accounts.ts';
import { type ClaimCommand, Claimer, orphanedClaims, release } from './claim.ts';
import type { Database } from './database.ts';
import * as messages from './messages.ts';
import * as queues from './queues.ts';
import { cancel, settle } from './settle.ts';
import * as topics from './topics.ts';

type Rest<F> = F extends (database: Database, ...rest: infer R) => infer T ? (...rest: R) => T : never;

export function createVerbs(database: Database) {
  const claimer = new Claimer(database);
  const on = <F extends (database: Database, ...rest: never[]) => unknown>(verb: F) =>
    ((...rest: never[]) => verb(database, ...rest)) as unknown as Rest<F>;
  return {
    accept: (command: AcceptCommand) => accept(database, command),
    claim: (command: ClaimCommand) => claimer.claim(command),
    settle: (settlements: readonly Settlement[], now: number) => settle(database, settlements, now),
    release: (leases: readonly string[], node: string, now: number) => release(database, leases, node, now),
    heartbeat: (node: string, aliveUntil: number): void => {
      database.run(
        'INSERT INTO nodes (id, alive_until) VALUES (?, ?) ON CONFLICT DO UPDATE SET alive_until = excluded.alive_until',
        node,
        aliveUntil,
      );
    },
    orphanedClaims: (node: string, aliveAt: number, limit: number): Claim[] =>
      orphanedClaims(database, node, aliveAt, limit),
    cancel: on(cancel),
    getMessage: on(messages.getMessage),
    deleteExpired: on(messages.deleteExpired),
    counts: on(messages.countMessages),
    saveQueue: (accountId: string, name: string, change: QueueChange, now: number) =>
      queues.saveQueue(database, accountId, name, change, now),
    getQueue: on(queues.getQueue),
    listQueues: on(queues.listQueues),
    getTopic: on(topics.getTopic),
    listTopics: on(topics.listTopics),
    saveTopic: on(topics.saveTopic),
    createAccount: on(accounts.createAccount),
    getAccount: on(accounts.getAccount),
    listAccounts: on(accounts.listAccounts),
    setTier: on(accounts.setTier),
    getSigningKeys: on(accounts.getSigningKeys),
    rotateSigningKeys: on(accounts.rotateSigningKeys),
    createToken: on(accounts.createToken),
    findToken: on(accounts.findToken),
    listTokens: on(accounts.listTokens),
    revokeToken: on(accounts.revokeToken),
    usage: on(accounts.usage),
  };
}

export type Verbs = ReturnType<typeof createVerbs>;

export interface Command {
  readonly verb: keyof Verbs;
  readonly args: readonly unknown[];
}

export type Reply =
  | { readonly value: unknown }
  /** This command changed nothing; the others of its batch are not concerned. */
  | { readonly error: string; readonly isFull: boolean };

/** The file can no longer be trusted to hold what we write. An fsync that failed is never tried again. */
export class StoreBroken extends Error {
  override readonly name = 'StoreBroken';
}

/** Runs all commands in one transaction: one fsync for all of them. */
export function runBatch(database: Database, verbs: Verbs, commands: readonly Command[]): Reply[] {
  const run = (command: Command): Reply => {
    const verb = verbs[command.verb] as (...args: readonly unknown[]) => unknown;
    return { value: verb(...command.args) };
  };
  try {
    return database.transaction(() => commands.map(run));
  } catch (error) {
    requireSound(error);
  }
  // One of them failed and took the others with it: each again by itself, so that only the bad one fails.
  return commands.map((command) => {
    try {
      return database.transaction(() => run(command));
    } catch (error) {
      requireSound(error);
      return { error: error instanceof Error ? error.message : String(error), isFull: sqliteCode(error) === FULL };
    }
  });
}

const IOERR = 10;
const CORRUPT = 11;
const FULL = 13;
const NOTADB = 26;

/** The primary result code; SQLite's extended codes carry it in their low byte. */
function sqliteCode(error: unknown): number | null {
  const code = (error as { errcode?: unknown }).errcode;
  return typeof code === 'number' ? code & 0xff : null;
}

function requireSound(error: unknown): void {
  const code = sqliteCode(error);
  if (code === IOERR || code === CORRUPT || code === NOTADB) {
    throw new StoreBroken(`SQLite can no longer write its file: ${(error as Error).message}`);
  }
}
