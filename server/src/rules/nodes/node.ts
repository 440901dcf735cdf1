// What the nodes that share a store know about each other.

/** `api` accepts messages and handles calls, `deliver` sends messages, `all` does both. */
export type NodeRole = 'all' | 'api' | 'deliver';
export const NODE_ROLES: readonly NodeRole[] = ['all', 'api', 'deliver'];

/** What a node reports about itself. */
export interface NodeDescription {
  readonly role: NodeRole;
  readonly version: string;
  /** The address on which the node listens. */
  readonly address: string;
}

export interface NodeInfo extends NodeDescription {
  readonly id: string;
  readonly startedAt: number;
  /** A time on the store's clock. After this time the node counts as dead, and other nodes take over its claims. */
  readonly aliveUntil: number;
  readonly isAlive: boolean;
}
