// An alert as a caller defines it.

import type { AlertRule, AlertTarget } from './shapes.ts';

type RequestOf<R> = R extends { readonly type: infer T } ? { readonly type: T } & Partial<Omit<R, 'type'>> : never;

/** A rule without the fields that shall have their defaults. */
export type AlertRuleRequest = RequestOf<AlertRule>;

export interface AlertRequest {
  readonly rule: AlertRuleRequest;
  /** With `json` the target gets all fields, signed; with `slack` it gets `{"text": …}`. Default: `json`. */
  readonly target: Pick<AlertTarget, 'url'> & Partial<AlertTarget>;
  /** A text such as `1h`, or a number of seconds. Without it, no reminders are sent. */
  readonly remindEvery?: string | number;
}
