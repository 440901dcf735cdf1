// What is printed when the service is ready: its address, and commands to paste.

import { type Config, TEMPORARY_DATA } from '../../../server/src/node/settings/config.ts';

export function greeting(ready: {
  readonly version: string;
  /** Where the data is. */
  readonly location: string;
  readonly config: Config;
  readonly url: string;
  /** Null when the metrics are on the port of the API. */
  readonly metricsUrl: string | null;
  readonly token: string | null;
  readonly readyMs: number;
}): string {
  const { version, config, url, metricsUrl, token } = ready;
  const isDev = config.command === 'dev';
  const lines = [
    `postrider ${version} · ${config.command} · data in ${ready.location} (${config.data === TEMPORARY_DATA ? 'removed at the end' : 'kept'}) · ready in ${Math.round(ready.readyMs)} ms`,
    `API      ${url}`,
    isDev ? `Console  ${url}/console#t=${token}      opens signed in` : `Console  ${url}/console`,
    `Docs     ${url}/docs`,
    ...(metricsUrl === null ? [] : [`Metrics  ${metricsUrl}`]),
  ];
  if (token !== null) lines.push(`Token    ${token}${isDev ? '' : '      shown only once: store it now'}`);
  if (isDev) {
    lines.push(
      `Try      curl -X POST ${url}/v2/enqueue/hello/${url}/dev/sink/ok \\`,
      `           -H 'Authorization: Bearer ${token}' -H 'Content-Type: application/json' -d '{"hello":"world"}'`,
    );
  }
  if (config.clock === 'manual') {
    lines.push(
      'Clock    is stopped; to move it by an hour, and wait for what becomes due:',
      `           curl -X POST ${url}/v2/dev/clock -H 'Authorization: Bearer ${token}' -d '{"advance":"1h"}'`,
    );
  }
  return `${lines.map((line) => `  ${line}\n`).join('')}`;
}
