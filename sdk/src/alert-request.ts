// An alert as a caller defines it.

import type { AlertRule, AlertTarget } from './shapes.ts';

type RequestOf<R> = R extends { readonly type: infer T } ? { readonly type: T } & Partial<Omit<R, 'type'>> : never;

/** A rule. A field that is left out gets its default. */
export type AlertRuleRequest = RequestOf<AlertRule>;

export interface AlertRequest {
  readonly rule: AlertRuleRequest;
  /** With the format `json`, the target gets all fields of a notice; with `slack`, `{"text": …}`. Default: `json`. */
  readonly target: Pick<AlertTarget, 'url'> & Partial<AlertTarget>;
  /** A text such as `1h`, or a number of seconds. Without it, no reminders are sent. */
  readonly remindEvery?: string | number;
}
