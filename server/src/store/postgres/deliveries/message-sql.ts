// SQL about messages that several verbs use.

/** $1 is when `m` could first start, to measure the lag. A retry keeps the time of the first attempt. */
export const READY_NOW = 'ready_at = CASE m.attempts WHEN 0 THEN $1 ELSE m.ready_at END';

/** A message to lease. This transaction has locked it or its queue, so nobody else changes its state. */
export interface Leasable {
  readonly account_id: string;
  readonly seq: number;
  /** Not null if an earlier claim of the same attempt was released: its start is in the journal. */
  readonly claimed_at: number | null;
}
