// Accounts with their tiers and tokens, for administrators. A token's text is shown once, when it is made.

import { useQuery } from '@tanstack/react-query';
import { type Account, calls, type Scope, type Token } from 'postrider-sdk';
import { useState } from 'react';
import { useClient, useSession } from '../base/session.ts';
import { ActionButton, useAction } from '../ui/action.tsx';
import { Code } from '../ui/code.tsx';
import { ConfirmButton } from '../ui/confirm.tsx';
import { Icon } from '../ui/icon.tsx';
import { ResponseState, Section } from '../ui/page.tsx';
import { Ago, useNow } from '../ui/time.tsx';

const SCOPES: readonly (readonly [Scope, string])[] = [
  ['publish', 'send messages'],
  ['read', 'read everything in the account'],
  ['manage', 'change queues, topics, schedules; retry, cancel, delete'],
  ['admin', 'create accounts and tokens'],
];

export function Accounts() {
  const client = useClient();
  const { account: own } = useSession();
  const { data, error } = useQuery({ queryKey: ['accounts'], queryFn: () => client.listAccounts() });
  const [chosen, setChosen] = useState(own.accountId);
  const [name, setName] = useState('');
  const account = data?.accounts.find(({ id }) => id === chosen);
  return (
    <Section title="Accounts and tokens">
      <ResponseState data={data} error={error} />
      <div className="card">
        <div className="flex flex-wrap items-end gap-3 border-b border-line px-4 py-3">
          <label className="block">
            <span className="label">Account</span>
            <select className="input w-56" value={chosen} onChange={(event) => setChosen(event.target.value)}>
              {data?.accounts.map(({ id, name: each, deletingSince }) => (
                <option key={id} value={id}>
                  {each}
                  {deletingSince !== undefined && ' (being deleted)'}
                </option>
              ))}
            </select>
          </label>
          {account && <Changes account={account} />}
          <span className="grow" />
          <label className="block">
            <span className="label">New account</span>
            <input
              className="input w-40"
              placeholder="name"
              value={name}
              onChange={(event) => setName(event.target.value)}
            />
          </label>
          <ActionButton
            call={() => calls.createAccount({ name: name.trim() })}
            scope="admin"
            isDisabled={name.trim() === ''}
            done={(made) => `Account “${made.name}” is created`}
            onDone={(made) => {
              setName('');
              setChosen(made.id);
            }}
          >
            Create account
          </ActionButton>
        </div>
        {account && account.deletingSince === undefined && <Tokens key={account.id} account={account} />}
      </div>
    </Section>
  );
}

function Changes({ account }: { readonly account: Account }) {
  const { account: own } = useSession();
  if (account.deletingSince !== undefined) {
    return (
      <p className="self-center text-sm text-ink-2">
        being deleted since <Ago at={account.deletingSince} />
      </p>
    );
  }
  return (
    <>
      <Tier account={account} />
      <Suspension account={account} />
      {account.id !== own.accountId && <Deletion account={account} />}
    </>
  );
}

function Deletion({ account }: { readonly account: Account }) {
  return (
    <ConfirmButton
      title={`Delete the account “${account.name}”?`}
      verb="Delete it"
      typed={account.name}
      scope="admin"
      call={calls.deleteAccount(account.id, account.name)}
      button="Delete account"
      done={`Account “${account.name}” is being deleted`}
    >
      <p>
        Its tokens stop working at once, and none of its messages starts any more. All that it has is deleted: messages,
        queues, topics, schedules, alerts and tokens. This cannot be undone.
      </p>
    </ConfirmButton>
  );
}

function Tier({ account }: { readonly account: Account }) {
  const action = useAction<Account>({ done: ({ name, tier }) => `Account “${name}” is on the ${tier} tier` });
  return (
    <label className="block">
      <span className="label">Tier</span>
      <select
        className="input w-28"
        value={account.tier}
        onChange={(event) => action.mutate(calls.setTier(account.id, event.target.value))}
      >
        <option value="free">free</option>
        <option value="paid">paid</option>
      </select>
    </label>
  );
}

function Suspension({ account }: { readonly account: Account }) {
  if (account.suspendedAt !== undefined) {
    return (
      <ActionButton
        call={() => calls.setSuspended(account.id, false)}
        scope="admin"
        done={({ name }) => `Account “${name}” is resumed`}
      >
        Resume account
      </ActionButton>
    );
  }
  return (
    <ConfirmButton
      title={`Suspend the account “${account.name}”?`}
      verb="Suspend"
      call={calls.setSuspended(account.id, true)}
      button="Suspend account"
      done={`Account “${account.name}” is suspended`}
    >
      <p>The account can publish nothing, and its messages wait until it is resumed. Attempts in flight finish.</p>
    </ConfirmButton>
  );
}

