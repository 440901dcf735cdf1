// Filters as a program gives them: one value or several for each key, and Date objects for times.

import type { EventState, MessageFilter, MessageState } from './shapes.ts';

type Loose<T> = T extends readonly (infer V)[] ? V | T : T;
/** A state by its name. Any other text is allowed too, because the service checks it. */
type StateName = MessageState | EventState | 'IN_PROGRESS' | (string & {});

type All = {
  readonly [K in Exclude<keyof MessageFilter, 'state' | 'fromDate' | 'toDate'>]?: Loose<MessageFilter[K]> | undefined;
} & {
  readonly state?: StateName | readonly StateName[] | undefined;
  readonly fromDate?: string | number | Date | undefined;
  readonly toDate?: string | number | Date | undefined;
};

/** A filter for messages. Several values of one key mean any of them; several keys mean that all must match. */
export type MessageQuery = Omit<All, 'dlqIds'>;
export type DeadLetterQuery = Omit<All, 'state' | 'text' | 'path' | 'sourceMessageId' | 'messageIds'>;

interface Some {
  /** Maximum number of messages that the call changes. */
  readonly count?: number | undefined;
}

interface Everything {
  readonly all: true;
}

/** The messages that a call changes: all that match a filter, or all open messages. */
export type MessageSelection = (Omit<MessageQuery, 'state' | 'text' | 'retried'> & Some) | Everything;
/** The dead letters that a call changes: all that match a filter, or all dead letters. */
export type DeadLetterSelection = (DeadLetterQuery & Some) | Everything;

export type OneOrMore = string | readonly string[] | undefined;

/** A filter for the audit. Several values of one key mean any of them; several keys mean that all must match. */
export interface AuditQuery {
  /** Ids or names. */
  readonly token?: OneOrMore;
  /** Method and route, such as `POST /v2/queues/{queueName}/pause`, or a command. */
  readonly call?: OneOrMore;
  readonly target?: OneOrMore;
  /** `done`, `refused`, a status such as `403`, or the code of an error. */
  readonly result?: OneOrMore;
  readonly address?: OneOrMore;
  readonly fromDate?: string | number | Date | undefined;
  readonly toDate?: string | number | Date | undefined;
}
