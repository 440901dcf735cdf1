// Settings that exclude or need each other. Each alone may be valid.

import type { Scope } from '../../rules/accounts/account.ts';

/** The values that were read. Undefined: the value could not be parsed, and that problem is already reported. */
export interface ReadSettings {
  readonly role?: string;
  readonly store?: string | null;
  readonly lanes?: number | null;
  readonly clock?: string;
  readonly port?: number;
  readonly metricsPort?: number | null;
  readonly allowOrigin?: readonly string[];
  readonly admin?: boolean;
  readonly scope?: readonly Scope[];
}

export function contradictionsOf(command: string, values: ReadSettings): string[] {
  const { role, store, lanes, clock, port, metricsPort, allowOrigin, admin, scope } = values;
  const contradictions: readonly (readonly [isThere: unknown, problem: string])[] = [
    [
      (role === 'api' || role === 'deliver') && store === null,
      '--role api and --role deliver need --store: a data directory has only one node, which does everything',
    ],
    [Number(lanes) > 1 && store !== null, '--lanes is for a data directory: over a database, start more nodes instead'],
    [clock === 'manual' && store !== null, '--clock manual has a store of its own: it cannot be used with --store'],
    [
      typeof metricsPort === 'number' && metricsPort !== 0 && metricsPort === port,
      '--metrics-port must be another port than --port; leave it out for metrics on the port of the API',
    ],
    [
      command === 'dev' && allowOrigin?.includes('*'),
      '--allow-origin * is not for dev: every web page could use its public token; name the origins',
    ],
    [
      command === 'token create' && scope && admin === scope.length > 0,
      'give --admin for a token that may do everything, or --scope with its scopes, but not both',
    ],
    [
      command === 'migrate-store' && store === null,
      '--store is needed: the database to move into, such as postgres://user:password@host:5432/database',
    ],
  ];
  return contradictions.filter(([isThere]) => isThere).map(([, problem]) => problem);
}
