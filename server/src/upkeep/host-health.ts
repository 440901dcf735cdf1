// Measures the health of the hosts that this node sends to. Attempts are added up in memory, by account and host, and
// written every few seconds: an attempt itself writes nothing more for it. If a process ends without writing, what it
// measured in these seconds is missing.

import type { Attempt, Message } from '../rules/delivery/message.ts';
import { attemptsOf, HostTally, type MeasuredHost, mergeHealth } from '../rules/hosts/host-health.ts';
import { accountMax, nodeMax } from '../rules/limits/budgets.ts';
import type { HostStore } from '../store/ports/host-store.ts';

const WRITE_EVERY_MS = 5000;
/** Hosts of one transaction: with a full hour of attempts, they take about 7 ms, in which nobody else writes to SQLite. */
export const HOSTS_AT_ONCE = 64;

export class HostHealthMeter {
  readonly #store: Pick<HostStore, 'addHostHealth'>;
  /** By account and host. */
  readonly #tallies = new Map<string, Map<string, HostTally>>();
  /** What could not be written, by account and host: as long as writes fail, it holds each host once. */
  #unwritten = new Map<string, MeasuredHost>();
  #hosts = 0;
  #unmeasured = 0;

  constructor(store: Pick<HostStore, 'addHostHealth'>) {
    this.#store = store;
  }

  /** Attempts that were not measured, because there was no room for a further host. */
  get unmeasured(): number {
    return this.#unmeasured;
  }

  note({ accountId, host }: Pick<Message, 'accountId' | 'host'>, attempt: Attempt): void {
    const tally = this.#tallies.get(accountId)?.get(host) ?? this.#newTally(accountId, host);
    if (tally) tally.add(attempt);
    else this.#unmeasured += 1;
  }

  #newTally(accountId: string, host: string): HostTally | null {
    const hosts = this.#tallies.get(accountId) ?? new Map<string, HostTally>();
    if (this.#hosts >= nodeMax('hosts') || hosts.size >= accountMax('hosts')) return null;
    const tally = new HostTally();
    this.#tallies.set(accountId, hosts.set(host, tally));
    this.#hosts += 1;
    return tally;
  }

  /**
   * Writes what was measured for one account, so that a person who reads it sees the newest attempts of this node. If
   * the store cannot write, as on a full disk, they see what was written before. The task tries again and reports it.
   */
  async write(accountId: string): Promise<void> {
    await this.#write(this.#take([accountId])).catch(() => {});
  }

  readonly task = {
    name: 'health of hosts',
    run: async (): Promise<number> => {
      const unwritten = [...this.#unwritten.values()];
      this.#unwritten.clear();
      await this.#write([...unwritten, ...this.#take([...this.#tallies.keys()])]);
      return WRITE_EVERY_MS;
    },
  };

  #take(accountIds: readonly string[]): MeasuredHost[] {
    const taken: MeasuredHost[] = [];
    for (const accountId of accountIds) {
      for (const [host, tally] of this.#tallies.get(accountId) ?? []) {
        this.#hosts -= 1;
        const { health } = tally;
        if (health !== null) taken.push({ accountId, host, health });
      }
      this.#tallies.delete(accountId);
    }
    return taken;
  }

  async #write(measured: readonly MeasuredHost[]): Promise<void> {
    for (let at = 0; at < measured.length; at += HOSTS_AT_ONCE) {
      try {
        const leftOut = await this.#store.addHostHealth(measured.slice(at, at + HOSTS_AT_ONCE), accountMax('hosts'));
        this.#unmeasured += leftOut;
      } catch (error) {
        for (const each of measured.slice(at)) this.#keep(each);
        throw error;
      }
    }
  }

  /** Keeps it for the next run of the task. */
  #keep(measured: MeasuredHost): void {
    const { accountId, host, health } = measured;
    const key = `${accountId} ${host}`;
    const before = this.#unwritten.get(key);
    if (before) this.#unwritten.set(key, { accountId, host, health: mergeHealth(before.health, health) });
    else if (this.#unwritten.size < nodeMax('hosts')) this.#unwritten.set(key, measured);
    else this.#unmeasured += attemptsOf(health);
  }
}
