// Parking: what happens to the messages of an account to a host that is down, if they ask for it (`Outage: park`).
//
//   open ──10 failures in a row──→ parked ──a probe is answered──→ opening: 1, 2, 4 … at once ──→ open
//                                   ↑  │ a probe fails: the next one follows later    │
//                                   │  └──────────────┘                               │
//                                   └──────────── failures in a row ──────────────────┘
//
// Only one node sends to a host that is parked or opening: the one that owns it. So there is one probe at a time, and the
// steps are those of the whole service. The functions are pure; the store keeps a `Parking` for each account and host.

export const OUTAGES = ['retry', 'park'] as const;
/** What a caller says of a message, a queue or an account. */
export type GivenOutage = (typeof OUTAGES)[number];
/** What a message has. `parkAsAccount`: it says nothing itself, and its account parks. Its queue may decide otherwise. */
export type Outage = GivenOutage | 'parkAsAccount';

export function parks({ outage }: { readonly outage: Outage | null }): boolean {
  return outage !== null && outage !== 'retry';
}

export function shownOutage(outage: Outage): GivenOutage {
  return outage === 'retry' ? 'retry' : 'park';
}

/** The setting of a new message of an account. Null: it retries. */
export function outageInAccount(given: Outage | null, ofAccount: 'park' | undefined): Outage | null {
  return given ?? (ofAccount === 'park' ? 'parkAsAccount' : null);
}

/** The setting of a message that is added to a queue: a queue decides before the account does. */
export function outageInQueue(given: Outage | null, ofQueue: GivenOutage | null): Outage | null {
  return given === null || given === 'parkAsAccount' ? (ofQueue ?? given) : given;
}

/** A callback of a message parks only if the account does. */
export function outageOfCallback(ofMessage: Outage | null): Outage | null {
  return ofMessage === 'parkAsAccount' ? ofMessage : null;
}

const PARKS = ' parks';

/**
 * The ready messages of an account to one host are two backlogs: those that park have one of their own, so that a claim
 * passes over all of them in one step. The name of a backlog is the host, or the host and this mark.
 */
export function backlogOf(message: { readonly host: string; readonly outage: Outage | null }): string {
  return message.outage !== null && parks(message) ? message.host + PARKS : message.host;
}

export function parkingBacklog(host: string): string {
  return host + PARKS;
}

export function hostOfBacklog(backlog: string): string {
  return backlog.endsWith(PARKS) ? backlog.slice(0, -PARKS.length) : backlog;
}

/** After this many failed attempts in a row, a host is parked. */
export const FAILURES_TO_PARK = 10;
/** How long after the last probe, or after the host was parked, the next probe follows. The last one is repeated. */
export const PROBE_WAITS_MS: readonly number[] = [5_000, 10_000, 20_000, 40_000, 60_000];
/** A host that so many may be sent to at once, and that answers them, is open again. */
export const OPENING_STEP_MAX = 64;
/** A host that opens, and that nothing was sent to for this long, is open again. */
export const OPENING_KEPT_MS = 60_000;

export interface Parking {
  /** Failed attempts in a row, up to FAILURES_TO_PARK. */
  readonly failures: number;
  /** When the first of them ended. */
  readonly failingSince: number | null;
  /** Since when the host is parked. Null: it is not, and only the failures are counted. */
  readonly parkedAt: number | null;
  /** A person has parked it: it stays so until a person resumes it. */
  readonly isByHand: boolean;
  /** How many probes have failed. */
  readonly failedProbes: number;
  /** When the next probe may follow. Null if there is none: the host opens, or a person has parked it. */
  readonly probeAt: number | null;
  /** While the host opens: how many messages may be sent at once. 0 while it is parked. */
  readonly step: number;
  /** How many attempts were answered since the step began. */
  readonly answered: number;
  readonly changedAt: number;
}

/** What a node has seen of a host since it last reported it: first the answers, then the failures after the last one. */
export interface HostNews {
  readonly accountId: string;
  readonly host: string;
  readonly answers: number;
  /** When the last attempt that was answered had begun. Null without answers. */
  readonly answeredAttemptAt: number | null;
  readonly failures: number;
  readonly failingSince: number | null;
  /** Whether a probe failed. */
  readonly hasFailedProbe: boolean;
  readonly at: number;
  /** The message of the last attempt. An event of the host is an event of this message. */
  readonly messageId: string;
}

export type ParkingEvent = 'parked' | 'resumed';

export interface ParkingChange {
  /** Null: nothing needs to be kept of the host. */
  readonly parking: Parking | null;
  readonly events: readonly ParkingEvent[];
}

const OPEN: Parking = {
  failures: 0,
  failingSince: null,
  parkedAt: null,
  isByHand: false,
  failedProbes: 0,
  probeAt: null,
  step: 0,
  answered: 0,
  changedAt: 0,
};

/**
 * What follows from the news. `lastAnswerAt`: when another attempt to the host was last answered, as far as is known:
 * failures before that are not in a row with later ones. `mayPark`: whether there is room for a further parked host.
 */
export function afterNews(
  before: Parking | null,
  news: HostNews,
  lastAnswerAt: number | null,
  mayPark = true,
): ParkingChange {
  if (before && isParked(before)) return whileParked(before, news);
  if (before && before.step > 0) return whileOpening(before, news, mayPark);
  return whileOpen(countedSince(before, news, lastAnswerAt), news, mayPark);
}

/** The failures that are in a row with those of the news. */
function countedSince(before: Parking | null, { answers }: HostNews, lastAnswerAt: number | null): Failures {
  if (!before || answers > 0) return OPEN;
  const { failingSince } = before;
  return lastAnswerAt !== null && failingSince !== null && lastAnswerAt > failingSince ? OPEN : before;
}

