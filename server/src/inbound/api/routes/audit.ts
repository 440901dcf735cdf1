// The audit over the API: of all accounts for the operator, and of its own for an account.

import {
  AUDIT_RESULTS,
  type AuditFilter,
  type AuditResult,
  type AuditRow,
  auditResult,
} from '../../../rules/accounts/audit.ts';
import { addressGroup } from '../../../rules/limits/address-group.ts';
import { eachMax } from '../../../rules/limits/budgets.ts';
import { CALL_READ_MAX } from '../../../rules/reads/read-amount.ts';
import { PROBLEMS } from '../../../rules/requests/problem.ts';
import type { AccessStore } from '../../../store/ports/access-store.ts';
import { objectPieces, StreamedResponse } from '../answer-stream.ts';
import type { Api, RouteContext } from '../api.ts';
import { ApiError } from '../errors.ts';
import { cursorMarkOf, parseKeyCursor, toKeyCursor } from '../lists/cursors.ts';
import {
  PAGE_PARAMETERS,
  parsePage,
  parseSingleText,
  parseTexts,
  parseTimeValue,
  querySchema,
  requestValues,
} from '../lists/filters.ts';
import { AuditAnswer } from '../shapes/account-answers.ts';

const COUNT_DEFAULT = 100;
const COUNT_MAX = 1000;

const OWN = ['token', 'call', 'target', 'result', 'address', 'fromDate', 'toDate'] as const;
const ALL = ['account', ...OWN] as const;

type Context = RouteContext<AccessStore>;
type Values = ReturnType<typeof requestValues>;

export function auditRoutes(api: Api, context: Context): void {
  api.add({
    method: 'GET',
    path: '/v2/admin/audit',
    scope: 'admin',
    query: querySchema([...ALL, ...PAGE_PARAMETERS]),
    summary: 'List who has changed what, and which calls were refused, in all accounts',
    answer: AuditAnswer,
    handle: async ({ query }) => {
      const values = requestValues(query, null, [...ALL, ...PAGE_PARAMETERS]);
      return list(context, values, parseFilter(values));
    },
  });

  api.add({
    method: 'GET',
    path: '/v2/audit',
    scope: 'manage',
    query: querySchema([...OWN, ...PAGE_PARAMETERS]),
    summary: 'List who has changed what in the account, and which of its calls were refused',
    answer: AuditAnswer,
    handle: async ({ principal, query }) => {
      const values = requestValues(query, null, [...OWN, ...PAGE_PARAMETERS]);
      return list(context, values, { ...parseFilter(values), accountIds: [principal.account.id] });
    },
  });
}

/** A page ends at its count, or when enough rows were examined: then its cursor continues there. */
async function list({ store, audit }: Context, values: Values, filter: AuditFilter): Promise<StreamedResponse> {
  const { limit, order } = parsePage(values, COUNT_DEFAULT, COUNT_MAX, false);
  const mark = cursorMarkOf(`audit ${filter.accountIds?.join() ?? ''}`, values);
  let after = values.cursor === undefined ? null : parseKeyCursor(parseSingleText('cursor', values.cursor), mark);
  // What this node has counted since the last time is listed too.
  await audit.flush();
  const rows: AuditRow[] = [];
  for (let looked = 0; ; ) {
    const page = { order, after, limit: limit - rows.length, look: eachMax('pieceRows') };
    const piece = await store.listAudit(filter, page);
    rows.push(...piece.rows);
    looked += piece.looked;
    after = piece.after;
    if (after === null || rows.length >= limit || looked >= CALL_READ_MAX.rows) break;
  }
  const weight = rows.length * ROW_BYTES;
  const rest = after === null ? {} : { cursor: toKeyCursor(after, mark) };
  return new StreamedResponse(weight, () => objectPieces([['audit', rows.values().map(shown)]], rest));
}

/** What a row takes in memory, roughly. */
const ROW_BYTES = 400;

function parseFilter(values: Values): AuditFilter {
  const texts = (name: string) => (values[name] === undefined ? undefined : parseTexts(name, values[name]));
  const [accountIds, tokens, calls, targets, results, addresses] = [
    texts('account'),
    texts('token'),
    texts('call'),
    texts('target'),
    texts('result')?.map(parseResult),
    texts('address')?.flatMap((address) => [address, addressGroup(address)]),
  ];
  return {
    ...(accountIds && { accountIds }),
    ...(tokens && { tokens }),
    ...(calls && { calls }),
    ...(targets && { targets }),
    ...(results && { results }),
    ...(addresses && { addresses }),
    ...(values.fromDate !== undefined && { fromAt: parseTimeValue('fromDate', values.fromDate) }),
    ...(values.toDate !== undefined && { toAt: parseTimeValue('toDate', values.toDate) }),
  };
}

function parseResult(text: string): string {
  const isKnown =
    AUDIT_RESULTS.includes(text as AuditResult) || /^[1-5]\d\d$/.test(text) || Object.hasOwn(PROBLEMS, text);
  if (isKnown) return text;
  throw new ApiError('bad_filter', `result: must be ${AUDIT_RESULTS.join(', ')}, a status, or the code of an error`);
}

function shown(row: AuditRow) {
  const { accountId, tokenId, tokenName, address, target, status, code, requestId } = row;
  return {
    auditId: row.id,
    time: row.at,
    ...(row.count > 1 && { lastTime: row.lastAt, count: row.count }),
    ...(accountId !== null && { accountId }),
    via: row.via,
    ...(tokenId !== null && { tokenId }),
    ...(tokenName !== null && { tokenName }),
    ...(address !== null && { address }),
    call: row.call,
    ...(target !== null && { target }),
    result: auditResult(row),
    ...(status !== null && { status }),
    ...(code !== null && { code }),
    ...(requestId !== null && { requestId }),
  };
}
