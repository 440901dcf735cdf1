// Bulk operations over the API: count the matching messages, start at a chosen pace, watch, stop.

import type { Account } from '../../../rules/accounts/account.ts';
import { type Job, jobFilter } from '../../../rules/delivery/job.ts';
import { whyNothingIsChanged } from '../../../rules/limits/acceptance.ts';
import { accountMax, eachMax } from '../../../rules/limits/budgets.ts';
import { bytesOfJob } from '../../../rules/limits/stored-bytes.ts';
import type { MessageFilter } from '../../../rules/reads/message-filter.ts';
import { countMatching } from '../../../store/ports/count-in-pieces.ts';
import type { MessageStore } from '../../../store/ports/message-store.ts';
import type { ResourceStore } from '../../../store/ports/resource-store.ts';
import { descentOf } from '../../publish/descent-of.ts';
import { requireRoom } from '../../publish/quota.ts';
import type { Api, RouteContext } from '../api.ts';
import { ApiError } from '../errors.ts';
import { FILTER_NAMES, isEmptyFilter, parseMessageFilter, requestValues, selectsAll } from '../lists/filters.ts';
import { objectPage, PageQuery } from '../lists/list-pages.ts';
import { JobAnswer, JobOrCount, JobsAnswer } from '../shapes/answers.ts';
import Type from '../shapes/schema.ts';

const JobId = Type.Object({ jobId: Type.String() });
const Action = Type.Union([Type.Literal('cancel'), Type.Literal('retry'), Type.Literal('delete')]);
const PER_SECOND_DEFAULT = 100;
const PER_SECOND_MAX = 1000;
const LISTED = 100;

type Context = RouteContext<ResourceStore & Pick<MessageStore, 'countPiece'>>;

export function jobRoutes(api: Api, context: Context): void {
  startRoutes(api, context);
  readRoutes(api, context);
  stopRoutes(api, context);
}

function startRoutes(api: Api, context: Context): void {
  const { newId, store, world } = context;

  api.add({
    method: 'POST',
    path: '/v2/bulk',
    // On a full disk only a large filter is refused. A bulk delete frees space, and a bulk retry waits for space.
    storesNothing: true,
    scope: 'manage',
    body: Type.Object(
      {
        action: Action,
        filter: Type.Record(Type.String(), Type.Unknown()),
        perSecond: Type.Optional(Type.Integer({ minimum: 1, maximum: PER_SECOND_MAX })),
        dryRun: Type.Optional(Type.Boolean()),
      },
      { additionalProperties: false },
    ),
    summary: 'Cancel open messages, or retry or delete dead letters, by filter and at a chosen rate',
    answer: JobOrCount,
    statuses: [200, 201],
    isRead: true,
    handle: async ({ principal, body, reply, about, changesNothing }) => {
      const filter = filterOf(body.filter);
      // A bulk retry makes messages at its own pace, long after this call. If a delivery could start a bulk retry, it
      // could do so in an endless loop.
      if (body.action === 'retry' && descentOf(reply.request.raw, context.rules).hops > 0) {
        throw new ApiError(
          'loop_detected',
          'a request that comes from a delivery cannot start a bulk retry; use POST /v2/dlq/retry',
        );
      }
      const accountId = principal.account.id;
      const now = world.clock.now();
      const meant = jobFilter({ action: body.action, filter, createdAt: now });
      const { count: matched, isCut } = await countMatching(store, accountId, meant, eachMax('matchedCount'));
      if (body.dryRun) {
        changesNothing();
        return { action: body.action, matched, ...(isCut && { isMatchedCut: true }) };
      }
      const job: Job = {
        id: newId('job'),
        accountId,
        action: body.action,
        filter,
        perSecond: body.perSecond ?? PER_SECOND_DEFAULT,
        state: 'running',
        matched,
        isMatchedCut: isCut,
        done: 0,
        atSeq: null,
        createdAt: now,
        updatedAt: now,
      };
      about(job.id);
      await requireRoomForLarge(context, principal.account, job);
      const runningMax = accountMax('runningJobs');
      if (!(await store.createJob(job, runningMax))) {
        throw new ApiError(
          'share_used',
          `the account already has ${runningMax} running bulk operations; stop one, or wait`,
        );
      }
      reply.status(201);
      return shown(job);
    },
  });
}

function filterOf(values: unknown): MessageFilter {
  const { all, ...rest } = requestValues(values, null, [...FILTER_NAMES.messages, 'dlqIds', 'all']);
  const filter = parseMessageFilter(rest);
  if (isEmptyFilter(filter) && !selectsAll(all)) {
    const what = filter.isRetried === undefined ? 'empty' : 'retried is not enough as the only filter';
    throw new ApiError('bad_filter', `filter: ${what}; to select all, send {"all": true}`);
  }
  return filter;
}

/** Refuses a job with a large filter if there is no room for it. An account may keep a thousand of them. */
async function requireRoomForLarge({ facts, room }: Context, account: Account, job: Job): Promise<void> {
  const bytes = bytesOfJob(job);
  if (bytes <= eachMax('smallJobBytes')) return;
  const why = whyNothingIsChanged(facts(), true);
  if (why) throw new ApiError(why.code, why.message);
  await requireRoom(room, account, bytes);
}

function readRoutes(api: Api, context: Context): void {
  const { store } = context;

  api.add({
    method: 'GET',
    path: '/v2/bulk',
    scope: 'read',
    summary: 'List bulk operations, newest first',
    query: PageQuery,
    answer: JobsAnswer,
    handle: async ({ principal, query }) =>
      objectPage(
        {
          name: 'jobs',
          read: (part) => store.listJobs(principal.account.id, part),
          keyOf: ({ id }) => id,
          show: (jobs) => jobs.map(shown),
          countDefault: LISTED,
        },
        query,
      ),
  });

  api.add({
    method: 'GET',
    path: '/v2/bulk/:jobId',
    scope: 'read',
    params: JobId,
    summary: 'Read the progress of a bulk operation',
    answer: JobAnswer,
    handle: async ({ principal, params }) => {
      const job = await store.getJob(principal.account.id, params.jobId);
      if (!job) throw unknownJob(params.jobId);
      return shown(job);
    },
  });
}

function stopRoutes(api: Api, context: Context): void {
  const { store, world } = context;

  api.add({
    method: 'POST',
    path: '/v2/bulk/:jobId/stop',
    storesNothing: true,
    scope: 'manage',
    params: JobId,
    summary: 'Stop a bulk operation; finished changes are not undone',
    answer: JobAnswer,
    handle: async ({ principal, params }) => {
      const isStopped = await store.stopJob(principal.account.id, params.jobId, world.clock.now());
      const job = await store.getJob(principal.account.id, params.jobId);
      if (!isStopped || !job) throw unknownJob(params.jobId, 'running bulk operation');
      return shown(job);
    },
  });
}

function unknownJob(id: string, what = 'bulk operation'): ApiError {
  return new ApiError('job_not_found', `there is no ${what} "${id}"`);
}

function shown(job: Job) {
  return {
    jobId: job.id,
    action: job.action,
    filter: job.filter,
    perSecond: job.perSecond,
    state: job.state,
    matched: job.matched,
    ...(job.isMatchedCut && { isMatchedCut: true }),
    done: job.done,
    createdAt: job.createdAt,
    updatedAt: job.updatedAt,
  };
}
