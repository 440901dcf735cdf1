// Five well-behaved accounts and one that attacks: each generated attack by itself, then every known way at once. What
// the five feel is compared with calm times of the same server, and the memory of the server with its budgets.

import { fork } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { ServerProcess } from '../../crash/server-process.ts';
import { ask } from '../../support/client.ts';
import { chosen, type Document } from '../security/generated-calls.ts';
import type { AttackOrders, AttackReport } from './attacker.ts';
import { generatedAttacks } from './attacks.ts';
import { ALL, type Arrivals, type Felt, feel, memoryMb, newToken, startReceiver } from './good-accounts.ts';
import type { HostileOrders, HostileReport } from './hostile-tenant.ts';

export interface TenantsOptions {
  /** Flags of a server on a new store, and what removes the store. */
  readonly newStore: () => Promise<{ readonly flags: readonly string[]; end(): Promise<void> }>;
  /** Of each attack. */
  readonly seconds: number;
  /** Which attacks, by their names. */
  readonly only?: RegExp;
  /** Decides the order, and which attacks come if there is no time for all. */
  readonly seed: number;
  readonly attacksMax?: number;
  readonly minutesMax?: number;
  readonly onRow?: (row: AttackRow) => void;
}

/** What the five felt during one attack. */
export interface AttackRow {
  readonly name: string;
  readonly felt: Felt;
  /** p99 against the calm p99. */
  readonly answeredRatio: number;
  readonly deliveredRatio: number;
  /** The most that the server took during the attack; null where the system does not tell. */
  readonly memoryMb: number | null;
  /** The part of the processors' time that the machine did not get, calm times included; 0 where the system does not tell. */
  readonly stolenPart: number;
  /** What the attacker was answered. */
  readonly statuses: AttackReport;
  readonly problems: readonly string[];
}

const GOOD_ACCOUNTS = 5;
/** The default budgets add up to this. */
export const MEMORY_MB_MAX = 700;
export const RATIO_MAX = 3;
/** A calm p99 below this is taken for this: the noise of a small machine is of this size. */
const CALM_MS_MIN = 20;
/** A service that has just started is slow at first: the calm time is not measured then. */
const WARM_UP_SECONDS = 1;
/** Calm times are measured again after so many attacks on one server. */
const CALM_EVERY = 8;
/** What the attacker has stored before it reads. */
const STORED = { batches: 20, elements: 500, large: 60, largeBytes: 1_000_000 };
/**
 * A row that is too much is measured again for so many times as long before it is believed. In 3 seconds the five publish 300
 * times, five at once, so the p99 is what one moment did to them.
 */
const BELIEVED_AFTER = 4;
/** Above this part, what was measured says nothing. It is measured again, so often at most. */
const STOLEN_PART_MAX = 0.02;
const STOLEN_MAX = 2;
const KNOWN_WAYS = 'every known way at once';

export async function tenantsCampaign(options: TenantsOptions): Promise<readonly AttackRow[]> {
  const { seconds, only = /./, seed, onRow = () => {} } = options;
  const endsAt = performance.now() + (options.minutesMax ?? Number.POSITIVE_INFINITY) * 60_000;
  const rows: AttackRow[] = [];
  const reading = await Stage.open(options, seconds);
  try {
    const targets = { good: '', failing: '', silent: '' };
    const all = generatedAttacks(reading.document, targets).filter(({ name }) => only.test(name));
    const attacks = chosen(all, seed, options.attacksMax ?? all.length);
    if (attacks.some(({ isRead }) => isRead)) await reading.store();
    for (const { name, isRead } of attacks) {
      if (performance.now() > endsAt) return rows;
      // An attack that writes leaves its work behind, so each has a server of its own.
      const measure = (forSeconds: number) =>
        onStage(isRead ? reading : null, options, (stage) => stage.measure(name, forSeconds));
      const row = await believed(measure, seconds);
      rows.push(row);
      onRow(row);
    }
  } finally {
    await reading.close();
  }
  if (only.test(KNOWN_WAYS) && performance.now() < endsAt) {
    const row = await believed(
      (forSeconds) => onStage(null, options, (stage) => stage.measureKnownWays(forSeconds)),
      seconds * 4,
    );
    rows.push(row);
    onRow(row);
  }
  return rows;
}

async function believed(measure: (seconds: number) => Promise<AttackRow>, seconds: number): Promise<AttackRow> {
  const first = await measure(seconds);
  if (!isTooMuch(first)) return first;
  let row = await measure(BELIEVED_AFTER * seconds);
  for (let stolen = 0; isTooMuch(row) && row.stolenPart > STOLEN_PART_MAX && stolen < STOLEN_MAX; stolen += 1) {
    row = await measure(BELIEVED_AFTER * seconds);
  }
  return row;
}

