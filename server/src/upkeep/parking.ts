// Parked hosts, as this node knows them: it counts the failures of hosts that messages park for, asks the store which hosts
// are parked, and says how many messages may be sent there. Decisions are those of rules/hosts/parking.ts: this node
// makes them at once for itself, and the store makes them again for all nodes. An attempt to a host that is not parked,
// of a message that does not park, costs two look-ups in memory.

import { hostResultOf } from '../rules/alerts/alert-facts.ts';
import type { Attempt, Claim, Message } from '../rules/delivery/message.ts';
import type { ClaimLimits } from '../rules/delivery/slots.ts';
import {
  afterNews,
  type HostNews,
  isOpenAgain,
  isParked,
  mayOwn,
  OPENING_KEPT_MS,
  type Parking,
  type ParkingEvent,
  parkingRoom,
  parks,
  type Trial,
  trialOf,
} from '../rules/hosts/parking.ts';
import { accountMax, eachMax, nodeMax } from '../rules/limits/budgets.ts';
import type { HostStore, ParkedHost } from '../store/ports/host-store.ts';
import { StoreUnavailable } from '../store/ports/store.ts';

/** How often other nodes' parked hosts are looked for. With thousands of them, the look itself takes longer. */
const LOOK_EVERY_MS = 1000;
const LOOK_MS_FOR_EACH = 2;
/** Less than a node owns a host for, so that it does not lose it. */
const LOOK_EVERY_MS_MAX = 5000;
/** A node owns a parked host for this long, and renews that in time. A dead node loses it. */
const OWNED_MS = 15_000;
const RENEWED_BEFORE_MS = 10_000;

type ParkingStore = Pick<HostStore, 'noteHosts' | 'listParked' | 'ownParked' | 'endOpening'>;
type AtHost = Pick<Message, 'accountId' | 'host'>;

export interface HostParkingOptions {
  readonly store: ParkingStore;
  readonly node: string;
  /** Whether this node sends anything. */
  readonly isSending: boolean;
  readonly now: () => number;
  /** Whether the time is a manual clock's, and this is the only node: then nothing happens while no time passes. */
  readonly isByHand: boolean;
  /** Called for what the attempts of this node have shown. */
  readonly observe?: (event: ParkingNotice) => void;
}

export type ParkingNotice = ParkingEvent | 'probeAnswered' | 'probeFailed';

/** What is known of a host. */
interface Known extends AtHost {
  parking: Parking;
  /** Until when this node owns the host. Null: it does not. */
  ownedUntil: number | null;
}

const NOTHING: ClaimLimits['parked'] = [];
const PROBE_NOTICES = { answers: 'probeAnswered', fails: 'probeFailed' } as const;

/** The engine takes this as its `EngineParking`. */
export class HostParking {
  readonly #options: HostParkingOptions;
  /** Hosts that are parked or opening. */
  #parked = new Map<string, Known>();
  /** Hosts that messages park for, and whose last attempts failed. */
  readonly #failing = new Map<string, Parking>();
  #news = new Map<string, HostNews>();
  /** Messages that park, and that are under way, by host. */
  readonly #underWay = new Map<string, number>();
  readonly #trials = new Map<string, Trial>();
  #rooms = NOTHING;
  /** Whether something has started or ended at a parked host since: then even equal numbers are news. */
  #isNew = false;
  /** Until when the rooms are the same, unless something happens at a parked host. */
  #roomsUntil = Number.NEGATIVE_INFINITY;
  /** When other nodes' parked hosts are looked for again. */
  #lookAt = Number.NEGATIVE_INFINITY;
  #isKnown = false;
  #wakeEngine = () => {};
  #wake = () => {};

  constructor(options: HostParkingOptions) {
    this.#options = options;
  }

  /** Otherwise a node that starts would send everything that waits for a parked host, before it has read which are. */
  get isKnown(): boolean {
    return this.#isKnown;
  }

