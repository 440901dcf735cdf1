// A real Postrider in development mode on a port of its own, real time and all, and ways to give it traffic.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { type Client, createClient, type Published } from 'postrider-sdk';
import { type Postrider, startPostrider } from '../../server/src/node/main.ts';
import { parseConfig } from '../../server/src/node/settings/config.ts';

export interface Service {
  readonly url: string;
  readonly token: string;
  readonly client: Client;
  /** The console, signed in. */
  readonly link: string;
  readonly sink: (path: string) => string;
  /** Publishes and answers the id. */
  publish(destination: string, some?: Sent): Promise<string>;
  /** Waits until a message has ended and answers its state. */
  ended(messageId: string): Promise<string>;
  close(): Promise<void>;
}

export interface Sent {
  readonly body?: string | Uint8Array;
  readonly contentType?: string;
  readonly queue?: string;
  readonly settings?: Readonly<Record<string, string>>;
}

export interface ServiceOptions {
  /** A directory that outlives the service; a fresh one that goes with it unless given. */
  readonly data?: string;
  /** A free one unless given. */
  readonly port?: string;
  readonly command?: 'dev' | 'serve';
  /** Further ones. */
  readonly flags?: readonly string[];
}

export async function startService({
  data: kept,
  port = '0',
  command = 'dev',
  flags: more = [],
}: ServiceOptions = {}): Promise<Service> {
  const data = kept ?? mkdtempSync(join(tmpdir(), 'postrider-console-'));
  const flags = ['--host', '127.0.0.1', '--port', port, '--data', data, '--log-level', 'silent', ...more];
  const parsed = parseConfig(command, flags, {});
  if (!('config' in parsed)) throw new Error(JSON.stringify(parsed));
  const postrider: Postrider = await startPostrider(parsed.config);
  const token = postrider.token!;
  const { url } = postrider;
  const client = createClient({ baseUrl: url, token });
  return {
    url,
    token,
    client,
    link: `${url}/console#t=${token}`,
    sink: (path) => `${url}/dev/sink/${path}`,
    async publish(destination, { queue, ...request } = {}) {
      const sent = { destination, ...request };
      const answer = queue === undefined ? await client.publish(sent) : await client.enqueue(queue, sent);
      return (Array.isArray(answer) ? answer[0] : (answer as Published)).messageId;
    },
    async ended(messageId) {
      for (;;) {
        const { endedAt, state } = await client.getMessage(messageId);
        if (endedAt !== undefined) return state;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    },
    async close() {
      await postrider.close();
      if (kept === undefined) rmSync(data, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** One service for all tests of a file. */
export function sharedService(): () => Service {
  let service: Service;
  before(async () => {
    service = await startService();
  });
  after(() => service?.close());
  return () => service;
}
