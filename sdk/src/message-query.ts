// Filters as a program gives them: one value or several, and dates as dates.

import type { EventState, MessageFilter, MessageState } from './shapes.ts';

type Loose<T> = T extends readonly (infer V)[] ? V | T : T;
/** Any other text is allowed too: the service checks it. */
type StateName = MessageState | EventState | 'IN_PROGRESS' | (string & {});

type All = {
  readonly [K in Exclude<keyof MessageFilter, 'state' | 'fromDate' | 'toDate'>]?: Loose<MessageFilter[K]> | undefined;
} & {
  readonly state?: StateName | readonly StateName[] | undefined;
  readonly fromDate?: string | number | Date | undefined;
  readonly toDate?: string | number | Date | undefined;
};

/** Several values of one key mean any of them, several keys mean all of them. */
export type MessageQuery = Omit<All, 'dlqIds'>;
export type DeadLetterQuery = Omit<All, 'state' | 'text' | 'path' | 'sourceMessageId' | 'messageIds'>;

interface Some {
  /** Changes at most this many. */
  readonly count?: number | undefined;
}

interface Everything {
  readonly all: true;
}

/** The messages that a call changes: those of a filter, or all that are open. */
export type MessageSelection = (Omit<MessageQuery, 'state' | 'text' | 'retried'> & Some) | Everything;
/** The dead letters that a call changes: those of a filter, or all. */
export type DeadLetterSelection = (DeadLetterQuery & Some) | Everything;