  /** How many hosts are parked, and how many are opening. */
  get counts(): { readonly parked: number; readonly opening: number } {
    const parked = [...this.#parked.values()].filter(({ parking }) => isParked(parking)).length;
    return { parked, opening: this.#parked.size - parked };
  }

  onChange(listener: () => void): void {
    this.#wakeEngine = listener;
  }

  rooms(): ClaimLimits['parked'] {
    if (this.#parked.size === 0) {
      this.#rooms = NOTHING;
      return NOTHING;
    }
    const now = this.#options.now();
    if (!this.#isNew && now < this.#roomsUntil) return this.#rooms;
    const rooms = this.#roomsAt(now);
    if (this.#isNew || !areEqual(rooms, this.#rooms)) this.#rooms = rooms;
    this.#isNew = false;
    return this.#rooms;
  }

  #roomsAt(now: number): ClaimLimits['parked'] {
    let until = Number.POSITIVE_INFINITY;
    const rooms: (readonly [string, string, number])[] = [];
    for (const [key, { accountId, host, parking, ownedUntil }] of this.#parked) {
      const isOwned = ownedUntil !== null && now < ownedUntil;
      rooms.push([accountId, host, isOwned ? parkingRoom(parking, this.#underWay.get(key) ?? 0, now) : 0]);
      if (isOwned) until = Math.min(until, ownedUntil, after(parking.probeAt, now));
    }
    this.#roomsUntil = until;
    return rooms;
  }

  isParked(message: AtHost): boolean {
    return this.#parked.size > 0 && this.#parked.has(keyOf(message));
  }

  started({ lease, message }: Claim): void {
    if (!parks(message)) return;
    const key = keyOf(message);
    this.#underWay.set(key, (this.#underWay.get(key) ?? 0) + 1);
    const known = this.#parked.get(key);
    if (!known) return;
    this.#isNew = true;
    const trial = trialOf(known.parking);
    if (trial !== null) this.#trials.set(lease, trial);
  }

  trialOf({ lease }: Claim): Trial | null {
    return this.#trials.size === 0 ? null : (this.#trials.get(lease) ?? null);
  }

  ended({ lease, message }: Claim): void {
    if (!parks(message)) return;
    const key = keyOf(message);
    const left = (this.#underWay.get(key) ?? 1) - 1;
    if (left > 0) this.#underWay.set(key, left);
    else this.#underWay.delete(key);
    this.#isNew ||= this.#parked.has(key);
    this.#trials.delete(lease);
  }

  /** Called when an attempt was settled, before `ended`. */
  note({ lease, message }: Claim, attempt: Attempt): void {
    const result = this.#resultFor(message, attempt);
    if (result === null) return;
    const key = keyOf(message);
    const known = this.#parked.get(key);
    const before = known?.parking ?? this.#failing.get(key) ?? null;
    if (before === null && !this.#mayCount(parks(message), result, key)) return;
    const isProbe = this.#trials.get(lease) === 'probe';
    const one = newsOf(message, attempt, result, isProbe);
    const { parking, events } = afterNews(before, one, null);
    this.#tell(isProbe ? [PROBE_NOTICES[result], ...events] : events);
    // Nothing that the store knows changes by it.
    if (known && parking === before) return;
    this.#gather(key, one);
    this.#keep(key, message, parking, known?.ownedUntil ?? null);
    if (this.#isUrgent(known, key)) this.#wake();
  }

  /** Other news is reported with the next look: a host that sometimes fails would cost a write with each attempt. */
  #isUrgent(before: Known | undefined, key: string): boolean {
    return before !== undefined || this.#parked.has(key) || this.#options.isByHand;
  }

  #tell(notices: readonly ParkingNotice[]): void {
    for (const notice of notices) this.#options.observe?.(notice);
  }

  #gather(key: string, one: HostNews): void {
    const before = this.#news.get(key);
    this.#news.set(key, before ? together(before, one) : one);
  }

  /** Null: it says nothing about the host, or nobody needs to know. */
  #resultFor(message: Message, attempt: Attempt): 'fails' | 'answers' | null {
    return parks(message) || this.#isAnyDown ? hostResultOf(attempt) : null;
  }

  get #isAnyDown(): boolean {
    return this.#parked.size > 0 || this.#failing.size > 0;
  }

  /** Whether this node begins to count the failures of a host. It does not while too much could not be reported. */
  #mayCount(isParking: boolean, result: 'fails' | 'answers', key: string): boolean {
    const hasRoom = this.#news.size < nodeMax('parkedHosts') || this.#news.has(key);
    return isParking && result === 'fails' && hasRoom;
  }

  #keep(key: string, { accountId, host }: AtHost, parking: Parking | null, ownedUntil: number | null): void {
    this.#roomsUntil = Number.NEGATIVE_INFINITY;
    if (parking !== null && parking.parkedAt !== null) {
      this.#parked.set(key, { accountId, host, parking, ownedUntil });
      this.#failing.delete(key);
      return;
    }
    this.#parked.delete(key);
    this.#failing.delete(key);
    if (parking === null) return;
    // The one that failed longest ago makes room: the store has its failures, and nothing may be sent there any more.
    if (this.#failing.size >= nodeMax('parkedHosts')) this.#failing.delete(this.#failing.keys().next().value!);
    this.#failing.set(key, parking);
  }

  /** Looks now: a person has parked or resumed a host. */
  lookAgain(): void {
    this.#lookAt = Number.NEGATIVE_INFINITY;
    this.#wake();
  }

  readonly task = {
    name: 'parked hosts',
    // Waits for probes end by the time of the service.
    dueBelowMs: OPENING_KEPT_MS + 1,
    onStart: (wake: () => void) => {
      this.#wake = wake;
    },
    run: async (): Promise<number> => {
      await this.#report();
      if (this.#options.isByHand || this.#options.now() >= this.#lookAt) await this.#look();
      this.#wakeEngine();
      return this.#nextMs();
    },
  };

  async #report(): Promise<void> {
    const news = [...this.#news];
    if (news.length === 0) return;
    this.#news = new Map();
    const rows = eachMax('upkeepRows');
    for (let at = 0; at < news.length; at += rows) {
      const some = news.slice(at, at + rows);
      try {
        await this.#reportSome(some);
      } catch (error) {
        const isDoubtful = error instanceof StoreUnavailable && error.reason === 'doubtful';
        this.#putBack(isDoubtful ? some.flatMap(withoutFailures) : some);
        this.#putBack(news.slice(at + rows));
        throw error;
      }
    }
  }

  /** Reported with the next news. */
  #putBack(news: readonly (readonly [key: string, news: HostNews])[]): void {
    for (const [key, each] of news) {
      const since = this.#news.get(key);
      this.#news.set(key, since ? together(each, since) : each);
    }
  }

  async #reportSome(part: readonly (readonly [key: string, news: HostNews])[]): Promise<void> {
    const results = await this.#options.store.noteHosts(
      part.map(([, each]) => each),
      accountMax('parkedHosts'),
      accountMax('hosts'),
    );
    for (const [index, [key, each]] of part.entries()) {
      const { ownedUntil = null } = this.#parked.get(key) ?? {};
      this.#keep(key, each, this.#withNews(key, results[index] ?? null), ownedUntil);
    }
  }

  /** What is known of a host by the store and by what has happened here since the last report. */
  #withNews(key: string, stored: Parking | null): Parking | null {
    const news = this.#news.get(key);
    return news ? afterNews(stored, news, null).parking : stored;
  }

