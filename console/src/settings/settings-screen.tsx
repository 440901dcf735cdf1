// Settings: tokens, accounts and tiers, usage, signing keys, limits, and facts about this service.

import { useQuery } from '@tanstack/react-query';
import { calls, type OwnAccount } from 'postrider-sdk';
import { useState } from 'react';
import { API_URL } from '../base/address.ts';
import { useClient, useHasScope, useSession } from '../base/session.ts';
import { sizeText } from '../parts/payload.tsx';
import { ActionButton } from '../ui/action.tsx';
import { ConfirmButton } from '../ui/confirm.tsx';
import { CopyButton } from '../ui/copy.tsx';
import { PageBody, PageHead, ResponseState, Section } from '../ui/page.tsx';
import { durationText } from '../ui/time.tsx';
import { Accounts } from './accounts.tsx';
import { Usage } from './usage.tsx';

export function SettingsScreen() {
  const isAdmin = useHasScope('admin');
  const isManager = useHasScope('manage');
  return (
    <>
      <PageHead title="Settings" />
      <PageBody>
        <Usage />
        {isManager ? (
          <Keys />
        ) : (
          <Section title="Signing keys">
            <p className="text-sm text-ink-3">To see and rotate them you need a token with the scope “manage”.</p>
          </Section>
        )}
        {isAdmin ? (
          <Accounts />
        ) : (
          <Section title="Accounts and tokens">
            <p className="text-sm text-ink-3">To see and create them you need a token with the scope “admin”.</p>
          </Section>
        )}
        <Outage />
        <Limits />
        <About />
      </PageBody>
    </>
  );
}

function Keys() {
  const client = useClient();
  const { data: keys, error } = useQuery({ queryKey: ['keys'], queryFn: () => client.getKeys() });
  return (
    <Section title="Signing keys">
      <ResponseState data={keys} error={error} />
      {keys && (
        <div className="card divide-y divide-line">
          {(['current', 'next'] as const).map((which) => (
            <div key={which} className="flex items-center gap-3 px-4 py-2">
              <span className="w-16 text-xs text-ink-3">{which}</span>
              <code className="mono min-w-0 grow truncate">{`${keys[which].slice(0, 8)}${'•'.repeat(16)}`}</code>
              <CopyButton text={keys[which]} label={`the ${which} key`} />
            </div>
          ))}
          <div className="flex flex-wrap items-center gap-3 px-4 py-3">
            <p className="min-w-48 grow text-xs text-ink-3">
              Every delivery is signed with the current key. A receiver that accepts both keys does not notice a
              rotation.
            </p>
            <ConfirmButton
              title="Rotate the signing keys?"
              verb="Rotate"
              call={calls.rotateKeys()}
              button="Rotate keys"
              done="The next key is now the current one"
            >
              <p>
                The next key becomes the current key, and a new next key is created. Receivers that know only the old
                key will refuse deliveries.
              </p>
            </ConfirmButton>
          </div>
        </div>
      )}
    </Section>
  );
}

/** What messages of the account that say nothing themselves do while their host is down. */
function Outage() {
  const client = useClient();
  const { data: account, error } = useQuery({ queryKey: ['account'], queryFn: () => client.getAccount() });
  const [chosen, setChosen] = useState<OwnAccount['outage'] | null>(null);
  return (
    <Section title="While a host is down">
      <ResponseState data={account} error={error} />
      {account && (
        <div className="card flex flex-wrap items-center gap-3 px-4 py-3">
          <p className="min-w-48 grow basis-0 text-xs text-ink-3">
            For messages that say nothing themselves and come from now on: use up their retries, or wait until the host
            is back.
          </p>
          <select
            className="input w-auto"
            aria-label="Outage of the account"
            value={chosen ?? account.outage}
            onChange={(event) => setChosen(event.target.value as OwnAccount['outage'])}
          >
            <option value="retry">retry</option>
            <option value="park">park</option>
          </select>
          <ActionButton
            call={() => calls.setOutage(chosen ?? account.outage)}
            isDisabled={chosen === null || chosen === account.outage}
            done={(saved) => `While a host is down, messages ${saved.outage}`}
            onDone={() => setChosen(null)}
          >
            Set
          </ActionButton>
        </div>
      )}
    </Section>
  );
}

