// What people do to schedules on the way: they make some of every form, change them, pause them and let them go on. And the
// messages that their ticks make, each with the tick and the version that it was planned from.

import type { NewMessage } from '../../src/rules/delivery/message.ts';
import { NO_SETTINGS } from '../../src/rules/delivery/message.ts';
import type { Tiers } from '../../src/rules/limits/tier.ts';
import type { Schedule } from '../../src/rules/schedules/schedule.ts';
import { nextFrom } from '../../src/rules/schedules/tick.ts';
import { planMessages } from '../support/plan-messages.ts';
import type { Chance } from './chance.ts';
import type { Cluster } from './cluster.ts';
import { HOSTS, hashOf, targetOf } from './draft.ts';
import { DEDUPLICATION_WINDOW_MS } from './extras.ts';
import type { SimulatedNode } from './node.ts';
import { ACCOUNTS } from './prepare.ts';

interface Form {
  readonly cron: string;
  readonly everyMs: number;
  /** Where in that time; null: it counts from the creation of the schedule. */
  readonly offsetMs: number | null;
}

/** What each means is written here by hand, and not read by the code under test. */
export const FORMS: readonly Form[] = [
  { cron: '*/10 * * * * *', everyMs: 10_000, offsetMs: 0 },
  { cron: '5-59/20 * * * * *', everyMs: 20_000, offsetMs: 5000 },
  { cron: 'TZ=Asia/Kolkata 30 * * * * *', everyMs: 60_000, offsetMs: 30_000 },
  { cron: '* * * * *', everyMs: 60_000, offsetMs: 0 },
  { cron: '@every 7s', everyMs: 7000, offsetMs: null },
  { cron: '@every 15s', everyMs: 15_000, offsetMs: null },
];
export function everyMsOf(cron: string): number {
  return FORMS.find((form) => form.cron === cron)!.everyMs;
}

const JITTERS_MS = [0, 0, 2000, 12_000];
/** The store keeps it, whatever a change brings along. */
const NO_HISTORY = { lastAt: null, lastMessageIds: [], skippedCount: 0, skippedAt: null };
const SCHEDULES_MAX = 3;

export const TICK_HEADER = 'X-Tick';

export class ScheduleActions {
  readonly #cluster: Cluster;
  readonly #chance: Chance;
  readonly #made: { readonly id: string; readonly accountId: string }[] = [];

  constructor(cluster: Cluster, chance: Chance) {
    this.#cluster = cluster;
    this.#chance = chance;
  }

  make(node: SimulatedNode): void {
    if (this.#made.length >= SCHEDULES_MAX) return;
    const chance = this.#chance;
    const { id: accountId } = chance.pick(ACCOUNTS);
    const id = `scd_${this.#made.length + 1}`;
    const { cron } = chance.pick(FORMS);
    const createdAt = node.time.now();
    const schedule: Schedule = {
      id,
      accountId,
      cron,
      destination: `https://${chance.pick(HOSTS)}/tick/${id}`,
      queueName: chance.isTrue(30) ? 'bulk' : null,
      headers: [],
      body: Buffer.from(id),
      callerIp: null,
      overlap: chance.isTrue(50) ? 'skip' : 'allow',
      jitterMs: chance.pick(JITTERS_MS),
      isPaused: false,
      nextAt: nextFrom({ cron, createdAt }, node.time.wallNow()),
      ...NO_HISTORY,
      createdAt,
      version: 0,
    };
    this.#made.push({ id, accountId });
    this.#cluster.say(`schedule ${id}: ${cron}, ${schedule.overlap}, jitter ${schedule.jitterMs}`);
    node.store.saveSchedule(schedule).catch(() => {});
  }

  /** As the API does: of the version that was read, and not if another has changed it meanwhile. */
  change(node: SimulatedNode): void {
    if (this.#made.length === 0) return;
    const chance = this.#chance;
    const { id, accountId } = chance.pick(this.#made);
    const cron = chance.isTrue(50) ? chance.pick(FORMS).cron : null;
    const jitterMs = chance.pick(JITTERS_MS);
    this.#cluster.say(`schedule ${id} changes to ${cron ?? 'the same times'}, jitter ${jitterMs}`);
    const isAtTick = chance.isTrue(60);
    const change = async () => {
      if (isAtTick) await this.#untilTick(node, accountId, id);
      const before = await node.store.getSchedule(accountId, id);
      if (!before) return;
      const times = { cron: cron ?? before.cron, createdAt: before.createdAt };
      const nextAt = nextFrom(times, node.time.wallNow());
      const isSaved = await node.store.saveSchedule({ ...before, ...NO_HISTORY, ...times, jitterMs, nextAt }, before);
      this.#cluster.note(isSaved ? 'schedule changed' : 'change of another version of a schedule refused');
    };
    change().catch(() => {});
    // Now and then somebody else does so at the same moment.
    if (chance.isTrue(30)) change().catch(() => {});
  }

  /** Until a node has looked for what is due, and perhaps not yet made it. */
  async #untilTick(node: SimulatedNode, accountId: string, id: string): Promise<void> {
    const { nextAt = null } = (await node.store.getSchedule(accountId, id)) ?? {};
    if (nextAt === null) return;
    const waitMs = nextAt - node.time.wallNow() + this.#chance.between(-6, 4);
    await new Promise<void>((resolve) => node.clock.after(waitMs, resolve));
  }

  pauseOrResume(node: SimulatedNode): void {
    if (this.#made.length === 0) return;
    const { id, accountId } = this.#chance.pick(this.#made);
    const isPaused = this.#chance.isTrue(50);
    this.#cluster.say(`schedule ${id} is ${isPaused ? 'paused' : 'resumed'}`);
    node.store.pauseSchedule(accountId, id, isPaused, node.time.wallNow()).then(
      () => this.#cluster.note('schedule paused or resumed'),
      () => {},
    );
  }

  /** Or they would make messages for ever. Again and again, for one that was being made may come later. */
  pauseAll(): void {
    const node = [...this.#cluster.nodes].find((each) => each.isServing);
    if (node) {
      for (const { id, accountId } of this.#made)
        node.store.pauseSchedule(accountId, id, true, node.time.wallNow()).catch(() => {});
    }
    this.#cluster.timeline.after(5000, () => this.pauseAll());
  }
}

/** The messages of a tick, as the service plans them: one, to a URL. */
export function planTick(schedule: Schedule, node: SimulatedNode, tiers: Tiers): { messages: readonly NewMessage[] } {
  const { id, accountId, destination, queueName, body, nextAt } = schedule;
  const account = ACCOUNTS.find((each) => each.id === accountId)!;
  const unset = { method: null, retryDelay: null, retryJitter: null, delayMs: null, timeoutMs: 5000 };
  const plan = planMessages(
    {
      ...NO_SETTINGS,
      destination: { kind: 'url', target: targetOf(destination) },
      queueName,
      contentType: null,
      settings: { ...unset, retries: 1, forward: [[TICK_HEADER, `${id} ${nextAt}`]] },
      notBefore: null,
      expiry: null,
      callback: null,
      failureCallback: null,
      deduplication: null,
      debounce: null,
      scheduleId: id,
      body,
      callerIp: null,
      hops: 0,
      descendantsLeft: null,
    },
    { accountId, tier: tiers[account.tier] },
    {
      now: node.time.now(),
      wallNow: node.time.wallNow(),
      newId: node.newId,
      deduplicationWindowMs: DEDUPLICATION_WINDOW_MS,
      sha256: hashOf,
    },
  );
  if ('problem' in plan) throw new Error(plan.problem.message);
  return plan;
}
