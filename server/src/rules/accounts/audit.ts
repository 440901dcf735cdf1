// The audit: who has changed what, and which calls were refused. A row names a call and what it was about. It never holds
// a body, a query, a URL or a secret.

import type { ProblemCode } from '../requests/problem.ts';

/** How the caller was known. `command`: a command on the machine, which opens the store itself. `none`: it was not. */
export const AUDIT_VIAS = ['token', 'session', 'command', 'none'] as const;
export type AuditVia = (typeof AUDIT_VIAS)[number];

/**
 * Rows of each kind have a limit of their own, so that many of one kind never take the place of another. `frequent`: calls
 * that programs or people repeat, which say little each: counted ones, and the many changes of one token.
 */
export const AUDIT_ROW_KINDS = ['change', 'frequent', 'refused'] as const;
export type AuditRowKind = (typeof AUDIT_ROW_KINDS)[number];

export interface AuditRow {
  /** Begins with the time of the row, so rows sort by time. */
  readonly id: string;
  /** The time of the call; of several that are counted together, of the first one. */
  readonly at: number;
  readonly lastAt: number;
  /** How many equal calls the row stands for. */
  readonly count: number;
  readonly kind: AuditRowKind;
  /** The account that was called for. Null if the caller was not known. */
  readonly accountId: string | null;
  readonly via: AuditVia;
  readonly tokenId: string | null;
  readonly tokenName: string | null;
  /** The address of the caller; its network, if the caller was not known. */
  readonly address: string | null;
  /** Method and route, such as `POST /v2/queues/{queueName}/pause`, or the name of a command. */
  readonly call: string;
  /** The name or the id of what was called for. */
  readonly target: string | null;
  /** Null for a command. */
  readonly status: number | null;
  /** The code of the error. Null if the call was carried out. */
  readonly code: ProblemCode | null;
  /** Of several calls that are counted together, the id of the first one. */
  readonly requestId: string | null;
}

/**
 * What the audit keeps of a route. `change`: a row for each call. `message`: calls for single messages, which programs
 * may make all the time, so those of a token are counted. `none`: only calls that the caller may not make.
 */
export type AuditKind = 'change' | 'message' | 'none';

/** A row before it has its time and its id. */
export type AuditFacts = Omit<AuditRow, 'id' | 'at' | 'lastAt' | 'count' | 'kind'>;

/** Stands in place of a call where too many different calls were counted. */
export const OTHER_CALLS = '*';

export const AUDIT_RESULTS = ['done', 'refused'] as const;
export type AuditResult = (typeof AUDIT_RESULTS)[number];

export function auditResult({ code }: Pick<AuditRow, 'code'>): AuditResult {
  return code === null ? 'done' : 'refused';
}

/** The kind of a row that counts calls. */
export function countedKind({ code }: Pick<AuditRow, 'code'>): AuditRowKind {
  return code === null ? 'frequent' : 'refused';
}

/** How many changes of one token in a minute are rows of the kind `change`. */
export const CHANGES_OF_TOKEN_MAX = 30;

/** How long equal calls are counted in one row. */
export const COUNTED_MS = 60_000;

/** The start of the time in which an equal call is counted in the same row. */
export function countedFrom(at: number): number {
  return at - (at % COUNTED_MS);
}

/** The calls that sign somebody in to the console, and out. */
export const SIGN_IN = 'POST /console/session';
export const SIGN_OUT = 'DELETE /console/session';

/**
 * What the calls that one row counts have in common. Of callers that are not known, this is only their network, and
 * whether they tried to sign in: otherwise they could make as many rows as there are calls. Calls that were carried out
 * are counted together whatever the address is: a program may run on many machines.
 */
export function countedKey({ accountId, via, tokenId, address, call, target, status, code }: AuditFacts): string {
  if (accountId === null) return JSON.stringify([address, call === SIGN_IN]);
  return JSON.stringify([accountId, via, tokenId, code === null ? null : address, call, target, status, code]);
}

const TARGET_LENGTH_MAX = 200;

/** Controls, and what changes the direction of the text around it, or splits a line. Also halves of surrogate pairs. */
const UNSAFE = /[\p{Cc}\p{Cs}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

/** A target as a row keeps it: on one line, and cut. */
export function auditTarget(text: string): string {
  const isCut = text.length > TARGET_LENGTH_MAX;
  const line = text.slice(0, TARGET_LENGTH_MAX).replaceAll(UNSAFE, '\ufffd');
  return isCut ? `${line}…` : line;
}

/** Rows must match every filter that is given, and one value of each. */
export interface AuditFilter {
  readonly accountIds?: readonly string[];
  /** Ids or names. */
  readonly tokens?: readonly string[];
  readonly calls?: readonly string[];
  readonly targets?: readonly string[];
  /** `done`, `refused`, a status, or the code of an error. */
  readonly results?: readonly string[];
  /** Addresses, with their networks. */
  readonly addresses?: readonly string[];
  readonly fromAt?: number;
  readonly toAt?: number;
}

export function matchesAudit(filter: AuditFilter, row: AuditRow): boolean {
  const { accountIds, tokens, calls, targets, results, addresses, fromAt, toAt } = filter;
  return (
    isOneOf(accountIds, row.accountId) &&
    isOneOf(tokens, row.tokenId, row.tokenName) &&
    isOneOf(calls, row.call) &&
    isOneOf(targets, row.target, ...(row.target?.split('/') ?? [])) &&
    isOneOf(results, auditResult(row), String(row.status), row.code) &&
    isOneOf(addresses, row.address) &&
    (fromAt === undefined || row.lastAt >= fromAt) &&
    (toAt === undefined || row.at <= toAt)
  );
}

function isOneOf(wanted: readonly string[] | undefined, ...values: readonly (string | null)[]): boolean {
  return wanted === undefined || values.some((value) => value !== null && wanted.includes(value));
}

/** The audit is kept for so many days. 0: none is written. */
export const AUDIT_DAYS_DEFAULT = 90;

const DAY_MS = 24 * 60 * 60 * 1000;

/** Rows before this time are deleted. */
export function auditKeptFrom(now: number, days: number): number {
  return now - days * DAY_MS;
}
