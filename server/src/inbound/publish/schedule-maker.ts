// Makes and changes schedules: a schedule is a publish with a cron expression. A request that would be refused as a
// publish is refused now, and not at the first tick.

import type { Publication, Publications } from '../../publish/publications.ts';
import type { StoredRoom } from '../../publish/stored-room.ts';
import type { Account } from '../../rules/accounts/account.ts';
import { isExpired } from '../../rules/delivery/expiry.ts';
import type { HeaderList, NewMessage } from '../../rules/delivery/message.ts';
import { eachMax } from '../../rules/limits/budgets.ts';
import { bytesOfSchedule } from '../../rules/limits/stored-bytes.ts';
import { HARD_LIMITS, type Tiers } from '../../rules/limits/tier.ts';
import { tooManyHeaders } from '../../rules/publish/headers.ts';
import { misspeltProblem } from '../../rules/publish/misspelt-settings.ts';
import { type HeaderRules, parsePublishSettings, prefixedHeader } from '../../rules/publish/publish-settings.ts';
import type { NewId } from '../../rules/requests/id.ts';
import { isName, NAME_RULE } from '../../rules/requests/name.ts';
import { changedHeaders, type Schedule } from '../../rules/schedules/schedule.ts';
import { nextTickAt, parseTickTimes } from '../../rules/schedules/tick-times.ts';
import { formatDurationMs } from '../../rules/time/duration.ts';
import type { World } from '../../runtime/world.ts';
import type { ResourceStore } from '../../store/ports/resource-store.ts';
import { ApiError } from '../api/errors.ts';
import { requireRoom } from './quota.ts';

export interface ScheduleMakerOptions {
  readonly store: ResourceStore;
  readonly world: World;
  readonly newId: NewId;
  readonly tiers: Tiers;
  readonly publications: Publications;
  readonly room: Pick<StoredRoom, 'problem'>;
  readonly headerPrefix: string;
  readonly rules: HeaderRules;
  /** Whether a publish with a setting that looks misspelt is refused. */
  readonly strictSettings: boolean;
}

/** What a caller changes in a schedule. What is absent stays. */
export interface ScheduleChange {
  readonly destination?: string;
  /** Replace the headers with the same name. An empty value removes the header. */
  readonly headers: HeaderList;
  readonly body?: Uint8Array;
}

interface Made {
  readonly schedule: Schedule;
  readonly unknownNames: readonly string[];
}

export class ScheduleMaker {
  readonly #options: ScheduleMakerOptions;

  constructor(options: ScheduleMakerOptions) {
    this.#options = options;
  }

  /** Makes a schedule, and calls `onNamed` with its id before that. It replaces what an existing schedule with the same id does, and keeps the history of that one. */
  async make(
    publication: Publication,
    account: Account,
    onNamed: (id: string) => void,
  ): Promise<{ readonly scheduleId: string; readonly unknownNames: readonly string[] }> {
    const { store, newId } = this.#options;
    this.#times(publication);
    const given = this.#name('Schedule-Id', publication);
    const before = given === null ? null : await store.getSchedule(account.id, given);
    const id = given ?? newId('scd');
    onNamed(id);
    const { schedule, unknownNames } = await this.#define(publication, account, id, before, false);
    await this.#requireRoom(schedule, account, before);
    await store.saveSchedule(schedule);
    return { scheduleId: schedule.id, unknownNames };
  }

  /** Changes parts of a schedule. Returns null if it was changed or deleted meanwhile: then nothing is written. */
  async change(
    before: Schedule,
    { destination, headers, body }: ScheduleChange,
    descent: Publication['descent'],
    account: Account,
  ): Promise<Made | null> {
    const { store, headerPrefix } = this.#options;
    const publication: Publication = {
      destination: destination ?? before.destination,
      headers: changedHeaders(
        before.headers,
        headers.filter(([name]) => !this.#isHop(name)),
      ),
      body: body ?? before.body,
      queueName: null,
      scheduleId: before.id,
      callerIp: before.callerIp,
      descent,
    };
    const id = this.#name('Schedule-Id', publication);
    if (id !== null && id !== before.id) {
      throw new ApiError('bad_header', `${headerPrefix}Schedule-Id: the id of a schedule cannot be changed`);
    }
    const made = await this.#define(publication, account, before.id, before, before.isPaused);
    await this.#requireRoom(made.schedule, account, before);
    const { createdAt, version } = before;
    return (await store.saveSchedule(made.schedule, { createdAt, version })) ? made : null;
  }

  async #define(
    publication: Publication,
    account: Account,
    id: string,
    before: Schedule | null,
    isPaused: boolean,
  ): Promise<Made> {
    const { world, publications, headerPrefix, rules, strictSettings } = this.#options;
    const { cron, times } = this.#times(publication);
    const kept = this.#keptHeaders(publication);
    const tooMany = tooManyHeaders(kept, eachMax('scheduleHeaders'), eachMax('scheduleHeaderBytes'));
    if (tooMany !== null) throw new ApiError('bad_header', tooMany);
    const queueName = this.#name('Queue-Name', publication);
    const plan = await publications.plan({ ...publication, queueName, scheduleId: id }, account);
    if ('problem' in plan) throw new ApiError(plan.problem.code, plan.problem.message);
    const misspelt = strictSettings ? misspeltProblem(plan.unknownNames, headerPrefix) : null;
    if (misspelt) throw new ApiError(misspelt.problem.code, misspelt.problem.message);
    const settings = parsePublishSettings(publication.headers, rules);
    if ('problem' in settings) throw new ApiError(settings.problem.code, settings.problem.message);
    const jitterMs = settings.jitterMs ?? 0;
    this.#requireRoomForJitter(plan.messages[0]!, jitterMs, account);
    const history = historyOf(before, world.clock.now());
    const schedule: Schedule = {
      id,
      accountId: account.id,
      cron,
      destination: publication.destination,
      queueName,
      headers: kept,
      body: publication.body,
      callerIp: publication.callerIp,
      overlap: settings.overlap ?? 'allow',
      jitterMs,
      isPaused,
      nextAt: isPaused ? null : nextTickAt(times, history.createdAt, world.clock.wallNow()),
      ...history,
    };
    return { schedule, unknownNames: plan.unknownNames };
  }

