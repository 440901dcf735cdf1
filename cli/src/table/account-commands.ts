// The commands about accounts: tokens and scopes, signing keys, and usage.

import type { FlagSpec } from '../frame/arguments.ts';
import type { CommandSpec } from '../frame/command.ts';
import { YES } from './flags.ts';

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
  about: "Name or id of the account. Default: the token's own; in a store the only one, or the one called default.",
};
const TIER = { name: 'tier', about: 'free or paid', values: ['free', 'paid'] };

const TOKENS: readonly CommandSpec[] = [
  {
    name: 'token list',
    summary: 'list the tokens of an account',
    isDefault: true,
    flags: [ACCOUNT, { name: 'all', about: 'Revoked ones too.' }, ...STORE_FLAGS],
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
      ...STORE_FLAGS,
    ],
    scope: 'admin',
    examples: [
      'postrider token create --admin --data /var/lib/postrider',
      'postrider token create --account shop --scope publish --url https://postrider.example.com',
    ],
    load: async () => (await import('../commands/machine/token.ts')).createToken,
  },
  {
    name: 'token revoke',
    summary: 'revoke a token',
    arguments: [{ name: 'id', about: 'the id of a token, as token list shows it' }],
    flags: [ACCOUNT, ...STORE_FLAGS, YES],
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
    name: 'account list',
    summary: 'list accounts',
    flags: STORE_FLAGS,
    scope: 'admin',
    load: async () => (await import('../commands/machine/token.ts')).listAccounts,
  },
  {
    name: 'account create',
    summary: 'create an account',
    arguments: [{ name: 'name', about: 'its name' }],
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
    arguments: [{ name: 'account', about: 'its name or id' }, TIER],
    flags: STORE_FLAGS,
    scope: 'admin',
    load: async () => (await import('../commands/machine/token.ts')).setTier,
  },
  {
    name: 'account suspend',
    summary: 'suspend an account: it publishes nothing, and its messages wait',
    arguments: [{ name: 'account', about: 'its name or id' }],
    flags: STORE_FLAGS,
    scope: 'admin',
    load: async () => (await import('../commands/machine/token.ts')).suspendAccount,
  },
  {
    name: 'account resume',
    summary: 'resume a suspended account: its messages continue in their order',
    arguments: [{ name: 'account', about: 'its name or id' }],
    flags: STORE_FLAGS,
    scope: 'admin',
    load: async () => (await import('../commands/machine/token.ts')).resumeAccount,
  },
  {
    name: 'account recount',
    summary: 'recount the bytes that accounts store, directly in the store',
    about:
      'Recounts the bytes that each account stores, and corrects the count that its limit uses. Every change updates the count, so it is wrong only after an upgrade during which an older version deleted messages. The service may keep running and is not delayed. In a data directory the log of the service grows during the count. Do not run this command twice at the same time.',
    flags: [{ ...ACCOUNT, about: 'Name or id of the account. Default: all of them.' }, ...STORE_FLAGS],
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
    flags: [YES],
    scope: 'manage',
    load: async () => (await import('../commands/machine/keys.ts')).rotateKeys,
  },
  {
    name: 'usage',
    summary: 'show how many messages the account made on each day',
    flags: [
      { name: 'from-day', placeholder: '<day>', about: 'First day, such as 2026-01-31. Default: 30 days back.' },
      { name: 'to-day', placeholder: '<day>', about: 'Last day.' },
    ],
    scope: 'read',
    load: async () => (await import('../commands/machine/keys.ts')).usage,
  },
];
