// Limits that messages carry for flow keys. After a change, a key checks again what it has admitted, so one transaction
// changes only a few keys. The limits of the other keys are noted, and take effect with the next claims.

import { eachMax } from '../../../rules/limits/budgets.ts';
import type { FlowLimits } from '../../../rules/lines/flow-control.ts';
import { areLimitsUnchanged, newestLimits, requestedLimits } from '../../../rules/lines/flow-key.ts';
import { type FlowRow, toKeyState } from '../../rows/line-rows.ts';
import type { Database } from '../sessions/database.ts';
import type { DueLines } from './due-lines.ts';
import { admitWaiting, lockKeys, setLimits } from './flow-keys.ts';

/**
 * Gives a few of these keys the limits that their newest messages request, except pinned limits. Returns whether the
 * limits of other keys wait for a claim.
 */
export async function applyOrDeferLimits(
  database: Database,
  requested: readonly { readonly row: FlowRow; readonly limits: FlowLimits }[],
  now: number,
): Promise<boolean> {
  const changed = requested.filter(({ row, limits }) => !areLimitsUnchanged(toKeyState(row), limits));
  const max = eachMax('flowKeysChecked');
  for (const { row, limits } of changed.slice(0, max)) {
    await setLimits(database, row, requestedLimits(toKeyState(row), limits));
  }
  const putOff = changed.slice(max);
  if (putOff.length > 0) await deferLimits(database, putOff, now);
  return putOff.length > 0;
}

/** Notes the limits of the newest messages, for a later claim to apply. Until then the old limits stay in force. */
async function deferLimits(
  database: Database,
  requested: Parameters<typeof applyOrDeferLimits>[1],
  now: number,
): Promise<void> {
  await database.run(
    `UPDATE flow_keys k SET requested_limits = g.requested_limits, requested_at = coalesce(k.requested_at, $4)
       FROM unnest($1::text[], $2::text[], $3::text[]) AS g (account_id, key, requested_limits)
       WHERE k.account_id = g.account_id AND k.key = g.key`,
    requested.map(({ row }) => row.account_id),
    requested.map(({ row }) => row.key),
    requested.map(({ limits }) => JSON.stringify(limits)),
    now,
  );
}

/** Applies noted limits to a few keys. Skips keys that another transaction has locked. */
export async function applyDeferredLimits(
  database: Database,
  requestedFlowLimits: DueLines,
  now: number,
): Promise<void> {
  const noted = await requestedFlowLimits.take(database, Number.MAX_SAFE_INTEGER, eachMax('flowKeysChecked'));
  const locked = await lockKeys(database, noted, 'SKIP LOCKED');
  for (const row of locked.values()) await setLimits(database, row, newestLimits(toKeyState(row)));
  await admitWaiting(database, locked, now);
}