  #times({ headers }: Publication) {
    const { headerPrefix } = this.#options;
    const cron = prefixedHeader(headers, 'Cron', headerPrefix);
    const times = parseTickTimes(cron ?? '');
    if (cron !== null && !('problem' in times)) return { cron, times };
    const wrong = 'problem' in times && cron !== null ? times.problem : 'missing; give it as in "0 9 * * 1-5"';
    throw new ApiError('bad_cron', `${headerPrefix}Cron: ${wrong}`);
  }

  /** The delay of a message and its jitter together may not exceed the longest delay, nor end after its expiry. */
  #requireRoomForJitter(message: NewMessage, jitterMs: number, account: Account) {
    if (jitterMs === 0) return;
    const { tiers, headerPrefix } = this.#options;
    const max = tiers[account.tier].delayMsMax ?? HARD_LIMITS.delayMsMax;
    const latestAt = message.dueAt + jitterMs;
    if (isExpired(message, latestAt)) {
      const wrong = 'a message could expire before it is due; see';
      throw new ApiError('bad_header', `${headerPrefix}Schedule-Jitter: ${wrong} ${headerPrefix}Expires`);
    }
    if (latestAt - message.createdAt <= max) return;
    throw new ApiError(
      'limit_exceeded',
      `${headerPrefix}Schedule-Jitter: with the delay it exceeds the limit of the ${account.tier} tier: ${formatDurationMs(max)}`,
    );
  }

  /**
   * The headers that a schedule keeps. If the call came from one of our deliveries, its messages get the highest count
   * of hops, so that they may not reach this service again: they could make more schedules at every tick.
   */
  #keptHeaders({ headers, descent }: Publication): HeaderList {
    const { headerPrefix, rules } = this.#options;
    const kept = headers.filter(([name]) => !/^(authorization|cookie|host|content-length)$/i.test(name));
    const own = kept.filter(([name]) => !this.#isHop(name));
    const isFromOutside = own.length === kept.length && descent.hops === 0 && descent.left === null;
    return isFromOutside ? own : [...own, [`${headerPrefix}Hops`, String(rules.hopsMax)]];
  }

  /** Whether the header says how far the request descends from our deliveries. */
  #isHop(name: string): boolean {
    const { headerPrefix } = this.#options;
    const isOurs = name.toLowerCase().startsWith(headerPrefix.toLowerCase());
    return isOurs && /^(?:hops|descendants-left)$/i.test(name.slice(headerPrefix.length));
  }

  #name(header: 'Schedule-Id' | 'Queue-Name', publication: Publication): string | null {
    const { headerPrefix } = this.#options;
    const name = prefixedHeader(publication.headers, header, headerPrefix);
    if (name !== null && !isName(name)) throw new ApiError('bad_header', `${headerPrefix}${header}: ${NAME_RULE}`);
    return name;
  }

  async #requireRoom(schedule: Schedule, account: Account, before: Schedule | null): Promise<void> {
    const { store, tiers, room } = this.#options;
    const more = bytesOfSchedule(schedule) - (before ? bytesOfSchedule(before) : 0);
    if (more > 0) await requireRoom(room, account, more);
    const max = tiers[account.tier].schedulesMax;
    if (max === null || before) return;
    if ((await store.countSchedules(account.id, max)) >= max) {
      throw new ApiError('limit_exceeded', `schedules: at most ${max} on the ${account.tier} tier`);
    }
  }
}

function historyOf(before: Schedule | null, now: number) {
  if (!before)
    return { createdAt: now, lastAt: null, lastMessageIds: [], skippedCount: 0, skippedAt: null, version: 0 };
  const { createdAt, lastAt, lastMessageIds, skippedCount, skippedAt, version } = before;
  return { createdAt, lastAt, lastMessageIds, skippedCount, skippedAt, version };
}
