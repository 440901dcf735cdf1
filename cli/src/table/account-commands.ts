// The commands about accounts: tokens and scopes, signing keys, audit and usage.

import type { FlagSpec } from '../frame/arguments.ts';
import type { CommandSpec } from '../frame/command.ts';
import { LIMIT_FLAG, YES_FLAG } from './flags.ts';

const STORE_FLAGS: readonly FlagSpec[] = [
  {
    name: 'data',
    placeholder: '<directory>',
    about:
      'Work directly in the store of this data directory instead of the API. No token is needed. Default: POSTRIDER_DATA.',
  },
  {
    name: 'store',
    placeholder: '<url>',
    about: 'Work directly in this PostgreSQL database instead of the API. Default: POSTRIDER_STORE.',
  },
];
const ACCOUNT: FlagSpec = {
  name: 'account',
  placeholder: '<name>',
  about:
    'Name or id of the account. Default: over the API, the account of the token; directly in a store, the only account, or else the account called default.',
};
const TIER = { name: 'tier', about: 'free or paid', values: ['free', 'paid'] };

const TOKENS: readonly CommandSpec[] = [
  {
    name: 'token list',
    summary: 'list the tokens of an account',
    isDefault: true,
    flags: [ACCOUNT, { name: 'all', about: 'Also list revoked tokens.' }, ...STORE_FLAGS],
    scope: 'admin',
    load: async () => (await import('../commands/machine/token.ts')).listTokens,
  },
  {
    name: 'token create',
    summary: 'create a token over the API, or directly in the store',
    about:
      'Creates a token and prints it. With --url, --token-file, --profile or one of their variables it calls the API; otherwise it writes directly to the store of --data or --store, or to the directory postrider-data. Directly in the store it needs no token, only permission to read and write the files; the service may keep running.',
    flags: [
      { name: 'admin', about: 'A token that may do everything.' },
      {
        name: 'scope',
        placeholder: '<scope,…>',
        isList: true,
        about: 'What the token may do, instead of --admin: publish, read, manage, admin.',
      },
      ACCOUNT,
      { name: 'name', placeholder: '<name>', about: 'Name of the token in lists. Default: command-line.' },
      {
        name: 'expires-in',
        placeholder: '<duration>',
        kind: 'duration',
        about: 'After how long the token expires, such as 90d. Without it, it does not expire.',
      },
      {
        name: 'address',
        placeholder: '<cidr,…>',
        isList: true,
        about:
          'Ranges of the addresses from which the token may be used, such as 10.0.0.0/8. Without it, from everywhere.',
      },
      ...STORE_FLAGS,
    ],
    scope: 'admin',
    examples: [
      'postrider token create --admin --data /var/lib/postrider',
      'postrider token create --account shop --scope publish --expires-in 90d --address 10.0.0.0/8',
    ],
    load: async () => (await import('../commands/machine/token.ts')).createToken,
  },
  {
    name: 'token revoke',
    summary: 'revoke a token',
    arguments: [{ name: 'id', about: 'the id of a token, as token list shows it' }],
    flags: [ACCOUNT, ...STORE_FLAGS, YES_FLAG],
    scope: 'admin',
    load: async () => (await import('../commands/machine/token.ts')).revokeToken,
  },
];

