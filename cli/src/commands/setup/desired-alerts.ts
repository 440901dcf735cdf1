// The section "alerts" of the file of `apply` and `export`. It checks an entry by the service's own rules, and adds the
// defaults, so that equal alerts can be compared.

import { readAlert, shownDefinition } from '../../../../server/src/rules/alerts/alert-rules.ts';

export interface AlertState {
  readonly id: string;
  readonly rule: Readonly<Record<string, unknown>>;
  readonly target: Readonly<Record<string, unknown>>;
  readonly remindEvery?: string | number;
}

/** A placeholder for the default of `freeBytes`, which only the service knows. */
const SERVICE_DEFAULT = { freeBytes: 1 };

/** Everything that is wrong with an entry. */
export function alertProblems({ id: _id, ...alert }: Readonly<Record<string, unknown>>, at: string): string[] {
  const read = readAlert(alert, SERVICE_DEFAULT);
  return 'problems' in read ? read.problems.map((problem) => `${at}: ${problem}`) : [];
}

/** The entry with all defaults, as the service shows it. `actual` is the alert that the service has under this id. */
export function withAlertDefaults(desired: AlertState, actual: AlertState | undefined): AlertState {
  const freeBytes = actual?.rule.freeBytes;
  const read = readAlert(
    { rule: desired.rule, target: desired.target, remindEvery: desired.remindEvery },
    typeof freeBytes === 'number' ? { freeBytes } : SERVICE_DEFAULT,
  );
  if (!('definition' in read)) return desired;
  const shown = shownDefinition(read.definition);
  if (shown.rule.type !== 'diskLow' || desired.rule.freeBytes !== undefined || actual) {
    return { id: desired.id, ...shown };
  }
  return { id: desired.id, ...shown, rule: { type: 'diskLow' } };
}