function Tokens({ account }: { readonly account: Account }) {
  const client = useClient();
  const { account: own } = useSession();
  const { data, error } = useQuery({ queryKey: ['tokens', account.id], queryFn: () => client.listTokens(account.id) });
  const tokens = (data?.tokens ?? []).filter(({ revokedAt }) => revokedAt === undefined);
  return (
    <>
      {(error || !data) && (
        <div className="px-4 py-2.5">
          <ResponseState data={data} error={error} />
        </div>
      )}
      <ul className="divide-y divide-line">
        {tokens.map((token) => (
          <li key={token.tokenId} className="flex flex-wrap items-center gap-x-4 gap-y-1 px-4 py-2.5">
            <span className="min-w-28 grow text-sm font-medium">
              {token.name}
              {token.tokenId === own.token.tokenId && (
                <span className="ml-2 text-xs font-normal text-ink-3">this session</span>
              )}
            </span>
            <span className="flex flex-wrap gap-1">
              {token.scopes.map((scope) => (
                <span key={scope} className="chip">
                  {scope}
                </span>
              ))}
            </span>
            <Limits token={token} />
            <span className="w-36 text-right text-xs text-ink-3">
              {token.lastUsedAt === undefined ? (
                'never used'
              ) : (
                <>
                  used <Ago at={token.lastUsedAt} />
                </>
              )}
            </span>
            <ConfirmButton
              title={`Revoke token “${token.name}”?`}
              verb="Revoke it"
              scope="admin"
              call={calls.revokeToken(account.id, token.tokenId)}
              className="btn btn-quiet btn-small"
              icon="trash"
              label={`Revoke ${token.name}`}
              done="The token is revoked"
            >
              <p>
                From now on, requests with this token are refused.{' '}
                {token.tokenId === own.token.tokenId && 'You are signed in with it and will be signed out.'}
              </p>
            </ConfirmButton>
          </li>
        ))}
      </ul>
      <NewToken account={account} />
    </>
  );
}

function Limits({ token: { expiresAt, addresses } }: { readonly token: Token }) {
  const now = useNow();
  return (
    <>
      {addresses !== undefined && (
        <span className="text-xs text-ink-3" title={addresses.join('\n')}>
          from {addresses[0]}
          {addresses.length > 1 && ` and ${addresses.length - 1} more`}
        </span>
      )}
      {expiresAt !== undefined && (
        <span className={`text-xs ${expiresAt <= now ? 'text-failed' : 'text-ink-3'}`}>
          {expiresAt <= now ? 'expired' : 'expires'} <Ago at={expiresAt} />
        </span>
      )}
    </>
  );
}

const LIVES: readonly (readonly [expiresIn: string, text: string])[] = [
  ['', 'never'],
  ['7d', 'in 7 days'],
  ['30d', 'in 30 days'],
  ['90d', 'in 90 days'],
  ['365d', 'in a year'],
];

/** Both as they are typed. */
interface GivenLimits {
  readonly expiresIn: string;
  readonly addresses: string;
}

const NO_LIMITS: GivenLimits = { expiresIn: '', addresses: '' };

function limitsOf({ expiresIn, addresses }: GivenLimits) {
  const ranges = addresses.split(/[\s,]+/).filter((range) => range !== '');
  return { ...(expiresIn !== '' && { expiresIn }), ...(ranges.length > 0 && { addresses: ranges }) };
}

interface LimitFieldsProps {
  readonly given: GivenLimits;
  readonly onChange: (given: GivenLimits) => void;
}

function LimitFields({ given, onChange }: LimitFieldsProps) {
  return (
    <>
      <label className="block">
        <span className="label">Expires</span>
        <select
          className="input w-28"
          value={given.expiresIn}
          onChange={(event) => onChange({ ...given, expiresIn: event.target.value })}
        >
          {LIVES.map(([expiresIn, text]) => (
            <option key={expiresIn} value={expiresIn}>
              {text}
            </option>
          ))}
        </select>
      </label>
      <label className="block" title="CIDR ranges from which the token may be used, separated by blanks">
        <span className="label">Allowed addresses</span>
        <input
          className="input w-44"
          placeholder="everywhere"
          value={given.addresses}
          onChange={(event) => onChange({ ...given, addresses: event.target.value })}
        />
      </label>
    </>
  );
}

function NewToken({ account }: { readonly account: Account }) {
  const [name, setName] = useState('');
  const [limits, setLimits] = useState(NO_LIMITS);
  const [scopes, setScopes] = useState<readonly Scope[]>(['publish']);
  const [made, setMade] = useState<(Token & { readonly token: string }) | null>(null);
  return (
    <div className="space-y-3 border-t border-line px-4 py-3">
      <div className="flex flex-wrap items-end gap-x-4 gap-y-3">
        <label className="block">
          <span className="label">New token</span>
          <input
            className="input w-40"
            placeholder="name"
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
        </label>
        <fieldset className="flex h-8 flex-wrap items-center gap-x-4">
          <legend className="sr-only">Scopes</legend>
          {SCOPES.map(([scope, help]) => (
            <label key={scope} className="flex items-center gap-1.5 text-sm" title={help}>
              <input
                type="checkbox"
                className="size-4 accent-accent"
                checked={scopes.includes(scope)}
                onChange={(event) =>
                  setScopes(event.target.checked ? [...scopes, scope] : scopes.filter((each) => each !== scope))
                }
              />
              {scope}
            </label>
          ))}
        </fieldset>
        <LimitFields given={limits} onChange={setLimits} />
        <span className="grow" />
        <ActionButton
          call={() => calls.createToken({ accountId: account.id, name: name.trim(), scopes, ...limitsOf(limits) })}
          scope="admin"
          isDisabled={name.trim() === '' || scopes.length === 0}
          onDone={(token) => {
            setMade(token);
            setName('');
            setLimits(NO_LIMITS);
          }}
        >
          <Icon name="plus" className="size-3.5" />
          Create token
        </ActionButton>
      </div>
      {made && (
        <div className="appear rounded-md bg-delivered-soft p-3">
          <p className="mb-2 text-sm">
            <strong>{made.name}</strong> is created. Copy it now: it is shown only once.
          </p>
          <Code text={made.token} label="the token" />
        </div>
      )}
    </div>
  );
}
