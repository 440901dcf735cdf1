// What the store holds of parked hosts, written down as steps: when one is parked and opens, what was answered there, and
// which attempts used up no retry. A node must know of it once it was left in peace for a while.

import type { Message, NewMessage, Settlement } from '../../src/rules/delivery/message.ts';
import { type Parking, parks } from '../../src/rules/hosts/parking.ts';
import type { Database } from '../../src/store/sqlite/thread/database.ts';
import type { AttemptedStep, ClaimedStep, Step } from '../checker/step.ts';
import type { Happening } from './coverage.ts';
import type { Watch } from './step-log.ts';

/** A node looks every second; a look takes three turns at the store. */
const KNOWN_AFTER_MS = 4000;

interface HostRow {
  readonly parking: string | null;
  readonly owner: string | null;
}
/** As in the row of the host, which a parked or opening host has. */
interface Shown {
  readonly parkedAt: number;
  readonly step: number;
  /** Since when nodes may not know of it, on the timeline: it was parked, or parked again. */
  readonly sinceMs: number;
  /** Another one each time that the host was open in between. */
  readonly epoch: number;
  /** When the next probe may follow, and since when nodes may not know it. */
  readonly probeAt: number | null;
  readonly probeSinceMs: number;
}
interface Leased {
  readonly id: string;
  readonly node: string;
  readonly host: string;
  readonly parks: boolean;
  readonly retried: number;
  /** When it was claimed, its node had to know that the host is parked or opens. */
  readonly epoch: number | null;
}

export interface ParkedHostsWorld {
  readonly database: Database;
  readonly nowMs: () => number;
  /** For how long the node has been left in peace; 0 while it is not. */
  readonly peaceMs: (node: string) => number;
  readonly push: (step: Step) => void;
  readonly say: (line: string) => void;
  readonly note: (happening: Happening) => void;
}

export class ParkedHosts {
  /** Attempts that used up no retry, as id and number. */
  readonly free = new Set<string>();
  readonly #world: ParkedHostsWorld;
  readonly #hosts = new Map<string, Shown>();
  readonly #leases = new Map<string, Leased>();
  /** Leases that are not settled or given back, and that their node knows of. */
  readonly #underWay = new Set<string>();
  readonly #answers = new Set<string>();
  #epochs = 0;

  constructor(world: ParkedHostsWorld) {
    this.#world = world;
  }

