// A few nodes over a database of their own, as real processes, for tests in which nothing goes wrong.

import assert from 'node:assert/strict';
import { sharedServer } from '../postgres/server.ts';
import { type Answered, ask } from '../support/client.ts';
import { type Process, startProcess } from '../support/process.ts';
import type { Cleanup } from '../support/receiver.ts';
import { StoreTables } from './store-tables.ts';

const SERVE = ['serve', '--json', '--port', '0', '--host', '127.0.0.1', '--allow-cidr', '127.0.0.0/8'];

export interface PostOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export class Node {
  readonly api: string;
  readonly process: Process;
  readonly #authorization: { readonly Authorization: string };

  constructor(started: Process, api: string, token: string) {
    this.process = started;
    this.api = api;
    this.#authorization = { Authorization: `Bearer ${token}` };
  }

  get authorization(): Readonly<Record<string, string>> {
    return this.#authorization;
  }

  call(method: string, path: string, { headers = {}, body }: PostOptions = {}): Promise<Answered> {
    const asked = { method, headers: { ...this.#authorization, ...headers }, ...(body !== undefined && { body }) };
    return ask(this.api, path, asked);
  }

  /** Must be accepted; answers its id. */
  async published(destination: string, options: PostOptions = {}): Promise<string> {
    const answer = await this.call('POST', `/v2/publish/${destination}`, options);
    assert.equal(answer.status, 201, answer.text);
    return answer.json<{ messageId: string }>().messageId;
  }
}

export class Nodes {
  readonly tables: StoreTables;
  readonly #t: Cleanup;
  readonly #url: string;
  readonly #env: Readonly<Record<string, string>>;
  #token: string | null = null;

  constructor(t: Cleanup, url: string, env: Readonly<Record<string, string>> = {}) {
    this.#t = t;
    this.#env = env;
    this.#url = url;
    this.tables = new StoreTables(url);
  }

  static async onNewDatabase(t: Cleanup, env: Readonly<Record<string, string>> = {}): Promise<Nodes> {
    const server = await sharedServer();
    const name = await server.createDatabase();
    t.after(() => server.dropDatabase(name));
    return new Nodes(t, server.url(name), env);
  }

  /** One after the other: the first one is told the token. */
  async start(count: number, ...flags: string[]): Promise<Node[]> {
    const nodes: Node[] = [];
    for (let number = 0; number < count; number += 1) nodes.push(await this.startOne({}, ...flags));
    return nodes;
  }

  startOne(env: Readonly<Record<string, string>>, ...flags: string[]): Promise<Node> {
    return this.#start(env, flags);
  }

  /** Of another version of the program. */
  startFrom(bin: string): Promise<Node> {
    return this.#start({}, [], bin);
  }

  async #start(env: Readonly<Record<string, string>>, flags: readonly string[], bin?: string): Promise<Node> {
    const args = [...SERVE, '--log-level', 'error', '--store', this.#url, ...flags];
    const started = startProcess(this.#t, args, { ...this.#env, ...env }, bin);
    const { api, token } = await started.ready();
    this.#token ??= token ?? null;
    return new Node(started, api, this.#token!);
  }
}
