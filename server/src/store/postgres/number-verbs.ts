// The verbs that are numbers for people, as the store has them: which of them read and which of them write.

import type { Store } from '../store.ts';
import type { Over } from './account-verbs.ts';
import { activity, foldActivity } from './activity.ts';
import * as statistics from './statistics.ts';

export function numberVerbs(reading: Over, writing: Over) {
  return {
    standing: reading(statistics.standing),
    activity: reading(activity),
    foldActivity: writing(foldActivity),
    failureGroups: reading(statistics.failureGroups),
  } satisfies Partial<Store>;
}