type Failures = Pick<Parking, 'failures' | 'failingSince'>;

function whileOpen(before: Failures, news: HostNews, mayPark: boolean): ParkingChange {
  const failures = before.failures + news.failures;
  const failingSince = before.failingSince ?? news.failingSince;
  if (failures === 0) return { parking: null, events: [] };
  if (failures >= FAILURES_TO_PARK && mayPark) return parkedAgain(news.at, failingSince);
  const counted = { failures: Math.min(failures, FAILURES_TO_PARK), failingSince, changedAt: news.at };
  return { parking: { ...OPEN, ...counted }, events: [] };
}

function whileParked(before: Parking, news: HostNews): ParkingChange {
  if (before.isByHand) return { parking: before, events: [] };
  // An attempt that had begun before the host was parked says nothing about the time since then.
  if (news.answeredAttemptAt !== null && news.answeredAttemptAt >= before.parkedAt!) {
    return { parking: opening(before.parkedAt!, news.at), events: ['resumed'] };
  }
  if (!news.hasFailedProbe) return { parking: before, events: [] };
  const failedProbes = before.failedProbes + 1;
  const waitMs = PROBE_WAITS_MS[Math.min(failedProbes, PROBE_WAITS_MS.length - 1)]!;
  return { parking: { ...before, failedProbes, probeAt: news.at + waitMs, changedAt: news.at }, events: [] };
}

function whileOpening(before: Parking, news: HostNews, mayPark: boolean): ParkingChange {
  let { step } = before;
  let answered = before.answered + news.answers;
  while (answered >= step && step <= OPENING_STEP_MAX) {
    answered -= step;
    step *= 2;
  }
  const { failures, failingSince } = news.answers > 0 ? OPEN : before;
  const all = { failures: failures + news.failures, failingSince: failingSince ?? news.failingSince };
  // The fewer messages are sent at once, the fewer failures show that the host is down again.
  if (all.failures >= Math.min(FAILURES_TO_PARK, before.step) && mayPark) {
    return parkedAgain(news.at, all.failingSince);
  }
  if (step > OPENING_STEP_MAX) {
    return { parking: all.failures === 0 ? null : { ...OPEN, ...all, changedAt: news.at }, events: [] };
  }
  return { parking: { ...before, ...all, step, answered, changedAt: news.at }, events: [] };
}

function parkedAgain(at: number, failingSince: number | null): ParkingChange {
  const parking = { ...OPEN, failures: FAILURES_TO_PARK, failingSince, parkedAt: at, changedAt: at };
  return { parking: { ...parking, probeAt: at + PROBE_WAITS_MS[0]! }, events: ['parked'] };
}

function opening(parkedAt: number, at: number): Parking {
  return { ...OPEN, parkedAt, step: 1, changedAt: at };
}

/** A person parks the host, until a person resumes it. */
export function parkedByHand(before: Parking | null, now: number): ParkingChange {
  if (before && isParked(before)) return { parking: { ...before, isByHand: true, probeAt: null }, events: [] };
  return { parking: { ...OPEN, parkedAt: now, isByHand: true, changedAt: now }, events: ['parked'] };
}

/** A person resumes the host: it opens in steps too. One that opens already, or that is not parked, is open at once. */
export function resumedByHand(before: Parking | null, now: number): ParkingChange {
  if (!before || !isParked(before)) return { parking: null, events: [] };
  return { parking: opening(before.parkedAt!, now), events: ['resumed'] };
}

export function isParked({ parkedAt, step }: Parking): boolean {
  return parkedAt !== null && step === 0;
}

/** Whether the node that owns the host may forget it: it opens, but nothing is sent to it. */
export function isOpenAgain({ step, changedAt }: Parking, now: number): boolean {
  return step > 0 && now >= changedAt + OPENING_KEPT_MS;
}

/**
 * A node that has lost a host, as it does when its probe fails, takes it again only this much later: another one is to try
 * first. Otherwise a node whose own network is down would keep the host parked for all.
 */
export const LEFT_FOR_MS = 3000;

/** Whether a node may own a host from now on, or for longer. The statement of `ownParked` says the same. */
export function mayOwn(
  { owner, ownedUntil }: { readonly owner: string | null; readonly ownedUntil: number | null },
  node: string,
  now: number,
): boolean {
  if (owner === null || ownedUntil === null) return true;
  return owner === node ? ownedUntil > now || ownedUntil <= now - LEFT_FOR_MS : ownedUntil <= now;
}

/** When the owner of the host loses it by this news. Null: it does not. */
export function leftAt({ hasFailedProbe, at }: HostNews, after: Parking | null): number | null {
  return hasFailedProbe && after !== null && isParked(after) ? at : null;
}

/** How many messages that park may start now at a host that this node owns. `underWay`: those that have started. */
export function parkingRoom(parking: Parking, underWay: number, now: number): number {
  if (parking.parkedAt === null) return Number.POSITIVE_INFINITY;
  if (parking.step > 0) return Math.max(0, parking.step - underWay);
  return parking.probeAt !== null && now >= parking.probeAt && underWay === 0 ? 1 : 0;
}

/** What an attempt is, if its message parks and was claimed for a host that is not open. A failed one uses up no retry. */
export type Trial = 'probe' | 'opening';

export function trialOf(parking: Parking): Trial | null {
  if (parking.parkedAt === null) return null;
  return parking.step === 0 ? 'probe' : 'opening';
}