  watch(watch: Watch): void {
    watch('noteHosts', ([news]) => {
      for (const { accountId, host } of news) this.#look(accountId, host, false);
    });
    watch('parkHost', ([accountId, host]) => this.#look(accountId, host, true));
    watch('resumeHost', ([accountId, host]) => this.#look(accountId, host, true));
    watch('endOpening', ([hosts]) => {
      for (const { accountId, host } of hosts) this.#look(accountId, host, false);
    });
    watch('settle', ([settlements]) => {
      for (const settlement of settlements) this.#answered(settlement);
    });
  }

  /** The message was leased. Returns what its step says about its host. */
  leased(lease: string, message: NewMessage, node: string): NonNullable<ClaimedStep['parked']> | null {
    const host = keyOf(message);
    const { retried = 0 } = message as Partial<Message>;
    const isParking = parks(message);
    const known = isParking ? this.#knownTo(node, host) : null;
    const epoch = known?.epoch ?? null;
    this.#leases.set(lease, { id: message.id, node, host, parks: isParking, retried, epoch });
    this.#underWay.add(lease);
    if (!known) return null;
    const underWay = [...this.#underWay].filter((each) => {
      const other = this.#leases.get(each)!;
      return other.node === node && other.host === host && other.parks;
    });
    const row = this.#row(message.accountId, message.host);
    if (underWay.length > 1 && known.step > 0) this.#world.note('two at once at a host that opens');
    return { host, underWay: underWay.length, isOwner: row?.owner === node, probeAt: this.#knownProbe(host) };
  }

  /** The node does not know of these. */
  unheard(leases: readonly string[]): void {
    for (const lease of leases) this.#underWay.delete(lease);
  }

  /** The lease is over, whoever ended it. */
  over(lease: string): void {
    this.#underWay.delete(lease);
  }

  /** An attempt whose settlement counts. */
  settled({ lease, attempt, retried, next }: Settlement): void {
    const leased = this.#leases.get(lease);
    // Where it expires instead, nobody says whether it would have used up a retry.
    if (!leased || !isDown(attempt) || (next.state === 'failed' && next.code === 'expired')) return;
    const isFree = next.state === 'pending' && retried === leased.retried;
    const { id, host } = leased;
    if (isFree) this.#noteFree(`${id} ${attempt.number}`, host);
    const mustBeFree = leased.epoch !== null && this.#hosts.get(host)?.epoch === leased.epoch;
    const step: AttemptedStep = { kind: 'attempted', id, host, parks: leased.parks, mustBeFree, isFree };
    if (isFree || mustBeFree) this.#world.push(step);
  }

  /** A failed probe whose message was cancelled meanwhile: it is reported by no callback either. */
  cancelled({ lease, attempt, retried, next }: Settlement): void {
    const leased = this.#leases.get(lease);
    if (!leased || !isDown(attempt) || next.state !== 'pending' || retried !== leased.retried) return;
    this.free.add(`${leased.id} ${attempt.number}`);
  }

  #noteFree(attempt: string, host: string): void {
    this.free.add(attempt);
    const isOpening = (this.#hosts.get(host)?.step ?? 0) > 0;
    this.#world.note(isOpening ? 'failed while its host opened' : 'probe failed');
  }

  /** Also what was settled too late: its node has seen the answer. */
  #answered({ lease, attempt }: Settlement): void {
    const leased = this.#leases.get(lease);
    if (!leased || !(attempt.outcome === 'answered' || isDown(attempt))) return;
    // The ack of a 202 is no second answer.
    if (this.#answers.has(lease)) return;
    this.#answers.add(lease);
    const { host, node } = leased;
    this.#world.push({ kind: isDown(attempt) ? 'down' : 'answered', host, node, at: attempt.endedAt });
  }

  #knownTo(node: string, host: string): Shown | null {
    const shown = this.#hosts.get(host);
    if (!shown || this.#world.nowMs() - shown.sinceMs < KNOWN_AFTER_MS) return null;
    return this.#world.peaceMs(node) < KNOWN_AFTER_MS ? null : shown;
  }

  /** Null: the host is not parked, or its node may not know of this probe yet. */
  #knownProbe(host: string): number | null {
    const { probeAt, probeSinceMs } = this.#hosts.get(host)!;
    return this.#world.nowMs() - probeSinceMs < KNOWN_AFTER_MS ? null : probeAt;
  }

  #look(accountId: string, host: string, isByHand: boolean): void {
    const key = keyOf({ accountId, host });
    const text = this.#row(accountId, host)?.parking ?? null;
    const parking = text === null ? null : (JSON.parse(text) as Pick<Parking, 'parkedAt' | 'step' | 'probeAt'>);
    const before = this.#hosts.get(key);
    this.#world.say(`${key}: ${text}`);
    if (parking === null || parking.parkedAt === null) {
      if (before) this.#world.note('host open again');
      if (before) this.#world.push({ kind: 'host', host: key, state: 'open', parkedAt: null, isByHand });
      this.#hosts.delete(key);
      return;
    }
    const { parkedAt, step, probeAt } = parking;
    const isAnew = !before || (step === 0 && (before.step > 0 || before.parkedAt !== parkedAt));
    if (!before) this.#epochs += 1;
    const sinceMs = isAnew ? this.#world.nowMs() : before.sinceMs;
    const probeSinceMs = before?.probeAt === probeAt ? before.probeSinceMs : this.#world.nowMs();
    this.#hosts.set(key, { parkedAt, step, sinceMs, epoch: before?.epoch ?? this.#epochs, probeAt, probeSinceMs });
    const state = step === 0 ? 'parked' : 'opening';
    const wasOpening = before !== undefined && before.step > 0;
    if (isAnew) this.#world.note('host parked');
    else if (step > 0 && !wasOpening) this.#world.note('host resumed');
    if (isAnew || (step > 0 && !wasOpening))
      this.#world.push({ kind: 'host', host: key, state, parkedAt, probeAt, isByHand });
  }

  #row(accountId: string, host: string): HostRow | undefined {
    const sql = 'SELECT parking, owner FROM hosts WHERE account_id = ? AND host = ?';
    return this.#world.database.get<HostRow>(sql, accountId, host);
  }
}

function keyOf({ accountId, host }: { readonly accountId: string; readonly host: string }): string {
  return `${accountId} ${host}`;
}

/** No connection, no response in time, or a 5xx. */
function isDown({ outcome, status }: Settlement['attempt']): boolean {
  return outcome === 'unreachable' || outcome === 'timedOut' || (outcome === 'answered' && status! >= 500);
}
