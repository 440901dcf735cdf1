// An alert as a caller sets it.

import type { AlertRule, AlertTarget } from './shapes.ts';

type RequestOf<R> = R extends { readonly type: infer T } ? { readonly type: T } & Partial<Omit<R, 'type'>> : never;

/** A field that is left out gets its default. */
export type AlertRuleRequest = RequestOf<AlertRule>;

export interface AlertRequest {
  readonly rule: AlertRuleRequest;
  /** `json` gets everything, signed; `slack` gets `{"text": …}`. Default: `json`. */
  readonly target: Pick<AlertTarget, 'url'> & Partial<AlertTarget>;
  /** Such as `1h`, or a number of seconds. Without it: no reminders. */
  readonly remindEvery?: string | number;
}
