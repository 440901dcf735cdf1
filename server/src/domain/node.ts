// A process over the store, as others see it.

/** `api` accepts and answers, `deliver` sends, `all` does both. */
export type NodeRole = 'all' | 'api' | 'deliver';
export const NODE_ROLES: readonly NodeRole[] = ['all', 'api', 'deliver'];

/** What a node says of itself. */
export interface NodeAbout {
  readonly role: NodeRole;
  readonly version: string;
  /** Where it listens. */
  readonly address: string;
}

export interface NodeInfo extends NodeAbout {
  readonly id: string;
  readonly startedAt: number;
  /** By the store's clock: later it is gone, and others take over what it had claimed. */
  readonly aliveUntil: number;
  readonly isAlive: boolean;
}
