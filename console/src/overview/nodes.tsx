// The nodes of the service, for users who may see them. Shows nothing if the service does not list them.

import { useQuery } from '@tanstack/react-query';
import { PostriderError } from 'postrider-sdk';
import { useClient, useHasScope } from '../base/session.ts';
import { ProblemNotice, Section } from '../ui/page.tsx';
import { Ago } from '../ui/time.tsx';

export function Nodes() {
  const client = useClient();
  const may = useHasScope('admin');
  const { data, error } = useQuery({
    queryKey: ['nodes'],
    queryFn: () => client.listNodes(),
    retry: false,
    enabled: may,
    refetchInterval: ({ state }) => (state.error ? false : 5000),
  });
  const isUnknown = error instanceof PostriderError && error.status === 404;
  if (!data) return <ProblemNotice error={isUnknown ? null : error} />;
  return (
    <Section title={`Nodes · ${data.nodes.filter(({ isAlive }) => isAlive).length} alive`}>
      <ul className="card divide-y divide-line">
        {data.nodes.map(({ id, role, version, address, startedAt, isAlive }) => (
          <li key={id} className="flex flex-wrap items-center gap-x-4 gap-y-1 px-4 py-2.5 text-sm">
            <span
              className={`inline-flex items-center gap-1.5 text-xs font-medium ${isAlive ? 'text-delivered' : 'text-cancelled'}`}
            >
              <span className={`size-2 rounded-full ${isAlive ? 'bg-delivered' : 'bg-cancelled'}`} />
              {isAlive ? 'alive' : 'gone'}
            </span>
            <span className="mono min-w-0 grow truncate">{id}</span>
            <span className="text-xs text-ink-2">{role}</span>
            <span className="mono text-ink-3">{address}</span>
            <span className="mono text-ink-3">{version}</span>
            <span className="text-xs text-ink-3">
              up since <Ago at={startedAt} />
            </span>
          </li>
        ))}
      </ul>
    </Section>
  );
}
