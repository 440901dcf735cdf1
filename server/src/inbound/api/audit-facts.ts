// What the audit says of a call of the API or the console.

import { type AuditFacts, auditTarget } from '../../rules/accounts/audit.ts';
import { addressGroup } from '../../rules/limits/address-group.ts';
import type { ProblemCode } from '../../rules/requests/problem.ts';
import type { Principal } from '../../store/ports/access-store.ts';

export interface AuditedCall {
  /** Undefined: the caller is not known. */
  readonly principal: Principal | undefined;
  readonly address: string | null;
  readonly call: string;
  readonly target: string | null;
  readonly status: number;
  readonly code: ProblemCode | null;
  readonly requestId: string | undefined;
}

/** Of a caller that is not known, nothing is kept that it could choose, such as its path, but the id of its request. */
export function auditFacts({ principal, address, target, requestId, ...rest }: AuditedCall): AuditFacts {
  if (principal === undefined) {
    const network = address === null ? null : addressGroup(address);
    const nobody = { accountId: null, via: 'none', tokenId: null, tokenName: null } as const;
    return { ...rest, ...nobody, address: network, target: null, requestId: requestId ?? null };
  }
  const { account, token, sessionId } = principal;
  return {
    ...rest,
    accountId: account.id,
    via: sessionId === undefined ? 'token' : 'session',
    tokenId: token.id,
    tokenName: token.name,
    address,
    target: target === null ? null : auditTarget(target),
    requestId: requestId ?? null,
  };
}
