// A process that uses the store, as other nodes see it.

/** `api` accepts and handles calls, `deliver` sends, `all` does both. */
export type NodeRole = 'all' | 'api' | 'deliver';
export const NODE_ROLES: readonly NodeRole[] = ['all', 'api', 'deliver'];

/** What a node reports about itself. */
export interface NodeDescription {
  readonly role: NodeRole;
  readonly version: string;
  /** Where it listens. */
  readonly address: string;
}

export interface NodeInfo extends NodeDescription {
  readonly id: string;
  readonly startedAt: number;
  /** By the store's clock. After this time the node counts as dead, and others take over its claims. */
  readonly aliveUntil: number;
  readonly isAlive: boolean;
}
