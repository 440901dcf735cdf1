// The hosts that messages are sent to: how their attempts went, and which of them are parked.

import type { KnownHost, MeasuredHost } from '../../rules/hosts/host-health.ts';
import type { HostNews, Parking } from '../../rules/hosts/parking.ts';
import type { ListPiece, ListPieceRequest } from './list-piece.ts';
import type { WalkPosition, WalkResult } from './upkeep-store.ts';

/** How many messages wait for each of some hosts. */
export interface HostsPiece {
  readonly counts: readonly { readonly host: string; readonly waiting: number }[];
  /** Where to continue the count. Null when all messages are counted. */
  readonly nextSeq: number | null;
}

/** A host that is parked, or that opens again, and the node that alone may send to it what parks. */
export interface ParkedHost {
  readonly accountId: string;
  readonly host: string;
  readonly parking: Parking;
  readonly owner: string | null;
  /** By the order clock. */
  readonly ownedUntil: number | null;
}

export interface HostStore {
  // ——— health ———

  /** `host` has its port, as in a message. */
  getHost(accountId: string, host: string): Promise<KnownHost | null>;

  /** Ordered by host. */
  listHosts(accountId: string, part?: ListPieceRequest): Promise<ListPiece<KnownHost>>;

  /** Counts which hosts the next `limit` open messages of the account wait for, in the order of their acceptance. */
  waitingByHost(accountId: string, afterSeq: number, limit: number): Promise<HostsPiece>;

  /**
   * Adds what a node has measured. A host that would be one more than `hostsMax` of its account is left out. Returns how
   * many attempts were left out.
   */
  addHostHealth(measured: readonly MeasuredHost[], hostsMax: number): Promise<number>;

  /** Visits `limit` hosts after a position, and forgets those without an attempt for a week. */
  deleteIdleHosts(now: number, after: WalkPosition, limit: number): Promise<WalkResult>;

  // ——— parking ———

  /**
   * Adds what a node has seen of hosts that messages are parked for, or soon may be. Returns what is then known of each.
   * A host that would be one more than `parkedMax` of its account is not parked.
   */
  noteHosts(news: readonly HostNews[], parkedMax: number, hostsMax: number): Promise<readonly (Parking | null)[]>;

  /** By hand, until it is resumed. `full`: the account has as many parked hosts, or hosts, as it may have. */
  parkHost(
    accountId: string,
    host: string,
    now: number,
    parkedMax: number,
    hostsMax: number,
  ): Promise<'parked' | 'full'>;

  /** False: the account has no such host. */
  resumeHost(accountId: string, host: string, now: number): Promise<boolean>;

  /** Forgets hosts that open, if they are still as given. */
  endOpening(hosts: readonly Pick<ParkedHost, 'accountId' | 'host' | 'parking'>[]): Promise<void>;

  /** Up to `limit` hosts of all accounts. */
  listParked(limit: number): Promise<readonly ParkedHost[]>;

  /** Makes the node the owner, until `until`, of all parked hosts that have no other owner now. Returns how many it has. */
  ownParked(node: string, now: number, until: number): Promise<number>;
}
