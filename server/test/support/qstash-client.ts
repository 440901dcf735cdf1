// A real server under the prefix of the public QStash clients, and the public client itself, unmodified. Each test has
// an account of its own on the server of its file, so that "all" means all of its own.

import assert from 'node:assert/strict';
import { after, mock } from 'node:test';
import { Client, type Log, type State } from '@upstash/qstash';
import { rewriteQstashRequest } from '../../src/inbound/publish/qstash-request.ts';
import { type Answered, type Asked, ask } from './client.ts';
import { Contract } from './contract.ts';
import { startInRealTime } from './harness.ts';
import type { Cleanup } from './receiver.ts';
import { waitFor } from './wait.ts';

export interface Oracle {
  readonly url: string;
  /** The token that the server printed. */
  readonly token: string;
  /** A client for an account that nobody else has. */
  account(): Promise<OracleAccount>;
}

export interface OracleAccount {
  readonly token: string;
  readonly client: Client;
  /** What the client has no method for. */
  ask(method: string, path: string, asked?: Asked): Promise<Answered>;
  /** The log of a message, oldest first, once it holds this state. */
  logOf(messageId: string, state: State): Promise<Log[]>;
}

/** One for a file; it ends with the file. */
export async function startOracle(): Promise<Oracle> {
  const ends: (() => void | Promise<void>)[] = [];
  let finish = () => {};
  const cleanup: Cleanup = { after: (end) => ends.unshift(end) };
  after(async () => {
    for (const end of ends) await end();
    finish();
  });
  const flags = ['--header-prefix', 'Upstash-', '--drain', '100ms'];
  const { url: api, token } = await startInRealTime(cleanup, { command: 'dev', flags });
  assert.ok(token);
  const check = await checkOf(api);
  finish = checkFetch(api, check);
  let accounts = 0;
  return {
    url: api,
    token,
    account: async () => {
      accounts += 1;
      const made = await created<{ id: string }>(api, token, 'accounts', { name: `oracle-${accounts}` });
      const scopes = ['publish', 'read', 'manage'];
      const own = await created<{ token: string }>(api, token, 'tokens', { accountId: made.id, name: 'test', scopes });
      const account = accountOf(api, own.token);
      return {
        ...account,
        ask: async (method, path, asked) => {
          const answer = await account.ask(method, path, asked);
          check(method, path, answer);
          return answer;
        },
      };
    },
  };
}

type Check = (method: string, target: string, answer: Answered) => void;

/** Throws when an answer of this server is not in its OpenAPI document. */
async function checkOf(url: string): Promise<Check> {
  const document = (await ask(url, '/openapi.json', {})).json<ConstructorParameters<typeof Contract>[0]>();
  const contract = new Contract(document);
  return (method, target, answer) => {
    // As the service reads it: the client may write a path in another case, or with a slash at its end.
    const request = { url: target, method, headers: {} };
    rewriteQstashRequest(request);
    contract.require(method, request.url, answer);
  };
}

/** From now on every answer of this server that the client gets is checked: it has no other way than `fetch`. */
function checkFetch(url: string, check: Check): () => void {
  const { fetch } = globalThis;
  const wrong: unknown[] = [];
  globalThis.fetch = async (input, init) => {
    const response = await fetch(input, init);
    const address = String(input instanceof Request ? input.url : input);
    if (!address.startsWith(url)) return response;
    const text = await response.clone().text();
    const headers = Object.fromEntries(response.headers);
    const answer: Answered = { status: response.status, headers, text, json: <T>() => JSON.parse(text) as T };
    try {
      check(init?.method ?? 'GET', address.slice(url.length), answer);
    } catch (error) {
      // The client may keep it to itself.
      wrong.push(error);
    }
    return response;
  };
  return () => {
    globalThis.fetch = fetch;
    assert.deepEqual(wrong, []);
  };
}

/** As the documentation of the client says, but without its own retries, which would hide what the server does. */
export function accountOf(baseUrl: string, token: string): OracleAccount {
  const client = new Client({ baseUrl, token, retry: { retries: 0 } });
  return {
    token,
    client,
    ask: (method, path, asked = {}) =>
      ask(baseUrl, path, { ...asked, method, headers: { Authorization: `Bearer ${token}`, ...asked.headers } }),
    logOf: (messageId, state) =>
      waitFor(`${state} in the log of ${messageId}`, async () => {
        const { logs } = await client.logs({ filter: { messageId } });
        return logs.some((log) => log.state === state) && logs.reverse();
      }),
  };
}

async function created<T>(url: string, token: string, what: string, body: object): Promise<T> {
  const headers = { Authorization: `Bearer ${token}` };
  const answer = await ask(url, `/v2/admin/${what}`, { method: 'POST', headers, body: JSON.stringify(body) });
  assert.equal(answer.status, 201, answer.text);
  return answer.json<T>();
}

/** Requires that the server refuses the call so, and answers the text. The client also prints each refusal. */
export async function refused(status: number, call: () => Promise<unknown>): Promise<string> {
  const printed = mock.method(console, 'error', () => {});
  try {
    await call();
  } catch (error) {
    const { name, message, status: got } = error as Error & { status?: number };
    assert.equal(name, 'QstashError', message);
    assert.equal(got, status, message);
    return message;
  } finally {
    printed.mock.restore();
  }
  throw new assert.AssertionError({ message: `it was not refused with ${status}` });
}

/** The states of a log, in its order. */
export function states(logs: readonly Log[]): State[] {
  return logs.map(({ state }) => state);
}

/** Nothing answers here, and nothing will: a port that only root may listen on. */
export const DEAD_URL = 'http://127.0.0.1:1/';