export function isTooMuch({ answeredRatio, deliveredRatio, memoryMb: taken, problems }: AttackRow): boolean {
  const isSlow = answeredRatio > RATIO_MAX || deliveredRatio > RATIO_MAX;
  return isSlow || (taken ?? 0) > MEMORY_MB_MAX || problems.length > 0;
}

async function onStage<T>(
  shared: Stage | null,
  options: TenantsOptions,
  measure: (stage: Stage) => Promise<T>,
): Promise<T> {
  if (shared) return measure(shared);
  const stage = await Stage.open(options, options.seconds);
  try {
    return await measure(stage);
  } finally {
    await stage.close();
  }
}

/** A server with its accounts, and its calm times. */
class Stage {
  readonly document: Document;
  readonly #server: ServerProcess;
  readonly #endStore: () => Promise<void>;
  readonly #api: string;
  readonly #admin: string;
  readonly #good: readonly string[];
  readonly #receiver: Arrivals;
  readonly #calmSeconds: number;
  readonly #calm: Felt[] = [];
  #measured = 0;
  #hasEnded = false;

  static async open({ newStore }: TenantsOptions, calmSeconds: number): Promise<Stage> {
    const { flags, end } = await newStore();
    const server = new ServerProcess(flags);
    const { api, token } = await server.ready;
    const good: string[] = [];
    for (let index = 0; index < GOOD_ACCOUNTS; index += 1) {
      good.push(await newToken(api, token!, `good-${index}`, 'free', ALL));
    }
    const document = (await ask(api, '/openapi.json', {})).json<Document>();
    const receiver = await startReceiver();
    return new Stage({ document, server, end, api, admin: token!, good, receiver, calmSeconds });
  }

  private constructor(parts: {
    readonly document: Document;
    readonly server: ServerProcess;
    readonly end: () => Promise<void>;
    readonly api: string;
    readonly admin: string;
    readonly good: readonly string[];
    readonly receiver: Arrivals;
    readonly calmSeconds: number;
  }) {
    this.document = parts.document;
    this.#server = parts.server;
    this.#endStore = parts.end;
    this.#api = parts.api;
    this.#admin = parts.admin;
    this.#good = parts.good;
    this.#receiver = parts.receiver;
    this.#calmSeconds = parts.calmSeconds;
    void parts.server.exited.then(() => {
      this.#hasEnded = true;
    });
  }