  /** The parked hosts. Those that no node owns are then owned by this one. */
  async #listOwning(): Promise<readonly ParkedHost[]> {
    const { store, node, isSending, now } = this.#options;
    const found = await store.listParked(nodeMax('parkedHosts'));
    if (!isSending || !found.some((host) => this.#mayOwn(host, now()))) return found;
    await store.ownParked(node, now(), now() + OWNED_MS);
    return store.listParked(nodeMax('parkedHosts'));
  }

  /** Whether this node owns a host that is open again, because nothing was sent to it. */
  #isOver({ owner, parking, ...host }: ParkedHost, now: number): boolean {
    const key = keyOf(host);
    const isQuiet = !this.#news.has(key) && !this.#underWay.has(key);
    return owner === this.#options.node && isQuiet && isOpenAgain(parking, now);
  }

  async #look(): Promise<void> {
    const { store, node, now } = this.#options;
    const found = await this.#listOwning();
    const ended = found.filter((host) => this.#isOver(host, now()));
    if (ended.length > 0) await store.endOpening(ended);
    const parked = new Map<string, Known>();
    for (const { accountId, host, parking, owner, ownedUntil } of found.filter((each) => !ended.includes(each))) {
      const key = keyOf({ accountId, host });
      const current = this.#withNews(key, parking);
      if (current === null || current.parkedAt === null) continue;
      this.#failing.delete(key);
      parked.set(key, { accountId, host, parking: current, ownedUntil: owner === node ? ownedUntil : null });
    }
    // Parked here since the last report.
    const newlyParked = [...this.#parked].filter(([key]) => this.#news.has(key) && !parked.has(key));
    for (const [key, known] of newlyParked) parked.set(key, known);
    this.#parked = parked;
    this.#roomsUntil = Number.NEGATIVE_INFINITY;
    const everyMs = Math.min(Math.max(LOOK_EVERY_MS, parked.size * LOOK_MS_FOR_EACH), LOOK_EVERY_MS_MAX);
    this.#lookAt = now() + everyMs;
    this.#isKnown = true;
  }

  /** Whether this node should own the host from now on, or for longer. */
  #mayOwn(host: ParkedHost, now: number): boolean {
    const { node } = this.#options;
    return mayOwn(host, node, now) && !(host.owner === node && host.ownedUntil! - now >= RENEWED_BEFORE_MS);
  }

