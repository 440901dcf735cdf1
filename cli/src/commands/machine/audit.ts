// `postrider audit`: who has changed what, and which calls were refused; also as it happens.

import type { AuditEntry, AuditPage, Client } from 'postrider-sdk';
import type { Args } from '../../frame/arguments.ts';
import type { Invocation } from '../../frame/command.ts';
import { EXIT, interruptedExit } from '../../frame/exit-codes.ts';
import { Failure } from '../../frame/failure.ts';
import { printable } from '../../frame/printable.ts';
import { timeText } from '../../frame/time-text.ts';
import { serviceTimeFor } from '../messages/filter.ts';
import { isTemporaryError, pause } from '../messages/follow.ts';
import { readUpTo } from '../messages/pages.ts';

const LISTS = [
  ['by', 'token'],
  ['call', 'call'],
  ['target', 'target'],
  ['result', 'result'],
  ['address', 'address'],
] as const;

const FOLLOW_EVERY_MS = 2000;
const FOLLOW_PAGE = 1000;
/** Equal calls of a minute share an entry, which is listed at the start of the minute. */
const MINUTE_MS = 60_000;

type Read = (page: {
  readonly count?: number;
  readonly cursor?: string;
  readonly order?: 'oldestFirst';
  readonly fromDate?: number;
}) => Promise<AuditPage>;

export async function audit(invocation: Invocation): Promise<number> {
  const { given, out, connect } = invocation;
  const read = await reading(given, connect().client);
  if (given.has('follow')) return follow(invocation, read);
  const { entries, isCut } = await readUpTo(given.number('limit'), async (page) => {
    const { audit: found, cursor } = await read(page);
    return { entries: found, cursor };
  });
  out.list(
    entries,
    'No entry of the audit matches.',
    [
      { title: 'TIME' },
      { title: 'WHO' },
      { title: 'ADDRESS', isExtra: true },
      { title: 'CALL' },
      { title: 'TARGET' },
      { title: 'RESULT' },
    ],
    (entry) => [
      timeText(entry.time),
      whoText(entry),
      entry.address ?? '',
      entry.call,
      entry.target ?? '',
      resultText(entry),
    ],
  );
  if (isCut) out.note('There are more: --limit 0 shows all of them.');
  return EXIT.done;
}

/** The list that the flags select: of all accounts with --all or --account, else of the account of the token. */
async function reading(given: Args, client: Client): Promise<Read> {
  const lists = LISTS.flatMap(([flag, name]) => (given.has(flag) ? [[name, given.list(flag)] as const] : []));
  const now = await serviceTimeFor(given, client, 'from', 'until');
  const [fromDate, toDate] = [given.time('from', now), given.time('until', now)];
  const filter = {
    ...Object.fromEntries(lists),
    ...(fromDate !== undefined && { fromDate }),
    ...(toDate !== undefined && { toDate }),
  };
  const names = given.list('account');
  if (names.length === 0 && !given.has('all')) return (page) => client.listAudit({ ...filter, ...page });
  const account = names.length === 0 ? undefined : await accountIds(client, names);
  return (page) => client.listAllAudit({ ...filter, account, ...page });
}

async function accountIds(client: Client, names: readonly string[]): Promise<string[]> {
  const { accounts } = await client.listAccounts();
  return names.map((wanted) => {
    const found = accounts.find(({ id, name }) => id === wanted || name === wanted);
    if (found) return found.id;
    throw new Failure(`there is no account "${wanted}"`, { exit: EXIT.notFound });
  });
}

/** Prints new entries until Ctrl-C. What is counted in an entry that was printed is not printed again. */
async function follow(invocation: Invocation, read: Read): Promise<number> {
  const { out, io, connect } = invocation;
  let found = (await read({ count: FOLLOW_PAGE })).audit;
  let fromDate = nextFrom(0, found);
  out.note(`New entries of the audit of ${connect().url}. Ctrl-C ends it.`);
  const poll = patiently(out, () => newerThan(read, fromDate));
  for (;;) {
    await pause(io.world.clock, FOLLOW_EVERY_MS, io.interrupted);
    if (io.interrupted.aborted) return interruptedExit(io.interrupted);
    const newer = await poll();
    if (newer === null) continue;
    const printed = new Set(found.map(({ auditId }) => auditId));
    for (const entry of newer.filter(({ auditId }) => !printed.has(auditId))) await print(out, entry);
    found = newer;
    fromDate = nextFrom(fromDate, newer);
  }
}

/** Returns null while the service is away, and says so once. */
function patiently<T>(out: Invocation['out'], read: () => Promise<T>): () => Promise<T | null> {
  let isAway = false;
  return async () => {
    try {
      const value = await read();
      if (isAway) out.note('The service is back.');
      isAway = false;
      return value;
    } catch (error) {
      if (!isTemporaryError(error)) throw error;
      if (!isAway) out.note(`The service is away (${(error as Error).message}). Trying again.`);
      isAway = true;
      return null;
    }
  };
}

function nextFrom(before: number, found: readonly AuditEntry[]): number {
  return Math.max(before, ...found.map(({ time }) => time - MINUTE_MS));
}

async function newerThan(read: Read, fromDate: number): Promise<readonly AuditEntry[]> {
  const found: AuditEntry[] = [];
  let cursor: string | undefined;
  do {
    const page = { order: 'oldestFirst', count: FOLLOW_PAGE, fromDate } as const;
    const { audit: entries, cursor: next } = await read({ ...page, ...(cursor !== undefined && { cursor }) });
    found.push(...entries);
    cursor = next;
  } while (cursor !== undefined);
  return found;
}

async function print(out: Invocation['out'], entry: AuditEntry): Promise<void> {
  if (out.isJson) return out.record(entry);
  const parts = [timeText(entry.time), whoText(entry), entry.call, entry.target ?? '-', resultText(entry)];
  return out.streamed(parts.map(printable).join('  '));
}

/** Names alone do not say how the caller was known. */
function whoText({ via, tokenName, tokenId }: AuditEntry): string {
  const name = tokenName ?? tokenId;
  if (via === 'command') return 'a command';
  if (via === 'session') return `${name} (console)`;
  return name ?? 'unknown';
}

function resultText({ result, status, code, count }: AuditEntry): string {
  const text = code ?? (status === undefined ? result : String(status));
  return count === undefined ? text : `${text} ×${count}`;
}
