// Accounts and tokens, for the operator of the service.

import { type Account, SCOPES, shownToken } from '../../../rules/accounts/account.ts';
import { readTokenLimits } from '../../../rules/accounts/token-limits.ts';
import { isName, NAME_RULE } from '../../../rules/requests/name.ts';
import { wrongRange } from '../../../runtime/address-ranges.ts';
import type { AccessStore } from '../../../store/ports/access-store.ts';
import type { AccountStore } from '../../../store/ports/account-store.ts';
import type { DeliveryStore } from '../../../store/ports/delivery-store.ts';
import type { Api, RouteContext } from '../api.ts';
import { ApiError } from '../errors.ts';
import { objectPage, PageQuery, pageParameters } from '../lists/list-pages.ts';
import { AccountAnswer, AccountsAnswer } from '../shapes/account-answers.ts';
import { NewTokenAnswer, NodesAnswer, NothingAnswer, TokensAnswer } from '../shapes/answers.ts';
import Type from '../shapes/schema.ts';

const TierBody = Type.Union([Type.Literal('free'), Type.Literal('paid')]);
const ScopeBody = Type.Union(SCOPES.map((scope) => Type.Literal(scope)));
const AccountId = Type.Object({ accountId: Type.String() });

type Context = RouteContext<AccountStore & AccessStore & Pick<DeliveryStore, 'listNodes'>>;

export function adminRoutes(api: Api, context: Context): void {
  accountRoutes(api, context);
  deletionRoutes(api, context);
  nodeRoutes(api, context);
  tokenRoutes(api, context);
}

function accountRoutes(api: Api, context: Context): void {
  const { accounts, store } = context;

  api.add({
    method: 'GET',
    path: '/v2/admin/accounts',
    scope: 'admin',
    summary: 'List accounts',
    answer: AccountsAnswer,
    query: PageQuery,
    handle: async ({ query }) =>
      objectPage(
        {
          name: 'accounts',
          read: (part) => store.listAccounts(part),
          keyOf: ({ id }) => id,
          show: (accounts) => accounts,
        },
        query,
      ),
  });

  api.add({
    method: 'POST',
    path: '/v2/admin/accounts',
    scope: 'admin',
    summary: 'Create an account',
    answer: AccountAnswer,
    statuses: [201],
    body: Type.Object({ name: Type.String(), tier: Type.Optional(TierBody) }, { additionalProperties: false }),
    handle: async ({ body, reply, about }) => {
      if (!isName(body.name)) throw new ApiError('bad_body', `name: ${NAME_RULE}`);
      about(body.name);
      const account = await accounts.createAccount(body.name, body.tier ?? 'free');
      if (account === 'nameTaken') throw new ApiError('conflict', `name: an account "${body.name}" already exists`);
      reply.status(201);
      return account;
    },
  });

  api.add({
    method: 'PATCH',
    path: '/v2/admin/accounts/:accountId',
    storesNothing: true,
    scope: 'admin',
    summary: 'Change the tier of an account, suspend it or resume it',
    answer: AccountAnswer,
    params: AccountId,
    body: Type.Object(
      { tier: Type.Optional(TierBody), suspended: Type.Optional(Type.Boolean()) },
      { additionalProperties: false },
    ),
    handle: async ({ params, body, about }) => {
      const { tier, suspended } = body;
      const { accountId } = params;
      if (tier === undefined && suspended === undefined) throw new ApiError('bad_body', 'give tier, suspended or both');
      about(changedText(accountId, body));
      if (tier !== undefined && !(await accounts.setTier(accountId, tier)))
        throw await whyUnchanged(context, accountId);
      if (suspended !== undefined && !(await accounts.setSuspended(accountId, suspended))) {
        throw await whyUnchanged(context, accountId);
      }
      return store.getAccount(accountId);
    },
  });
}

function deletionRoutes(api: Api, context: Context): void {
  const { accounts } = context;

  api.add({
    method: 'DELETE',
    path: '/v2/admin/accounts/:accountId',
    storesNothing: true,
    scope: 'admin',
    summary: 'Delete an account with everything that it has; this cannot be undone',
    answer: AccountAnswer,
    statuses: [202],
    params: AccountId,
    query: Type.Object(
      { confirm: Type.Optional(Type.String({ description: 'The name of the account. Required.' })) },
      { additionalProperties: false },
    ),
    handle: async ({ params: { accountId }, query, principal, reply }) => {
      const account = await requireAccount(context, accountId);
      if (query.confirm !== account.name) {
        throw new ApiError('bad_parameter', `confirm: must be the name of the account, here "${account.name}"`);
      }
      if (principal.account.id === accountId) {
        throw new ApiError('conflict', 'this is your own account; use a token of another account to delete it');
      }
      const result = await accounts.deleteAccount(accountId);
      if (result === 'lastAdmin') {
        throw new ApiError(
          'last_admin_token',
          'the account has the last token with the scope "admin": without it nobody could create another; create an admin token of another account first',
        );
      }
      reply.status(202);
      return requireAccount(context, accountId);
    },
  });
}