  /** Something to read, of the account that will attack. */
  async store(): Promise<void> {
    const { batches, elements, large, largeBytes } = STORED;
    const headers = { Authorization: `Bearer ${await this.#attacker()}`, 'Content-Type': 'application/json' };
    const send = async (body: unknown) => {
      const answer = await ask(this.#api, '/v2/batch', { method: 'POST', headers, body: JSON.stringify(body) });
      if (answer.status !== 201) throw new Error(`could not prepare: ${answer.status} ${answer.text.slice(0, 300)}`);
    };
    for (let batch = 0; batch < batches; batch += 1) {
      await send(
        Array.from({ length: elements }, (_, index) => ({
          destination: 'http://127.0.0.1:9/',
          headers:
            index % 2 === 0
              ? { 'Service-Delay': '1h', 'Service-Label': `l${index}` }
              : {
                  'Service-Retries': '0',
                  'Service-Flow-Control-Key': `k${index}`,
                  'Service-Flow-Control-Value': 'rate=1000',
                },
          body: 'x'.repeat(200),
        })),
      );
    }
    for (let index = 0; index < large; index += 5) {
      await send(
        Array.from({ length: 5 }, () => ({
          destination: 'http://127.0.0.1:9/',
          headers: { 'Service-Delay': '1h' },
          body: 'y'.repeat(largeBytes),
        })),
      );
    }
  }

  async measure(name: string, seconds: number): Promise<AttackRow> {
    const token = await this.#attacker();
    const { api, document } = { api: this.#api, document: this.document };
    const orders: AttackOrders = { api, token, document, name, seconds, firstTurn: this.#measured * 1_000_000 };
    return this.#beside(name, seconds, await readyAttacker(orders));
  }

  async measureKnownWays(seconds: number): Promise<AttackRow> {
    const token = await newToken(this.#api, this.#admin, 'hostile', 'paid', ALL);
    const readToken = await newToken(this.#api, this.#admin, 'hostile-reader', 'paid', ['read']);
    const orders: HostileOrders = { api: this.#api, token, readToken, seconds };
    return this.#beside(KNOWN_WAYS, seconds, async () => {
      const worker = new Worker(new URL('./hostile-tenant.ts', import.meta.url), { workerData: orders });
      const report = await new Promise<HostileReport>((resolve, reject) => {
        worker.once('message', resolve);
        worker.once('error', reject);
      });
      await worker.terminate();
      return summed(report);
    });
  }

  async close(): Promise<void> {
    this.#receiver.close();
    await this.#server.kill();
    await this.#endStore();
  }

  async #beside(name: string, seconds: number, attack: () => Promise<AttackReport>): Promise<AttackRow> {
    const problems: string[] = [];
    const before = processorTicks();
    raiseOwnPriority(true);
    if (this.#measured === 0) await feel(this.#api, this.#good, this.#receiver, WARM_UP_SECONDS, problems);
    if (this.#measured % CALM_EVERY === 0) {
      this.#calm.push(await feel(this.#api, this.#good, this.#receiver, this.#calmSeconds, problems));
    }
    this.#measured += 1;
    forgetMostMemory(this.#server.pid);
    const [felt, statuses] = await Promise.all([
      feel(this.#api, this.#good, this.#receiver, seconds, problems),
      attack(),
    ]);
    raiseOwnPriority(false);
    const after = processorTicks();
    if (this.#hasEnded) problems.push(`the server ended: ${this.#server.stderr}`);
    const ratio = (of: 'answered' | 'delivered') =>
      felt[of].p99 / Math.max(CALM_MS_MIN, median(this.#calm.map((calm) => calm[of].p99)));
    const row = {
      name,
      felt,
      answeredRatio: ratio('answered'),
      deliveredRatio: ratio('delivered'),
      memoryMb: memoryMb(this.#server.pid, 'VmHWM'),
      stolenPart: (after.stolen - before.stolen) / Math.max(1, after.all - before.all),
      statuses,
      problems: [...new Set(problems)],
    };
    // What is left of the attack may still be worked on.
    await wait(200);
    return row;
  }

  #token: Promise<string> | null = null;

  #attacker(): Promise<string> {
    this.#token ??= newToken(this.#api, this.#admin, 'attacker', 'paid', ALL);
    return this.#token;
  }
}

/** A process that waits for the word to begin. */
async function readyAttacker(orders: AttackOrders): Promise<() => Promise<AttackReport>> {
  const child = fork(new URL('./attacker.ts', import.meta.url), { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const said = <T>() =>
    new Promise<T>((resolve, reject) => {
      child.once('message', (message) => resolve(message as T));
      child.once('error', reject);
      child.once('exit', (code) => reject(new Error(`the attacker ended with ${code}`)));
    });
  const ready = said();
  child.send(orders);
  await ready;
  return () => {
    const report = said<AttackReport>();
    child.send('begin');
    return report;
  };
}

function summed(report: HostileReport): AttackReport {
  const sums: Record<string, number> = {};
  for (const counts of Object.values(report)) {
    for (const [status, count] of Object.entries(counts)) sums[status] = (sums[status] ?? 0) + count;
  }
  return sums;
}

/**
 * The five and their receiver have machines of their own. Here they share the processors with the service and the
 * attacker, and would wait for them. Only root can.
 */
function raiseOwnPriority(isRaised: boolean): void {
  try {
    setPriority(isRaised ? constants.priority.PRIORITY_HIGH : constants.priority.PRIORITY_NORMAL);
  } catch {
    // The waits of this process are measured too then.
  }
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

/** So that the most memory of an attack is its own. Only Linux can. */
function forgetMostMemory(pid: number): void {
  try {
    writeFileSync(`/proc/${pid}/clear_refs`, '5');
  } catch {
    // The most since the start is shown then.
  }
}

/** Of all processors since the machine started, and how many of them another machine on the same host had. Only Linux tells. */
function processorTicks(): { readonly all: number; readonly stolen: number } {
  try {
    const [first] = readFileSync('/proc/stat', 'utf8').split('\n');
    const ticks = first!.trim().split(/\s+/).slice(1, 9).map(Number);
    return { all: ticks.reduce((sum, each) => sum + each, 0), stolen: ticks[7] ?? 0 };
  } catch {
    return { all: 0, stolen: 0 };
  }
}

/** A line of the table. */
export function attackLine(row: AttackRow): string {
  const { name, felt, answeredRatio, deliveredRatio, memoryMb: taken, statuses, problems } = row;
  const show = (of: 'answered' | 'delivered', ratio: number) => `${felt[of].p99.toFixed(0)} ms (${ratio.toFixed(1)} ×)`;
  const counts = Object.entries(statuses).map(([status, count]) => `${count.toLocaleString('en')} × ${status}`);
  const cells = [
    name,
    show('answered', answeredRatio),
    show('delivered', deliveredRatio),
    taken === null ? '' : `${taken} MB`,
    counts.join(', '),
    isTooMuch(row) ? ['TOO MUCH', ...stolenNote(row), ...problems.slice(0, 3)].join('; ') : '',
  ];
  return `| ${cells.join(' | ')} |`;
}

function stolenNote({ stolenPart }: AttackRow): string[] {
  return stolenPart > STOLEN_PART_MAX
    ? [`the host kept ${Math.round(stolenPart * 100)} % of the processors’ time`]
    : [];
}

export const ATTACK_HEAD = `| Attack | Accept p99 of others | Delivery p99 of others | Memory | Responses to the attacker | |
|---|---|---|---|---|---|`;