const LIMITS: ReadonlyMap<string, string> = new Map([
  ['retriesDefault', 'Default retries'],
  ['retriesMax', 'Maximum retries'],
  ['retryDelayMsMin', 'Shortest wait before a retry'],
  ['bodyBytesMax', 'Largest body'],
  ['delayMsMax', 'Longest delay'],
  ['timeoutMsDefault', 'Default timeout of an attempt'],
  ['timeoutMsMax', 'Longest timeout'],
  ['awaitAckMsMax', 'Longest wait for an ack'],
  ['endpointsPerTopicMax', 'Endpoints per topic'],
  ['topicsMax', 'Topics'],
  ['queuesMax', 'Queues'],
  ['schedulesMax', 'Schedules'],
  ['messagesPerDayMax', 'Messages per day'],
  ['storedBytesMax', 'Stored bytes'],
  ['retentionMs', 'Retention of ended messages'],
]);

function limitText(name: string, value: number | null): string {
  if (value === null) return 'unlimited';
  if (name.includes('Bytes')) return sizeText(value);
  if (name.includes('Ms')) return durationText(value);
  return value.toLocaleString('en');
}

function Limits() {
  const { account } = useSession();
  return (
    <Section title={`Limits of the ${account.tier} tier`}>
      <div className="card px-4 py-2">
        <dl className="grid gap-x-8 sm:grid-cols-2">
          {Object.entries(account.limits).map(([name, value]) => (
            <div key={name} className="flex justify-between gap-4 py-1.5 text-sm">
              <dt className="text-ink-3">{LIMITS.get(name) ?? name}</dt>
              <dd className="num font-medium">{limitText(name, value)}</dd>
            </div>
          ))}
        </dl>
        <Stored />
      </div>
    </Section>
  );
}

/** How many bytes the account stores, beside the limit of its tier. */
function Stored() {
  const client = useClient();
  const { data, error } = useQuery({ queryKey: ['usage'], queryFn: () => client.usage() });
  if (!data) return <ResponseState data={data} error={error} />;
  const { storedBytes, storedBytesMax } = data;
  return (
    <div className="flex flex-wrap items-center gap-x-4 gap-y-1 border-t border-line py-2 text-sm">
      <span className="text-ink-3">Stored now</span>
      <span className="num font-medium">
        {sizeText(storedBytes)} of {storedBytesMax === undefined ? 'unlimited' : sizeText(storedBytesMax)}
      </span>
      {storedBytesMax !== undefined && (
        <progress
          className="h-2 grow"
          aria-label="Stored bytes"
          value={storedBytes}
          max={Math.max(1, storedBytesMax)}
        />
      )}
    </div>
  );
}

function About() {
  const { account } = useSession();
  const { version, headerPrefix, isDev } = account.service;
  const facts = [
    ['Version', version],
    ['API', API_URL],
    ['Header prefix', headerPrefix],
    ['Mode', isDev ? 'development' : 'production'],
    ['Account', account.accountId],
    ['Signed in with', `${account.token.name} (${account.token.scopes.join(', ')})`],
  ];
  return (
    <Section title="About">
      <dl className="card px-4 py-2">
        {facts.map(([name, value]) => (
          <div key={name} className="flex gap-4 py-1.5 text-sm">
            <dt className="w-32 shrink-0 text-ink-3">{name}</dt>
            <dd className="mono min-w-0 break-all">{value}</dd>
          </div>
        ))}
        <div className="flex gap-4 py-1.5 text-sm">
          <dt className="w-32 shrink-0 text-ink-3">Documentation</dt>
          <dd className="flex gap-4">
            <a className="link" href={`${API_URL}/docs`} target="_blank" rel="noreferrer">
              API
            </a>
            <a className="link" href={`${API_URL}/openapi.json`} target="_blank" rel="noreferrer">
              OpenAPI
            </a>
            <a className="link" href={`${API_URL}/metrics`} target="_blank" rel="noreferrer">
              Metrics
            </a>
          </dd>
        </div>
      </dl>
      {isDev && (
        <p className="mt-3 text-xs text-ink-3">
          In production, start the service with <code className="mono text-ink-2">postrider serve</code>. It keeps its
          data elsewhere, refuses deliveries to private addresses, and prints an admin token on its first start.
        </p>
      )}
    </Section>
  );
}
