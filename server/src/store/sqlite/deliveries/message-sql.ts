// SQL about messages that several verbs use.

/** ?1 is when the message could first start, to measure the lag. A retry keeps the time of the first attempt. */
export const READY_NOW = 'ready_at = iif(attempts = 0, ?1, ready_at)';