  /** In how many milliseconds there may be something to do. */
  #nextMs(): number {
    const { isByHand, now } = this.#options;
    const at = now();
    let nextMs = isByHand ? Number.POSITIVE_INFINITY : Math.max(1, this.#lookAt - at);
    for (const { parking } of this.#parked.values()) {
      const dueAt = parking.step > 0 ? parking.changedAt + OPENING_KEPT_MS : parking.probeAt;
      if (dueAt !== null && dueAt > at) nextMs = Math.min(nextMs, dueAt - at);
    }
    return nextMs;
  }
}

/**
 * The store may have counted them, and ten in a row park a host: so none is counted twice, and perhaps some never. Answers may
 * be counted twice.
 */
function withoutFailures([key, news]: readonly [key: string, news: HostNews]): [string, HostNews][] {
  if (news.answers === 0 && !news.hasFailedProbe) return [];
  return [[key, { ...news, failures: 0, failingSince: null }]];
}

function keyOf({ accountId, host }: AtHost): string {
  return `${accountId} ${host}`;
}

function newsOf(message: Message, attempt: Attempt, result: 'fails' | 'answers', isProbe: boolean): HostNews {
  const { accountId, host, id: messageId } = message;
  const about = { accountId, host, messageId, at: attempt.endedAt };
  const nothing = { answers: 0, answeredAttemptAt: null, failures: 0, failingSince: null, hasFailedProbe: false };
  return result === 'answers'
    ? { ...about, ...nothing, answers: 1, answeredAttemptAt: attempt.startedAt }
    : { ...about, ...nothing, failures: 1, failingSince: attempt.endedAt, hasFailedProbe: isProbe };
}

/** `later` was seen after `one`, by the same node. */
function together(one: HostNews, later: HostNews): HostNews {
  const isBroken = later.answers > 0;
  return {
    ...later,
    answers: one.answers + later.answers,
    answeredAttemptAt: later.answeredAttemptAt ?? one.answeredAttemptAt,
    failures: isBroken ? later.failures : one.failures + later.failures,
    failingSince: isBroken ? later.failingSince : (one.failingSince ?? later.failingSince),
    hasFailedProbe: one.hasFailedProbe || later.hasFailedProbe,
  };
}

/** The time, if it is still to come. */
function after(at: number | null, now: number): number {
  return at !== null && at > now ? at : Number.POSITIVE_INFINITY;
}

function areEqual(one: ClaimLimits['parked'], other: ClaimLimits['parked']): boolean {
  return (
    one.length === other.length &&
    one.every(([accountId, host, room], index) => {
      const [otherId, otherHost, otherRoom] = other[index]!;
      return accountId === otherId && host === otherHost && room === otherRoom;
    })
  );
}
