// Attacks by one account, made from the OpenAPI document and the table of settings: for every operation the dearest
// request that the document allows, for every setting a batch in which each element has the dearest value of its own.

import { SETTING_TABLE, type Setting } from '../../../src/rules/publish/setting-table.ts';
import type { Document } from '../security/generated-calls.ts';

export interface AttackCall {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface Attack {
  readonly name: string;
  /** It needs a store that holds much of the account's own data, and adds nothing to it. */
  readonly isRead: boolean;
  /** No call is like the one before: nothing may be found in a cache. */
  readonly call: (turn: number) => AttackCall;
}

/** Receivers of the attacker. */
export interface Targets {
  readonly good: string;
  readonly failing: string;
  readonly silent: string;
}

const PREFIX = 'Service-';
const BATCH_ELEMENTS = 500;
const FILTER_VALUES = 100;
const IDS = 5000;
const JSON_TYPE = { 'Content-Type': 'application/json' };

/** They end the access of the attacker, or need rights that no tenant has. */
const LEFT_OUT = /^\/v2\/(admin|dev|keys\/rotate)/;

export function generatedAttacks(document: Document, targets: Targets): Attack[] {
  return [...ofRoutes(document, targets), ...ofSettings(targets), ...ofBodies(targets)];
}

function ofRoutes(document: Document, targets: Targets): Attack[] {
  return Object.entries(document.paths).flatMap(([template, operations]) =>
    LEFT_OUT.test(template)
      ? []
      : Object.entries(operations).flatMap(([method, operation]) => {
          const names = (operation.parameters ?? []).filter(({ in: place }) => place === 'query');
          const isRead = method === 'get';
          const make = (what: string, query: (turn: number) => string): Attack => ({
            name: `${method.toUpperCase()} ${template}${what && ` with ${what}`}`,
            isRead,
            call: (turn) => {
              const search = query(turn);
              const body = bodyOf(method, template, targets, turn);
              return {
                method: method.toUpperCase(),
                path: `${pathOf(template, targets, turn)}${search && `?${search}`}`,
                headers: { ...headersOf(template), ...(body !== undefined && JSON_TYPE) },
                ...(body !== undefined && { body }),
              };
            },
          });
          const base = names.some(({ name }) => name === 'count') ? 'count=1000' : '';
          const needed = template === '/v2/cron' ? `cron=${encodeURIComponent('0 0 29 2 *')}` : base;
          const plain = make('', () => needed);
          if (!isRead) return [plain];
          const each = names
            .filter(({ name }) => name !== 'count' && name !== 'cron')
            .map(({ name }) => make(name, (turn) => [base, worstOf(name, turn)].filter(Boolean).join('&')));
          return [plain, ...each];
        }),
  );
}

/** Names that change with each call: what does not exist yet is the dearest to make, and to look for. */
function pathOf(template: string, { good }: Targets, turn: number): string {
  return template.replace(/\{(\w+)\}/g, (_, name: string) => (name === 'destination' ? good : `${name}-${turn}`));
}

function headersOf(template: string): Readonly<Record<string, string>> {
  if (template.startsWith('/v2/schedules/{destination}')) return { [`${PREFIX}Cron`]: '* * * * *' };
  if (template === '/v2/events/stream') return { 'Last-Event-ID': '0' };
  return {};
}

const THOUSAND = Array.from({ length: 1000 }, (_, index) => index);

/** The largest body that the operation takes; undefined if it takes none. */
function bodyOf(method: string, template: string, { good, failing }: Targets, turn: number): string | undefined {
  if (method === 'get') return undefined;
  if (template === '/v2/batch') {
    return JSON.stringify(THOUSAND.map((index) => ({ destination: good, body: `${turn} ${index}` })));
  }
  if (template === '/v2/bulk') return JSON.stringify({ action: 'cancel', filter: { text: `z${turn}` }, dryRun: true });
  if (template.startsWith('/v2/topics/{name}/endpoints')) {
    return JSON.stringify({ endpoints: THOUSAND.map((index) => ({ url: `${failing}/${turn}/${index}` })) });
  }
  if (template.startsWith('/v2/topics/')) return JSON.stringify({ headers: { [`${PREFIX}Retries`]: '1' } });
  if (template === '/v2/queues') return JSON.stringify({ queueName: `q${turn}`, parallelism: 1 + (turn % 10) });
  if (template.startsWith('/v2/alerts')) {
    return JSON.stringify({ rule: { type: 'failureRate', share: 0.01, window: '1m' }, target: { url: failing } });
  }
  if (method === 'delete' && /^\/v2\/(messages|dlq)$/.test(template)) return JSON.stringify({ text: `z${turn}` });
  if (template === '/v2/dlq/retry') return JSON.stringify({ label: labels(turn) });
  return undefined;
}

function labels(turn: number): string[] {
  return Array.from({ length: FILTER_VALUES }, (_, index) => `l${turn}-${index}`);
}

/** The dearest value of a filter. */
function worstOf(name: string, turn: number): string {
  const now = Date.now();
  if (name === 'messageIds' || name === 'dlqIds') return `${name}=${idList(turn)}`;
  if (name === 'fromDate') return 'fromDate=1';
  if (name === 'toDate') return `toDate=${now}`;
  if (name === 'fromDay') return 'fromDay=2000-01-01';
  if (name === 'toDay') return 'toDay=2100-01-01';
  if (name === 'order') return 'order=earliestFirst';
  if (name === 'state') return 'state=DELIVERED';
  if (name === 'retried') return 'retried=3';
  if (name === 'responseStatus') return 'responseStatus=418';
  if (name === 'failure') return 'failure=timeout';
  if (name === 'text') return `text=${`z${turn}`.padEnd(200, 'z')}`;
  if (name === 'callerIp') return 'callerIp=192.0.2.7';
  if (name === 'label' || name === 'flowControlKey' || name === 'host') {
    return labels(turn)
      .map((value) => `${name}=${value}`)
      .join('&');
  }
  return `${name}=z${turn}`;
}

/** As many as a request line holds. */
function idList(turn: number): string {
  const ids = Array.from({ length: Math.min(IDS, 600) }, (_, index) => `msg_${turn}x${index}`);
  return ids.join(',');
}

/** Each setting in every element of a batch; what names something names something new. */
function ofSettings(targets: Targets): Attack[] {
  return (SETTING_TABLE as readonly Setting[])
    .filter((setting) => setting.of !== 'schedule')
    .map((setting) => ({
      name: `a batch of ${BATCH_ELEMENTS} with ${PREFIX}${setting.name}`,
      isRead: false,
      call: (turn) =>
        batch((index) => ({
          destination: targets.good,
          headers: settingsOf(setting, `${turn}-${index}`, targets),
          ...(setting.name === 'Order-Key' && { queue: 'lines' }),
        })),
    }));
}

function batch(element: (index: number) => unknown, elements = BATCH_ELEMENTS): AttackCall {
  const body = JSON.stringify(Array.from({ length: elements }, (_, index) => element(index)));
  return { method: 'POST', path: '/v2/batch', headers: JSON_TYPE, body };
}

function settingsOf(setting: Setting, unique: string, targets: Targets): Readonly<Record<string, string>> {
  const { name, value } = setting;
  const header = `${PREFIX}${name}`;
  if (name === 'Flow-Control-Key') return { [header]: unique, [`${PREFIX}Flow-Control-Value`]: 'parallelism=1' };
  if (name === 'Flow-Control-Value') {
    return { [`${PREFIX}Flow-Control-Key`]: 'one', [header]: `rate=${1 + (unique.length % 7)},parallelism=1` };
  }
  if (name === 'Retry-Delay') return { [header]: 'pow(retried, 2) * 1000' };
  if (name === 'Redact-Fields') {
    return { [header]: Array.from({ length: 64 }, (_, index) => `header[a${index}]`).join(',') };
  }
  switch (value) {
    case 'count':
      return { [header]: '5' };
    case 'duration':
      return { [header]: '2s' };
    case 'instant':
      return { [header]: String(Math.floor(Date.now() / 1000) + 2) };
    case 'list':
      return { [header]: Array.from({ length: 10 }, (_, index) => `${unique}-${index}`).join(',') };
    case 'flag':
      return { [header]: 'true' };
    case 'method':
      return { [header]: 'PUT' };
    case 'callback':
      return { [header]: targets.failing };
    case 'headers':
      return { [`${header}X-Long`]: 'x'.repeat(8000) };
    default:
      return { [header]: unique };
  }
}

/** What is dear by its size or by its receiver. */
function ofBodies({ good, failing, silent }: Targets): Attack[] {
  const megabyte = 'x'.repeat(1_000_000);
  const publish = (name: string, path: string, headers: Readonly<Record<string, string>>, body = 'x'): Attack => ({
    name,
    isRead: false,
    call: () => ({ method: 'POST', path, headers, body }),
  });
  const retried = { [`${PREFIX}Retries`]: '5', [`${PREFIX}Retry-Delay`]: '0' };
  return [
    publish('bodies of 1 MB', `/v2/publish/${good}`, {}, megabyte),
    publish('bodies of 1 MB, delayed', `/v2/publish/${good}`, { [`${PREFIX}Delay`]: '30d' }, megabyte),
    publish('to a receiver that fails', `/v2/publish/${failing}`, retried),
    publish('to a receiver that is silent', `/v2/publish/${silent}`, { [`${PREFIX}Timeout`]: '15m' }),
    publish('callbacks to a receiver that fails', `/v2/publish/${failing}`, {
      ...retried,
      [`${PREFIX}Callback`]: failing,
      [`${PREFIX}Failure-Callback`]: failing,
    }),
    {
      name: 'a batch of 500 into 500 new queues',
      isRead: false,
      call: (turn) => batch((index) => ({ destination: good, queue: `q${turn}-${index}` })),
    },
    {
      name: 'a batch of 500 into 500 new queues, soon due together',
      isRead: false,
      call: (turn) =>
        batch((index) => ({ destination: good, queue: `q${turn}-${index}`, headers: { [`${PREFIX}Delay`]: '3s' } })),
    },
    {
      name: 'a publish to a topic of 1,000',
      isRead: false,
      call: () => ({ method: 'POST', path: '/v2/publish/wide', body: 'x' }),
    },
    {
      name: 'an array of arrays',
      isRead: false,
      call: () => ({
        method: 'POST',
        path: '/v2/batch',
        headers: JSON_TYPE,
        body: `[${'[],'.repeat(1_000_000)}[]]`,
      }),
    },
  ];
}
