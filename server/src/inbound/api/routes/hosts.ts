// Hosts over the API: how the attempts of the account to each host went, and how many messages wait for it.

import { HEALTH_KEPT_MS, type KnownHost, summaryOf } from '../../../rules/hosts/host-health.ts';
import { isParked, type Parking } from '../../../rules/hosts/parking.ts';
import { accountMax, eachMax } from '../../../rules/limits/budgets.ts';
import { parseTargetUrl } from '../../../rules/publish/destination.ts';
import type { HostStore } from '../../../store/ports/host-store.ts';
import type { Api, RouteContext } from '../api.ts';
import { ApiError } from '../errors.ts';
import { arrayPage, PageQuery } from '../lists/list-pages.ts';
import { HostAnswer } from '../shapes/answers.ts';
import Type from '../shapes/schema.ts';

const Host = Type.Object({ host: Type.String() });

/** Writes what this node has measured for an account and has not written yet. */
export interface UnwrittenHealth {
  write(accountId: string): Promise<void>;
}

/** Looks again which hosts are parked. */
export interface ParkingLook {
  lookAgain(): void;
}

export function hostRoutes(
  api: Api,
  context: RouteContext<HostStore>,
  unwritten: UnwrittenHealth,
  parking: ParkingLook,
): void {
  readRoutes(api, context, unwritten);
  parkRoutes(api, context, parking);
}

function parkRoutes(api: Api, { store, world }: RouteContext<HostStore>, parking: ParkingLook): void {
  const read = async (accountId: string, name: string) =>
    shown((await store.getHost(accountId, name))!, await countWaiting(store, accountId), world.clock.now());

  api.add({
    method: 'POST',
    path: '/v2/hosts/:host/park',
    scope: 'manage',
    params: Host,
    summary: 'Park a host: messages that park wait for it until it is resumed',
    answer: HostAnswer,
    handle: async ({ principal, params, about }) => {
      const { id } = principal.account;
      const name = (await knownAs(store, id, params.host)) ?? newName(params.host);
      about(name);
      const max = accountMax('parkedHosts');
      const parked = await store.parkHost(id, name, world.clock.now(), max, accountMax('hosts'));
      if (parked === 'full') {
        throw new ApiError('limit_exceeded', `an account may have ${max} parked hosts of ${accountMax('hosts')} hosts`);
      }
      parking.lookAgain();
      return read(id, name);
    },
  });

  api.add({
    method: 'POST',
    path: '/v2/hosts/:host/resume',
    scope: 'manage',
    params: Host,
    summary: 'Resume a parked host: messages are sent to it again, in steps',
    answer: HostAnswer,
    handle: async ({ principal, params, about }) => {
      const { id } = principal.account;
      const name = await knownAs(store, id, params.host);
      if (name !== null) about(name);
      if (name === null || !(await store.resumeHost(id, name, world.clock.now()))) throw unknownHost(params.host);
      parking.lookAgain();
      return read(id, name);
    },
  });
}

function readRoutes(api: Api, { store, world }: RouteContext<HostStore>, unwritten: UnwrittenHealth): void {
  api.add({
    method: 'GET',
    path: '/v2/hosts',
    scope: 'read',
    summary: 'List hosts with the health of each',
    answer: Type.Array(HostAnswer),
    query: PageQuery,
    handle: async ({ principal, query, reply }) => {
      const { id } = principal.account;
      await unwritten.write(id);
      const waiting = await countWaiting(store, id);
      return arrayPage(
        {
          name: 'hosts',
          read: (part) => store.listHosts(id, part),
          keyOf: ({ host }) => host,
          show: (hosts) => hosts.map((host) => shown(host, waiting, world.clock.now())),
        },
        query,
        reply,
      );
    },
  });

  api.add({
    method: 'GET',
    path: '/v2/hosts/:host',
    scope: 'read',
    params: Host,
    summary: 'Read the health of a host',
    answer: HostAnswer,
    handle: async ({ principal, params }) => {
      const { id } = principal.account;
      await unwritten.write(id);
      const name = await knownAs(store, id, params.host);
      const host = name === null ? null : await store.getHost(id, name);
      if (!host) throw unknownHost(params.host);
      return shown(host, await countWaiting(store, id), world.clock.now());
    },
  });
}

