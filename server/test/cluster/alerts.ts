// Alerts that are made and deleted while nodes, database and network fail. Messages fail all the time, so each alert has
// something to tell at its first look, which all nodes take at the same moment: its target is told once, and not after it
// was deleted.

import { setTimeout as wait } from 'node:timers/promises';
import { until } from '../crash/trial.ts';
import type { Chance } from '../simulation/chance.ts';
import type { Cluster } from './cluster.ts';

const ALERTS = 36;
/** One look in ten seconds is for all alerts of an account: these are made over several of them. */
const PAUSE_MS_MAX = 1500;
const ANSWER_MS_MAX = 3000;
const DELETED_PERCENT = 40;
/** Some are deleted before their first look, some at about that time, some after it. */
const KEPT_MS_MAX = 12_000;
const TOLD_MS_MAX = 60_000;

interface Deleted {
  readonly id: string;
  readonly messages: number;
}

export class Alerts {
  readonly #cluster: Cluster;
  readonly #chance: Chance;
  readonly #kept: string[] = [];
  readonly #deleted: Deleted[] = [];
  readonly #work: Promise<void>;
  #hasFailed = false;

  constructor(cluster: Cluster, chance: Chance) {
    this.#cluster = cluster;
    this.#chance = chance;
    this.#work = this.#makeAll();
    this.#work.catch(() => {}); // told by `told`, unless the run has failed before
  }

  /** The run has failed: nobody waits for more. */
  stop(): void {
    this.#hasFailed = true;
  }

  /** In words, for the report. */
  get counts(): string {
    const told = this.#deleted.filter(({ messages }) => messages > 0).length;
    return `${this.#kept.length} alerts kept, ${this.#deleted.length} deleted, ${told} of them after they were told`;
  }

  /** Until the target of every alert that is left was told. */
  async told(): Promise<void> {
    await this.#work;
    await until(
      async () => (await this.#rows()).every(({ state }) => state === 'firing'),
      () => 'the targets of some alerts were not told',
      TOLD_MS_MAX,
    );
  }

  /** At the end of a run. */
  async judge(): Promise<string[]> {
    const problems: string[] = [];
    const rows = new Map((await this.#rows()).map((row) => [row.id, row]));
    for (const id of this.#kept) {
      const row = rows.get(id);
      const messages = await this.#messagesOf(id);
      const isTold = messages.length === 1 && messages[0] === row?.message_id;
      if (!isTold)
        problems.push(`alert ${id} is ${row?.state ?? 'gone'} with ${row?.message_id}, but made ${messages}`);
      else if (!this.#cluster.trial.receiver.hasSeen(messages[0]!)) problems.push(`alert ${id}: nothing has arrived`);
    }
    for (const { id, messages } of this.#deleted) {
      const now = await this.#messagesOf(id);
      if (now.length > messages) problems.push(`alert ${id} made ${now} after it was deleted`);
      if (now.length > 1) problems.push(`alert ${id} began more than once: ${now}`);
    }
    return problems;
  }

  async #makeAll(): Promise<void> {
    const deletions: Promise<void>[] = [];
    for (let index = 0; index < ALERTS && !this.#hasFailed; index += 1) {
      const id = `alert-${index}`;
      const tries = await this.#call('PUT', id);
      // A request that was not answered may be carried out later, also after a delete.
      if (tries === 1 && this.#chance.isTrue(DELETED_PERCENT)) {
        deletions.push(this.#deleteAfter(this.#chance.below(KEPT_MS_MAX), id));
      } else this.#kept.push(id);
      await wait(this.#chance.below(PAUSE_MS_MAX));
    }
    await Promise.all(deletions);
  }

  async #deleteAfter(ms: number, id: string): Promise<void> {
    await wait(ms);
    await this.#call('DELETE', id);
    this.#deleted.push({ id, messages: (await this.#messagesOf(id)).length });
  }

  /** Asks one node after the other until one has done it. Returns how many were asked. */
  async #call(method: 'PUT' | 'DELETE', id: string): Promise<number> {
    const body = { rule: { type: 'messageFailed' }, target: { url: `${this.#cluster.trial.receiver.url}/ok/alert` } };
    for (let tries = 1; ; tries += 1) {
      const target = this.#chance.pick(this.#cluster.nodes).target;
      const answer = await fetch(`${target?.api}/v2/alerts/${id}`, {
        method,
        headers: { Authorization: `Bearer ${target?.token}`, 'Content-Type': 'application/json' },
        ...(method === 'PUT' && { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(ANSWER_MS_MAX),
      }).catch(() => null);
      await answer?.text().catch(() => null);
      if (answer?.ok || (method === 'DELETE' && tries > 1 && answer?.status === 404) || this.#hasFailed) return tries;
      await wait(ANSWER_MS_MAX / 30);
    }
  }

  #rows(): Promise<{ id: string; state: string; message_id: string | null }[]> {
    return this.#cluster.tables.query('SELECT id, state, message_id FROM alerts');
  }

  async #messagesOf(id: string): Promise<string[]> {
    const rows = await this.#cluster.tables.query<{ id: string }>(
      `SELECT m.id FROM message_labels l JOIN messages m ON m.account_id = l.account_id AND m.seq = l.message_seq
         WHERE l.label = $1 AND m.kind = 'alert'`,
      [id],
    );
    return rows.map((row) => row.id);
  }
}