function nodeRoutes(api: Api, context: Context): void {
  const { store } = context;

  api.add({
    method: 'GET',
    path: '/v2/nodes',
    scope: 'admin',
    summary: 'List the nodes of this service',
    answer: NodesAnswer,
    handle: async () => ({ nodes: await store.listNodes() }),
  });
}

function tokenRoutes(api: Api, context: Context): void {
  const { accounts, store, world } = context;

  api.add({
    method: 'GET',
    path: '/v2/admin/tokens',
    scope: 'admin',
    summary: 'List the tokens of an account',
    answer: TokensAnswer,
    query: Type.Object({ accountId: Type.String(), ...pageParameters }, { additionalProperties: false }),
    handle: async ({ query }) => {
      await requireAccount(context, query.accountId);
      return objectPage(
        {
          name: 'tokens',
          filters: { accountId: query.accountId },
          read: (part) => store.listTokens(query.accountId, part),
          keyOf: ({ id }) => id,
          show: (tokens) => tokens.map(shownToken),
        },
        query,
      );
    },
  });

  api.add({
    method: 'POST',
    path: '/v2/admin/tokens',
    scope: 'admin',
    summary: 'Make a token',
    answer: NewTokenAnswer,
    statuses: [201],
    body: Type.Object(
      {
        accountId: Type.String(),
        name: Type.String(),
        scopes: Type.Array(ScopeBody, { minItems: 1, uniqueItems: true }),
        expiresIn: Type.Optional(Type.String({ description: 'A duration such as `90d`. Absent: it does not expire.' })),
        expiresAt: Type.Optional(Type.Integer({ description: 'Instead of `expiresIn`. Milliseconds since 1970.' })),
        addresses: Type.Optional(
          Type.Array(Type.String(), {
            description: 'CIDR ranges from which it may be used, at most 20. Absent: from everywhere.',
          }),
        ),
      },
      { additionalProperties: false },
    ),
    handle: async ({ body, reply, about }) => {
      if (!isName(body.name)) throw new ApiError('bad_body', `name: ${NAME_RULE}`);
      about(`${body.accountId}/${body.name}/${body.scopes.join('+')}`);
      await requireAccount(context, body.accountId);
      const limits = readTokenLimits(body, world.clock.now(), wrongRange);
      if ('problem' in limits) throw new ApiError('bad_body', limits.problem);
      const made = await accounts.createToken(body.accountId, body.name, body.scopes, limits);
      if (!made) throw beingDeleted(body.accountId);
      const { token, text } = made;
      reply.status(201);
      return { ...shownToken(token), token: text };
    },
  });

  revokeRoute(api, context);
}

function revokeRoute(api: Api, { accounts }: Context): void {
  api.add({
    method: 'DELETE',
    path: '/v2/admin/accounts/:accountId/tokens/:tokenId',
    scope: 'admin',
    summary: 'Revoke a token; it stops working at once',
    answer: NothingAnswer,
    params: Type.Object({ accountId: Type.String(), tokenId: Type.String() }),
    handle: async ({ params }) => {
      const result = await accounts.revokeToken(params.accountId, params.tokenId);
      if (result === 'revoked') return {};
      if (result === 'lastAdmin') {
        throw new ApiError(
          'last_admin_token',
          'this is the last token with the scope "admin" that does not expire: without it nobody could create another; create another such token first',
        );
      }
      throw new ApiError('token_not_found', `there is no token "${params.tokenId}" to revoke in that account`);
    },
  });
}

async function requireAccount({ store }: Context, accountId: string): Promise<Account> {
  const account = await store.getAccount(accountId);
  if (!account) throw unknownAccount(accountId);
  return account;
}

/** Why an account could not be changed. */
async function whyUnchanged({ store }: Context, accountId: string): Promise<ApiError> {
  return (await store.getAccount(accountId)) ? beingDeleted(accountId) : unknownAccount(accountId);
}

function beingDeleted(accountId: string): ApiError {
  return new ApiError('conflict', `the account "${accountId}" is being deleted`);
}

function unknownAccount(accountId: string): ApiError {
  return new ApiError('account_not_found', `there is no account "${accountId}"`);
}

/** What the audit says of a changed account. */
function changedText(accountId: string, { tier, suspended }: { readonly tier?: string; readonly suspended?: boolean }) {
  const suspension = suspended ? ['suspended'] : ['resumed'];
  return [accountId, ...(tier === undefined ? [] : [tier]), ...(suspended === undefined ? [] : suspension)].join('/');
}