const KEPT_DAYS = HEALTH_KEPT_MS / 86_400_000;

/** The names under which a host may be stored. One that is given without a port may be reached by HTTPS or HTTP. */
function spellings(given: string): string[] {
  const host = given.toLowerCase();
  return /:\d+$/.test(host) ? [host] : [`${host}:443`, `${host}:80`];
}

/** The name under which the store has the host. Null: it does not have it. */
async function knownAs(store: HostStore, accountId: string, given: string): Promise<string | null> {
  const inUrl = nameInUrl(given);
  for (const name of inUrl === null ? spellings(given) : new Set([...spellings(given), inUrl]))
    if (await store.getHost(accountId, name)) return name;
  return null;
}

/** The name of a host that nothing was sent to yet. */
function newName(given: string): string {
  const name = nameInUrl(given);
  if (name !== null) return name;
  throw new ApiError('bad_parameter', 'host: must be a host, such as api.example.com or api.example.com:8443');
}

/** The name that the host of a URL gets, however the caller writes it. Null: it is no host. */
function nameInUrl(given: string): string | null {
  if (/[/?#@]/.test(given)) return null;
  const target = parseTargetUrl(/:80$/.test(given) ? `http://${given}` : `https://${given}`);
  return 'problem' in target ? null : target.host;
}

function unknownHost(given: string): ApiError {
  return new ApiError('host_not_found', `no message was sent to "${given}" in the last ${KEPT_DAYS} days`);
}

interface Waiting {
  readonly byHost: ReadonlyMap<string, number>;
  readonly isCut: boolean;
}

/** Counts, in pieces, how many messages wait for each host: among the oldest open messages, up to a limit. */
async function countWaiting(store: HostStore, accountId: string): Promise<Waiting> {
  const byHost = new Map<string, number>();
  const piece = eachMax('pieceRows');
  let after = 0;
  for (let counted = 0; counted < eachMax('lineCount'); counted += piece) {
    const { counts, nextSeq } = await store.waitingByHost(accountId, after, piece);
    for (const { host, waiting } of counts) byHost.set(host, (byHost.get(host) ?? 0) + waiting);
    if (nextSeq === null) return { byHost, isCut: false };
    after = nextSeq;
  }
  return { byHost, isCut: true };
}

function shown({ host, health, parking }: KnownHost, waiting: Waiting, now: number) {
  const { attempts, delivered, p50Ms, p95Ms } = summaryOf(health, now);
  const { failingSince, lastAttemptAt, lastFailure } = health;
  return {
    host,
    state: stateOf(health, parking),
    ...(failingSince !== null && { failingSince }),
    ...shownParking(parking),
    attempts,
    delivered,
    ...(attempts > 0 && { successShare: delivered / attempts }),
    ...(p50Ms !== null && { p50Ms }),
    ...(p95Ms !== null && { p95Ms }),
    // A host that a person has parked may have had no attempt yet.
    ...(health.spans.length > 0 && { lastAttemptAt }),
    ...(lastFailure !== null && { lastFailure: shownFailure(lastFailure) }),
    waiting: waiting.byHost.get(host) ?? 0,
    ...(waiting.isCut && { isWaitingCut: true }),
  };
}

function stateOf({ failingSince }: KnownHost['health'], parking: Parking | null) {
  if (parking && isParked(parking)) return 'parked';
  return failingSince === null ? 'well' : 'failing';
}

function shownParking(parking: Parking | null) {
  if (!parking || parking.parkedAt === null) return {};
  const { parkedAt, isByHand, failedProbes, probeAt, step } = parking;
  if (step > 0) return { opensWith: step };
  return {
    parkedSince: parkedAt,
    ...(isByHand && { isParkedByHand: true }),
    failedProbes,
    ...(probeAt !== null && { nextProbeAt: probeAt }),
  };
}

function shownFailure({ at, status, error }: NonNullable<KnownHost['health']['lastFailure']>) {
  return { at, ...(status !== null && { responseStatus: status }), ...(error !== null && { error }) };
}
