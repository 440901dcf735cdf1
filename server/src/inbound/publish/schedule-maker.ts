// Makes schedules: a schedule is a publish with a cron expression. A request that would be refused as a publish is
// refused now, and not at the first tick.

import type { Publication, Publications } from '../../publish/publications.ts';
import type { StoredRoom } from '../../publish/stored-room.ts';
import type { Account } from '../../rules/accounts/account.ts';
import type { HeaderList } from '../../rules/delivery/message.ts';
import { bytesOfSchedule } from '../../rules/limits/stored-bytes.ts';
import type { Tiers } from '../../rules/limits/tier.ts';
import { misspeltProblem } from '../../rules/publish/misspelt-settings.ts';
import { type HeaderRules, ownHeader } from '../../rules/publish/publish-settings.ts';
import type { NewId } from '../../rules/requests/id.ts';
import { isName, NAME_RULE } from '../../rules/requests/name.ts';
import { nextCronTime, parseCron } from '../../rules/schedules/cron.ts';
import type { Schedule } from '../../rules/schedules/schedule.ts';
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

export class ScheduleMaker {
  readonly #options: ScheduleMakerOptions;

  constructor(options: ScheduleMakerOptions) {
    this.#options = options;
  }

  /** Makes a schedule. It replaces an existing schedule with the same id completely. */
  async make(
    publication: Publication,
    account: Account,
  ): Promise<{ readonly scheduleId: string; readonly unknownNames: readonly string[] }> {
    const { store, world, newId, publications, headerPrefix, strictSettings } = this.#options;
    const cronText = ownHeader(publication.headers, 'Cron', headerPrefix);
    const cron = parseCron(cronText ?? '');
    if (cronText === null || 'problem' in cron) {
      const wrong = 'problem' in cron && cronText !== null ? cron.problem : 'missing; give it as in "0 9 * * 1-5"';
      throw new ApiError('bad_cron', `${headerPrefix}Cron: ${wrong}`);
    }
    const id = this.#name('Schedule-Id', publication) ?? newId('scd');
    const queueName = this.#name('Queue-Name', publication);
    const plan = await publications.plan({ ...publication, queueName, scheduleId: id }, account);
    if ('problem' in plan) throw new ApiError(plan.problem.code, plan.problem.message);
    const misspelt = strictSettings ? misspeltProblem(plan.unknownNames, headerPrefix) : null;
    if (misspelt) throw new ApiError(misspelt.problem.code, misspelt.problem.message);
    const schedule: Schedule = {
      id,
      accountId: account.id,
      cron: cronText,
      destination: publication.destination,
      queueName,
      headers: this.#keptHeaders(publication.headers),
      body: publication.body,
      callerIp: publication.callerIp,
      isPaused: false,
      nextAt: nextCronTime(cron, world.clock.wallNow()),
      lastAt: null,
      lastMessageIds: [],
      createdAt: world.clock.now(),
    };
    await this.#requireRoom(schedule, account);
    await store.saveSchedule(schedule);
    return { scheduleId: id, unknownNames: plan.unknownNames };
  }

  /**
   * The headers that a schedule keeps. If one of our deliveries made it, its messages may not reach this service again:
   * they could make more schedules at every tick.
   */
  #keptHeaders(headers: HeaderList): HeaderList {
    const { headerPrefix, rules } = this.#options;
    const isHop = (name: string) => /^(?:hops|descendants-left)$/i.test(name.slice(headerPrefix.length));
    const kept = headers.filter(([name]) => !/^(authorization|cookie|host|content-length)$/i.test(name));
    const own = kept.filter(([name]) => !(name.toLowerCase().startsWith(headerPrefix.toLowerCase()) && isHop(name)));
    return own.length === kept.length ? own : [...own, [`${headerPrefix}Hops`, String(rules.hopsMax)]];
  }

  #name(header: 'Schedule-Id' | 'Queue-Name', publication: Publication): string | null {
    const { headerPrefix } = this.#options;
    const name = ownHeader(publication.headers, header, headerPrefix);
    if (name !== null && !isName(name)) throw new ApiError('bad_header', `${headerPrefix}${header}: ${NAME_RULE}`);
    return name;
  }

  async #requireRoom(schedule: Schedule, account: Account): Promise<void> {
    const { store, tiers, room } = this.#options;
    const before = await store.getSchedule(account.id, schedule.id);
    const more = bytesOfSchedule(schedule) - (before ? bytesOfSchedule(before) : 0);
    if (more > 0) await requireRoom(room, account, more);
    const max = tiers[account.tier].schedulesMax;
    if (max === null || before) return;
    if ((await store.countSchedules(account.id, max)) >= max) {
      throw new ApiError('limit_exceeded', `schedules: at most ${max} on the ${account.tier} tier`);
    }
  }
}
