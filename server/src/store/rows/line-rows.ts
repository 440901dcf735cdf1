// Rows of queues and flow keys as both adapters read them, mapped to the types of the domain. No decisions.

import type { GivenOutage } from '../../rules/hosts/parking.ts';
import { eachMax } from '../../rules/limits/budgets.ts';
import type { KeyCounts, KeyState } from '../../rules/lines/admission.ts';
import type { FlowLimits } from '../../rules/lines/flow-control.ts';
import { type FlowKey, newestLimits } from '../../rules/lines/flow-key.ts';
import type { Queue, QueueDefaults, QueueRules } from '../../rules/lines/queue.ts';
import type { Flag } from './message-columns.ts';

export interface QueueRow {
  account_id: string;
  name: string;
  parallelism: number;
  is_paused: Flag;
  expires_ms: number | null;
  priority: number | null;
  outage: GivenOutage | null;
  next_start_at: number | null;
  created_at: number;
  updated_at: number;
}

export const QUEUE_COLUMNS =
  'account_id, name, parallelism, is_paused, expires_ms, priority, outage, next_start_at, created_at, updated_at';

export function toRules({ parallelism, is_paused }: QueueRow): QueueRules {
  return { parallelism, isPaused: Boolean(is_paused) };
}

export function toDefaults(row: QueueRow): QueueDefaults {
  return { expiresMs: row.expires_ms, priority: row.priority, outage: row.outage };
}

/** `lag` is counted up to one more than the largest number that is shown. */
export function toQueue(row: QueueRow, lag: number): Queue {
  const max = eachMax('lineCount');
  return {
    accountId: row.account_id,
    name: row.name,
    ...toRules(row),
    ...toDefaults(row),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    lag: Math.min(lag, max),
    ...(lag > max && { isLagCut: true }),
  };
}

export interface FlowRow {
  account_id: string;
  key: string;
  parallelism: number | null;
  rate: number | null;
  period_ms: number;
  is_parallelism_pinned: Flag;
  is_rate_pinned: Flag;
  is_paused: Flag;
  window_start_at: number;
  window_count: number;
  next_start_at: number | null;
  /** JSON: the limits that the newest message carries, until these limits take effect. */
  requested_limits: string | null;
  requested_at: number | null;
}

export const FLOW_COLUMNS = `account_id, key, parallelism, rate, period_ms, is_parallelism_pinned, is_rate_pinned, is_paused,
  window_start_at, window_count, next_start_at, requested_limits, requested_at`;

export function toKeyState(row: FlowRow): KeyState {
  return {
    limits: { parallelism: row.parallelism, rate: row.rate, periodMs: row.period_ms },
    isParallelismPinned: Boolean(row.is_parallelism_pinned),
    isRatePinned: Boolean(row.is_rate_pinned),
    isPaused: Boolean(row.is_paused),
    windowStartAt: row.window_start_at,
    windowCount: row.window_count,
    nextStartAt: row.next_start_at,
    requested: row.requested_limits === null ? null : (JSON.parse(row.requested_limits) as FlowLimits),
  };
}

/** `waiting` is counted up to one more than the largest number that is shown. */
export function toFlowKey(row: FlowRow, { active, waiting }: Omit<KeyCounts, 'unstarted'>): FlowKey {
  const max = eachMax('lineCount');
  const { limits: _, nextStartAt: _at, requested: _requested, ...state } = toKeyState(row);
  return {
    key: row.key,
    limits: newestLimits(toKeyState(row)),
    ...state,
    active,
    waiting: Math.min(waiting, max),
    ...(waiting > max && { isWaitingCut: true }),
  };
}