const ACCOUNTS: readonly CommandSpec[] = [
  {
    name: 'account show',
    summary: "show the token's own account, its scopes and its limits",
    isDefault: true,
    scope: 'read',
    load: async () => (await import('../commands/machine/token.ts')).showAccount,
  },
  {
    name: 'account set-outage',
    summary: "set what messages of the token's own account do while their host is down",
    about:
      'For messages that say nothing themselves, and whose topic, schedule or queue says nothing: retry, or park, so that they wait until their host is back and use up no retry.',
    arguments: [{ name: 'outage', about: 'retry or park', values: ['retry', 'park'] }],
    scope: 'manage',
    examples: ['postrider account set-outage park'],
    load: async () => (await import('../commands/machine/token.ts')).setOutage,
  },
  {
    name: 'account list',
    summary: 'list accounts',
    flags: STORE_FLAGS,
    scope: 'admin',
    load: async () => (await import('../commands/machine/token.ts')).listAccounts,
  },
  {
    name: 'account create',
    summary: 'create an account',
    arguments: [{ name: 'name', about: 'the name of the account' }],
    flags: [
      { name: 'tier', placeholder: '<tier>', values: TIER.values, about: 'free or paid. Default: free.' },
      ...STORE_FLAGS,
    ],
    scope: 'admin',
    load: async () => (await import('../commands/machine/token.ts')).createAccount,
  },
  {
    name: 'account set-tier',
    summary: 'change the tier of an account',
    arguments: [{ name: 'account', about: 'the name or id of an account' }, TIER],
    flags: STORE_FLAGS,
    scope: 'admin',
    load: async () => (await import('../commands/machine/token.ts')).setTier,
  },
  {
    name: 'account suspend',
    summary: 'suspend an account: it publishes nothing, and its messages wait',
    arguments: [{ name: 'account', about: 'the name or id of an account' }],
    flags: STORE_FLAGS,
    scope: 'admin',
    load: async () => (await import('../commands/machine/token.ts')).suspendAccount,
  },
  {
    name: 'account resume',
    summary: 'resume a suspended account: its messages continue in their order',
    arguments: [{ name: 'account', about: 'the name or id of an account' }],
    flags: STORE_FLAGS,
    scope: 'admin',
    load: async () => (await import('../commands/machine/token.ts')).resumeAccount,
  },
  {
    name: 'account delete',
    summary: 'delete an account with everything that it has',
    about:
      'Deletes an account with its messages, queues, topics, schedules, alerts and tokens. It works no more at once, and cannot be resumed. The running service then deletes what it has, piece by piece; until the account is gone, account list shows it as being deleted. With --data or --store, the account is deleted when a service runs on the store. The token must be of another account.',
    arguments: [{ name: 'account', about: 'the name or id of an account' }],
    flags: [...STORE_FLAGS, YES_FLAG],
    scope: 'admin',
    examples: ['postrider account delete acme --yes'],
    load: async () => (await import('../commands/machine/token.ts')).deleteAccount,
  },
  {
    name: 'account recount',
    summary: 'recount the bytes that accounts store, directly in the store',
    about:
      'Recounts the bytes that each account stores, and corrects the count that its limit uses. Every change updates the count, so it is wrong only after an upgrade during which an older version deleted messages. The service may keep running and is not delayed. In a data directory the log of the service grows during the count. Do not run this command twice at the same time.',
    flags: [{ ...ACCOUNT, about: 'Name or id of the account. Default: all accounts.' }, ...STORE_FLAGS],
    examples: ['postrider account recount --data /var/lib/postrider'],
    load: async () => (await import('../commands/machine/token.ts')).recountAccounts,
  },
];

export const ACCOUNT_COMMANDS: readonly CommandSpec[] = [
  ...TOKENS,
  ...ACCOUNTS,
  {
    name: 'keys show',
    summary: 'show the signing keys of the account',
    isDefault: true,
    scope: 'manage',
    load: async () => (await import('../commands/machine/keys.ts')).showKeys,
  },
  {
    name: 'keys rotate',
    summary: 'make the next signing key the current one',
    flags: [YES_FLAG],
    scope: 'manage',
    load: async () => (await import('../commands/machine/keys.ts')).rotateKeys,
  },
  {
    name: 'audit',
    summary: 'show who has changed what, and which calls were refused',
    about:
      'Shows the audit of the account of the token, the newest entries first. With --all or --account it shows that of all or of other accounts, and the token needs the scope admin.',
    flags: [
      { name: 'all', about: 'The entries of all accounts, and those of callers without a valid token.' },
      { name: 'account', placeholder: '<name>', isList: true, about: 'Only calls of this account, by name or id.' },
      { name: 'by', placeholder: '<token>', isList: true, about: 'Only calls with this token, by name or id.' },
      {
        name: 'call',
        placeholder: '<call>',
        isList: true,
        about: 'Only this call, such as "POST /v2/queues/{queueName}/pause", or command.',
      },
      { name: 'target', placeholder: '<name>', isList: true, about: 'Only what concerns this, by name or id.' },
      {
        name: 'result',
        placeholder: '<result>',
        isList: true,
        about: 'Only this result: done, refused, a status such as 403, or the code of an error.',
      },
      { name: 'address', placeholder: '<address>', isList: true, about: 'Only calls from this address.' },
      {
        name: 'from',
        placeholder: '<time>',
        kind: 'time',
        about: 'Only calls at this time or later: a date, or how long ago, such as 1h.',
      },
      { name: 'until', placeholder: '<time>', kind: 'time', about: 'Only calls at this time or earlier.' },
      LIMIT_FLAG,
      {
        name: 'follow',
        short: 'f',
        not: ['limit', 'until'],
        about: 'Print new entries as they come, until Ctrl-C. With --json, one line each.',
      },
    ],
    scope: 'manage',
    examples: ['postrider audit --target orders', 'postrider audit --all --result refused --from 24h'],
    load: async () => (await import('../commands/machine/audit.ts')).audit,
  },
  {
    name: 'usage',
    summary: 'show how many messages the account made on each day',
    flags: [
      { name: 'from-day', placeholder: '<day>', about: 'First day, such as 2026-01-31. Default: 30 days back.' },
      { name: 'to-day', placeholder: '<day>', about: 'Last day. Default: today.' },
    ],
    scope: 'read',
    load: async () => (await import('../commands/machine/keys.ts')).usage,
  },
];
