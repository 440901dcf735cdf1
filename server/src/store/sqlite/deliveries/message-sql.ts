// SQL about messages that several verbs use.

/** Sets `ready_at`, from which the lag is measured, to ?1. After the first attempt, `ready_at` stays the same. */
export const SET_READY_AT = 'ready_at = iif(attempts = 0, ?1, ready_at)';
