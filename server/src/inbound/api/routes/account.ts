// What an account sees of itself: its identity and scopes, its signing keys and its usage.

import { isUsageDay, shownLimits, usageDay } from '../../../rules/accounts/account.ts';
import type { Principal } from '../../../store/ports/access-store.ts';
import type { AccountStore } from '../../../store/ports/account-store.ts';
import { usageKey } from '../../../store/ports/list-piece.ts';
import type { Api, RouteContext } from '../api.ts';
import { ApiError } from '../errors.ts';
import { objectPage, pageParameters } from '../lists/list-pages.ts';
import { KeysAnswer, UsageAnswer } from '../shapes/account-answers.ts';
import { OwnAccountAnswer } from '../shapes/answers.ts';
import { Outage } from '../shapes/part-answers.ts';
import Type from '../shapes/schema.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const Day = Type.String({ description: 'A UTC day such as 2026-01-31.' });

export function accountRoutes(api: Api, context: RouteContext<AccountStore>): void {
  ownRoutes(api, context);
  keyRoutes(api, context);
  usageRoutes(api, context);
}

function ownRoutes(api: Api, { accounts, tiers, service }: RouteContext<AccountStore>): void {
  const shown = ({ account, token }: Principal) => {
    const { name: _name, ...limits } = tiers[account.tier];
    return {
      accountId: account.id,
      name: account.name,
      tier: account.tier,
      createdAt: account.createdAt,
      ...(account.suspendedAt !== undefined && { suspendedAt: account.suspendedAt }),
      outage: account.outage ?? 'retry',
      token: { tokenId: token.id, name: token.name, scopes: token.scopes, ...shownLimits(token) },
      limits,
      service,
    };
  };
  api.add({
    method: 'GET',
    path: '/v2/account',
    scope: 'read',
    summary: 'Read the account and the token of this request, and the limits of the account',
    answer: OwnAccountAnswer,
    isRead: false,
    handle: async ({ principal }) => shown(principal),
  });

  api.add({
    method: 'PATCH',
    path: '/v2/account',
    storesNothing: true,
    scope: 'manage',
    summary: 'Set what messages of the account do while their host is down',
    answer: OwnAccountAnswer,
    body: Type.Object({ outage: Outage }, { additionalProperties: false }),
    handle: async ({ principal, body }) => {
      const { outage: _before, ...account } = principal.account;
      const isParking = body.outage === 'park';
      await accounts.setOutage(account.id, isParking ? 'park' : null);
      return shown({ ...principal, account: { ...account, ...(isParking && { outage: 'park' as const }) } });
    },
  });
}

function keyRoutes(api: Api, { store, accounts }: RouteContext<AccountStore>): void {
  api.add({
    method: 'GET',
    path: '/v2/keys',
    // Not the scope `read`: a caller that knows a key can sign as we do.
    scope: 'manage',
    summary: 'Read the signing keys',
    answer: KeysAnswer,
    isRead: false,
    handle: async ({ principal }) => store.getSigningKeys(principal.account.id),
  });

  api.add({
    method: 'POST',
    path: '/v2/keys/rotate',
    storesNothing: true,
    scope: 'manage',
    summary: 'Make the next key the current one',
    answer: KeysAnswer,
    handle: async ({ principal }) => accounts.rotateKeys(principal.account.id),
  });
}

function usageRoutes(api: Api, { store, world, tiers }: RouteContext<AccountStore>): void {
  api.add({
    method: 'GET',
    path: '/v2/usage',
    scope: 'read',
    summary: 'Messages by day and kind, and what the account stores',
    answer: UsageAnswer,
    query: Type.Object(
      { fromDay: Type.Optional(Day), toDay: Type.Optional(Day), ...pageParameters },
      { additionalProperties: false },
    ),
    handle: async ({ principal, query }) => {
      const now = world.clock.now();
      const fromDay = dayOf('fromDay', query.fromDay) ?? usageDay(now - 30 * DAY_MS);
      const toDay = dayOf('toDay', query.toDay) ?? usageDay(now);
      const storedBytesMax = tiers[principal.account.tier].storedBytesMax;
      const storedBytes = await store.storedBytes(principal.account.id);
      return objectPage(
        {
          name: 'usage',
          filters: { fromDay: query.fromDay, toDay: query.toDay },
          read: (part) => store.usage(principal.account.id, fromDay, toDay, part),
          keyOf: usageKey,
          show: (rows) => rows,
        },
        query,
        { fromDay, toDay, storedBytes, ...(storedBytesMax !== null && { storedBytesMax }) },
      );
    },
  });
}

function dayOf(name: string, text: string | undefined): string | undefined {
  if (text === undefined || isUsageDay(text)) return text;
  throw new ApiError('bad_parameter', `${name}: must be a calendar day, such as 2026-01-31`);
}
