// SQL about messages that several verbs use.

import { BACKLOG, RANK } from '../../rows/message-columns.ts';

/** Sets when `m` could first start to $1, to measure the lag. A retry keeps the time of the first attempt. */
export const SET_READY_AT = 'ready_at = CASE m.attempts WHEN 0 THEN $1 ELSE m.ready_at END';

/** All columns of the index of ready messages: with them, the planner chooses no other one. */
export const READY_ORDER = `account_id, ${BACKLOG}, ${RANK}, seq`;

/** A message to lease. This transaction has locked it or its queue, so nobody else changes its state. */
export interface Leasable {
  readonly account_id: string;
  readonly seq: number;
  /** Not null if an earlier claim of the same attempt was released: its start is in the journal. */
  readonly claimed_at: number | null;
}
