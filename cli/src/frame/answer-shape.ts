// Whether an answer is one of this API. Anything may listen at an address and answer with JSON: then the command says so,
// and neither prints it as an answer nor stumbles over it.

import type { Client } from 'postrider-sdk';
import { NotPostriderResponse } from './failure.ts';

type Answers = { readonly [K in keyof Client]: Client[K] extends (...args: never[]) => Promise<infer T> ? T : never };
type Entry<T> = T extends readonly (infer E)[] ? E : T;
type Field<T> = T extends unknown ? keyof Entry<T> & string : never;

/** The fields that every answer to a call has; for a list, those of each entry. */
interface Shape<T> {
  readonly isList: boolean;
  readonly fields: readonly Field<T>[];
}

const each = <T>(...fields: Field<T>[]): Shape<T> => ({ isList: true, fields });
const one = <T>(...fields: Field<T>[]): Shape<T> => ({ isList: false, fields });

/** Of the calls that commands make. Those that answer with an empty object are not here. */
const SHAPES: { readonly [K in keyof Answers]?: Shape<Answers[K]> } = {
  getMessage: one('messageId', 'state', 'url', 'header', 'attempts'),
  whyNotDelivered: one('reason', 'text'),
  listMessages: one('messages'),
  countMessages: one('states'),
  cancelMessage: one('cancelled'),
  releaseMessage: one('released'),
  deliverNow: one('messageId'),
  listQueues: each('name', 'parallelism', 'lag'),
  getQueue: one('name', 'parallelism', 'lag'),
  saveQueue: one('name', 'parallelism', 'lag'),
  pauseQueue: one('name', 'parallelism', 'lag'),
  resumeQueue: one('name', 'parallelism', 'lag'),
  listTopics: each('name', 'endpoints'),
  getTopic: one('name', 'endpoints'),
  addEndpoints: one('name', 'endpoints'),
  changeTopic: one('name', 'endpoints'),
  listSchedules: each('scheduleId', 'cron', 'destination'),
  getSchedule: one('scheduleId', 'cron', 'destination'),
  runSchedule: each('messageId', 'url'),
  cronTimes: one('times'),
  listAlerts: each('alertId', 'rule', 'target', 'state'),
  getAlert: one('alertId', 'rule', 'target', 'state'),
  createAlert: one('alertId', 'rule', 'target', 'state'),
  saveAlert: one('alertId', 'rule', 'target', 'state'),
  testAlert: one('messageId', 'url'),
  listDeadLetters: one('messages'),
  failureGroups: one('groups'),
  getDeadLetter: one('dlqId', 'messageId', 'url'),
  retryDeadLetter: one('messageId'),
  deleteDeadLetter: one('deleted'),
  countBulk: one('matched'),
  startBulk: one('jobId', 'state', 'done', 'matched'),
  getBulk: one('jobId', 'state', 'done', 'matched'),
  listFlowKeys: each('flowControlKey', 'rateMax', 'parallelismMax'),
  getFlowKey: one('flowControlKey', 'rateMax', 'parallelismMax'),
  pauseFlowKey: one('flowControlKey', 'rateMax', 'parallelismMax'),
  resumeFlowKey: one('flowControlKey', 'rateMax', 'parallelismMax'),
  pinFlowKey: one('flowControlKey', 'rateMax', 'parallelismMax'),
  unpinFlowKey: one('flowControlKey', 'rateMax', 'parallelismMax'),
  resetFlowRate: one('flowControlKey', 'rateMax', 'parallelismMax'),
  listEvents: one('events'),
  overview: one('now'),
  getAccount: one('accountId', 'name', 'token', 'service', 'limits'),
  getKeys: one('current', 'next'),
  rotateKeys: one('current', 'next'),
  usage: one('usage', 'fromDay', 'toDay'),
  listAccounts: one('accounts'),
  createAccount: one('id', 'name', 'tier'),
  setTier: one('id', 'name', 'tier'),
  setSuspended: one('id', 'name', 'tier'),
  listTokens: one('tokens'),
  createToken: one('tokenId', 'token', 'scopes'),
};

const isRecord = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const hasAll = (value: unknown, fields: readonly string[]) =>
  isRecord(value) && fields.every((field) => Object.hasOwn(value, field));

/** Calls whose answers are checked where they are made. */
const isUnlisted = (name: string) => name === 'send' || name === 'batch';

/** The same client, with a `NotPostriderResponse` in place of an answer that none of our services gives. */
export function checkedClient(client: Client, url: string): Client {
  const shapes: ReadonlyMap<string, { readonly isList: boolean; readonly fields: readonly string[] }> = new Map(
    Object.entries(SHAPES),
  );
  const wrapped = Object.entries(client).map(([name, call]) => {
    if (name === 'stream') return [name, call] as const;
    const checked = async (...args: unknown[]) => {
      const answer = await answerOf(() => (call as (...args: unknown[]) => Promise<unknown>)(...args), url);
      const { isList, fields } = shapes.get(name) ?? { isList: false, fields: [] };
      const isOurs = isList
        ? Array.isArray(answer) && answer.every((entry) => hasAll(entry, fields))
        : hasAll(answer, fields) || (fields.length === 0 && isUnlisted(name));
      if (!isOurs) throw foreignJson(url);
      return answer;
    };
    return [name, checked] as const;
  });
  return Object.fromEntries(wrapped) as unknown as Client;
}

/** The client itself reads the pages of a list. */
async function answerOf(call: () => Promise<unknown>, url: string): Promise<unknown> {
  try {
    return await call();
  } catch (error) {
    if (error instanceof TypeError) throw foreignJson(url);
    throw error;
  }
}

function foreignJson(url: string): NotPostriderResponse {
  return new NotPostriderResponse(
    `${url} answered with JSON, but not with that of Postrider`,
    'Something else listens at this address. Check --url and its path.',
  );
}

/** What a publish answers: one message, or one for each endpoint of a topic. */
export function requirePublished(answer: unknown, url: string): void {
  const all: readonly unknown[] = Array.isArray(answer) ? answer : [answer];
  const isOurs = all.length > 0 && all.every((entry) => hasAll(entry, ['messageId', 'url']));
  if (!isOurs) throw foreignJson(url);
}

/** What a batch answers: for each element its message, its messages, or why it was refused. */
export function requireBatch(answer: unknown, count: number, url: string): void {
  const isResult = (entry: unknown) => Array.isArray(entry) || hasAll(entry, ['messageId']) || hasAll(entry, ['error']);
  if (!Array.isArray(answer) || answer.length !== count || !answer.every(isResult)) throw foreignJson(url);
}

export function requireFields(answer: unknown, fields: readonly string[], url: string): void {
  if (!hasAll(answer, fields)) throw foreignJson(url);
}
