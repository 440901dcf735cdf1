// A service in a process of its own, with an account that attacks and another that must not feel it: what is measured
// from outside is the process that people run.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { type Answered, type Asked, ask } from '../../support/client.ts';
import { temporaryFolder } from '../../support/harness.ts';
import { type Process, startProcess } from '../../support/process.ts';
import { type Cleanup, type Receiver, startReceiver } from '../../support/receiver.ts';

export class Child {
  readonly process: Process;
  readonly url: string;
  /** Of the account that may do everything. */
  readonly token: string;
  readonly receiver: Receiver;
  readonly data: string;
  readonly #agent = new Agent({ keepAlive: true });

  constructor(process: Process, url: string, token: string, receiver: Receiver, data: string) {
    this.process = process;
    this.url = url;
    this.token = token;
    this.receiver = receiver;
    this.data = data;
  }

  get pid(): number {
    return this.process.child.pid!;
  }

  get isRunning(): boolean {
    return this.process.child.exitCode === null && this.process.child.signalCode === null;
  }

  call(method: string, path: string, token = this.token, asked: Asked = {}): Promise<Answered> {
    const headers = { Authorization: `Bearer ${token}`, ...asked.headers };
    return ask(this.url, path, { ...asked, method, headers }, this.#agent);
  }

  async json<T>(method: string, path: string, body?: unknown, token = this.token): Promise<T> {
    const answer = await this.call(method, path, token, body === undefined ? {} : { body: JSON.stringify(body) });
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${answer.text}`);
    return answer.json<T>();
  }

  /** The token of an account of its own. */
  async account(name: string): Promise<string> {
    const { id } = await this.json<{ id: string }>('POST', '/v2/admin/accounts', { name });
    const scopes = ['publish', 'read', 'manage'];
    return (await this.json<{ token: string }>('POST', '/v2/admin/tokens', { accountId: id, name, scopes })).token;
  }

  /** Publishes as this account and waits until the message has arrived. */
  async delivers(token: string): Promise<void> {
    const before = this.receiver.arrivals.length;
    const answer = await this.call('POST', `/v2/publish/${this.receiver.url}/delivered`, token, { body: 'x' });
    assert.equal(answer.status, 201, answer.text);
    const { messageId } = answer.json<{ messageId: string }>();
    for (let count = before + 1; ; count += 1) {
      const arrivals = await this.receiver.received(count);
      if (arrivals.some((arrival) => arrival.header('service-message-id') === messageId)) return;
    }
  }

  /** Its resident memory now, in bytes, or the most it ever was. Linux says it; elsewhere it is not measured. */
  residentBytes(what: 'now' | 'peak' = 'now'): number {
    const status = readFileSync(`/proc/${this.pid}/status`, 'utf8');
    const line = what === 'now' ? /^VmRSS:\s+(\d+) kB$/m : /^VmHWM:\s+(\d+) kB$/m;
    return Number(line.exec(status)![1]) * 1024;
  }

  close(): void {
    this.#agent.destroy();
  }
}

export async function startChild(
  t: Cleanup,
  flags: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
  bin?: string,
): Promise<Child> {
  const receiver = await startReceiver(t);
  const data = temporaryFolder(t);
  const args = ['serve', '--json', '--host', '127.0.0.1', '--port', '0', '--data', data, '--log-level', 'error'];
  const process = startProcess(t, [...args, '--allow-cidr', '127.0.0.0/8', ...flags], env, bin);
  const { api, token } = await process.ready();
  const child = new Child(process, api, token!, receiver, data);
  t.after(() => child.close());
  return child;
}
