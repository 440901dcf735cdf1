// `postrider apply` and `postrider export`: queues, topics, schedules and alerts as a file.

import { createReadStream } from 'node:fs';
import { type Alert, type AlertRequest, type Client, calls, type PublishSettings, type Schedule } from 'postrider-sdk';
import type { Tier } from '../../../../server/src/rules/limits/tier.ts';
import type { Invocation } from '../../frame/command.ts';
import { confirm } from '../../frame/confirm.ts';
import { EXIT } from '../../frame/exit-codes.ts';
import { Failure } from '../../frame/failure.ts';
import type { Output } from '../../frame/output.ts';
import { printable, printableLines } from '../../frame/printable.ts';
import type { Io } from '../../frame/terminal.ts';
import { writeWhole } from '../../frame/whole-file.ts';
import type { AlertState } from './desired-alerts.ts';
import { overLimits, type ServiceSide } from './desired-limits.ts';
import { wrongSettings } from './desired-settings.ts';
import { type Change, diffStates, readState, type ScheduleState, type State } from './desired-state.ts';

const FILE_BYTES_MAX = 10 * 1024 ** 2;
const ALIASES_MAX = 100;
const PROBLEMS_SHOWN_MAX = 20;

export async function apply(invocation: Invocation): Promise<number> {
  const { given, out, io, connect } = invocation;
  const desired = await readFileState(given.text('file'), io);
  const { client, headerPrefix } = connect();
  const wrong = wrongSettings(desired, headerPrefix);
  if (wrong.length > 0) throw notApplied(fileName(given.text('file')!), wrong);
  const { state: actual, leftOut } = await readService(client, desired);
  // What no file can describe is missing from every file, so that says nothing about it.
  const isSpared = ({ action, kind, name }: Change) =>
    action === 'delete' && kind === 'schedule' && leftOut.includes(name);
  const all = diffStates(desired, actual, given.has('prune'));
  const changes = all.filter((change) => !isSpared(change));
  const refused = overLimits(desired, changes, await serviceSide(client, { desired, actual, headerPrefix, io }));
  if (refused.length > 0) throw notApplied(fileName(given.text('file')!), refused);
  const spared = all.filter(isSpared).map(({ name }) => name);
  if (spared.length > 0) {
    out.warn(`not deleted, because a file cannot describe them: schedules ${spared.join(', ')}`);
  }
  if (out.isJson && given.has('dry-run')) out.json({ changes });
  if (!out.isJson) for (const change of changes) showChange(change, out);
  if (changes.length === 0) {
    if (out.isJson && !given.has('dry-run')) out.json({ changes, failed: [] });
    out.note('The service is as the file says.');
    return EXIT.done;
  }
  if (given.has('dry-run')) {
    out.note(`${summary(changes)} would be made. Nothing was changed.`);
    return given.has('exit-code') ? EXIT.different : EXIT.done;
  }
  const deletes = changes.filter(({ action }) => action === 'delete');
  if (deletes.length > 0) await confirm(invocation, `Delete ${deletes.length} of them?`);
  const failed = await makeChanges({ client, prefix: headerPrefix, desired, actual, out }, changes);
  if (out.isJson) out.json({ changes, failed });
  for (const { kind, name, error } of failed) out.warn(`${kind} ${name}: ${error}`);
  out.note(
    `${summary(changes.filter((change) => !failed.some((each) => each.name === change.name && each.kind === change.kind)))}.`,
  );
  return failed.length === 0 ? EXIT.done : EXIT.failed;
}

async function serviceSide(
  client: Client,
  { desired, actual, headerPrefix, io }: { desired: State; actual: State; headerPrefix: string; io: Io },
): Promise<ServiceSide> {
  const { tier, limits } = await client.getAccount();
  const topics = desired.schedules?.length ? await client.listTopics() : [];
  const { clock } = io.world;
  return {
    tier: { ...limits, name: tier } as unknown as Tier,
    topics: new Map(topics.flatMap((topic) => [[topic.name, topic] as const, [topic.id, topic] as const])),
    actual,
    headerPrefix,
    time: { now: clock.now(), wallNow: clock.wallNow() },
  };
}

async function readFileState(path: string | undefined, io: Io): Promise<State> {
  if (path === undefined)
    throw new Failure('which file? Give it with -f; - reads standard input', { exit: EXIT.usage });
  const text = await readText(path, io);
  const { parseDocument } = await import('yaml');
  const document = parseDocument(text, { schema: 'core', uniqueKeys: true, prettyErrors: true });
  const name = fileName(path);
  if (document.errors.length > 0) {
    const lines = [...new Set(document.errors.map(yamlProblem))].map((each) => `\n  - ${each}`);
    const more = lines.length > PROBLEMS_SHOWN_MAX ? `\n  and ${lines.length - PROBLEMS_SHOWN_MAX} more` : '';
    throw new Failure(`${name} cannot be read as YAML:${lines.slice(0, PROBLEMS_SHOWN_MAX).join('')}${more}`, {
      exit: EXIT.usage,
    });
  }
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: ALIASES_MAX });
  } catch (error) {
    throw new Failure(`${name} cannot be read: ${(error as Error).message}`, { exit: EXIT.usage });
  }
  const read = readState(value);
  if ('state' in read) return read.state;
  throw notApplied(name, read.problems);
}

const fileName = (path: string) => (path === '-' ? 'standard input' : printable(path));

function notApplied(name: string, problems: readonly string[]): Failure {
  const list = problems.map((each) => `\n  - ${each}`).join('');
  return new Failure(`${name} cannot be applied, and nothing was changed:${list}`, { exit: EXIT.usage });
}

function yamlProblem({ code, message }: { readonly code: string; readonly message: string }): string {
  if (code === 'MULTIPLE_DOCS') return 'it has more than one document: put all into one, without lines of "---"';
  return code === 'RESOURCE_EXHAUSTION' ? 'it is nested too deeply' : message.split('\n')[0]!;
}

async function readText(path: string, io: Io): Promise<string> {
  try {
    const bytes = await collect(path === '-' ? io.stdin : (createReadStream(path) as AsyncIterable<Uint8Array>));
    return bytes.toString('utf8');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new Failure(`cannot read ${printable(path)}: ${code === 'ENOENT' ? 'there is no such file' : message}`, {
      exit: EXIT.usage,
    });
  }
}

/** Ends as soon as it is too much: what is named may be a device, or a pipe without end. */
async function collect(source: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of source) {
    bytes += piece.length;
    if (bytes > FILE_BYTES_MAX) throw new Error('it is larger than 10 MiB');
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

/** What the service has, in the words of the file. Schedules that a file cannot hold are named. */
async function readService(client: Client, wanted: State | null): Promise<{ state: State; leftOut: string[] }> {
  const isWanted = (section: keyof State) => wanted === null || wanted[section] !== undefined;
  const queues = isWanted('queues') ? await client.listQueues() : [];
  const topics = isWanted('topics') ? await client.listTopics() : [];
  const listed = isWanted('schedules') ? await client.listSchedules() : [];
  const schedules: Schedule[] = [];
  for (const each of listed) schedules.push(each.isBodyLeftOut ? await client.getSchedule(each.scheduleId) : each);
  const alerts = isWanted('alerts') ? await readAlerts(client, wanted !== null) : [];
  const leftOut = schedules.filter(isUnwritable).map(({ scheduleId }) => scheduleId);
  return {
    leftOut,
    state: {
      queues: queues.map(({ name, parallelism, paused }) => ({ name, parallelism, ...(paused && { paused }) })),
      topics: topics.map(({ name, endpoints, headers }) => ({
        name,
        endpoints: endpoints.map(({ url, name: called }) => ({ url, ...(called !== undefined && { name: called }) })),
        ...(headers && Object.keys(headers).length > 0 && { headers }),
      })),
      schedules: schedules.map(scheduleState),
      ...(alerts && { alerts: alerts.map(alertState) }),
    },
  };
}

/** Null when the token may not read them, or the service has none: an export then leaves them out. */
async function readAlerts(client: Client, isNeeded: boolean): Promise<readonly Alert[] | null> {
  try {
    return await client.listAlerts();
  } catch (error) {
    const { status } = error as { status?: number };
    if (!isNeeded && (status === 403 || status === 404)) return null;
    throw error;
  }
}

function alertState({ alertId, rule, target, remindEvery }: Alert): AlertState {
  return { id: alertId, rule: { ...rule }, target: { ...target }, ...(remindEvery !== undefined && { remindEvery }) };
}

function scheduleState(schedule: Schedule): ScheduleState {
  const { method, queueName, isPaused, body, bodyBase64, settings = {} } = schedule;
  const headers = Object.entries(schedule.header).map(([name, values]) => [name, values.join(', ')]);
  return {
    id: schedule.scheduleId,
    cron: schedule.cron,
    destination: schedule.destination,
    ...(queueName !== undefined && { queue: queueName }),
    ...(isPaused && { paused: true }),
    ...(method !== 'POST' && { method }),
    ...(headers.length > 0 && { headers: Object.fromEntries(headers) as Record<string, string> }),
    ...(body !== undefined && body !== '' && { body }),
    ...(bodyBase64 !== undefined && { bodyBase64 }),
    ...(Object.keys(settings).length > 0 && { settings }),
  };
}

/** Its content is hidden from every read, or a header of it stands more than once. */
function isUnwritable({ header, body }: Schedule): boolean {
  const values = [...Object.values(header), body === undefined ? [] : [body]];
  return values.some((each) => each.length > 1 || each.some((value) => value.startsWith('REDACTED:')));
}

export async function exportState({ given, out, connect }: Invocation): Promise<number> {
  const { client, url } = connect();
  const { state, leftOut } = await readService(client, null);
  const kept: State = { ...state, schedules: (state.schedules ?? []).filter(({ id }) => !leftOut.includes(id)) };
  if (leftOut.length > 0) {
    out.warn(`left out, because their content is redacted or has a header twice: schedules ${leftOut.join(', ')}`);
  }
  if (!state.alerts) out.warn('left out: alerts, because the token lacks the scope manage');
  const file = given.text('output');
  if (out.isJson && file === undefined) {
    out.json(kept);
    return EXIT.done;
  }
  const { stringify } = await import('yaml');
  // JSON is YAML too: apply reads both.
  const text = out.isJson
    ? `${JSON.stringify(kept, null, 2)}\n`
    : `# Queues, topics, schedules and alerts of ${url}. "postrider apply -f" brings a service to this state.\n${stringify(kept, { lineWidth: 0 })}`;
  if (file === undefined) out.line((out.isTerminal ? printableLines(text) : text).trimEnd());
  else {
    const isReplacing = given.has('force');
    writeWhole({ path: file, data: text, mode: 0o600, isReplacing, hintIfThere: '--force overwrites it' });
    out.note(
      `${file}: ${kept.queues!.length} queues, ${kept.topics!.length} topics, ${kept.schedules!.length} schedules, ${kept.alerts?.length ?? 0} alerts.`,
    );
  }
  return EXIT.done;
}

const SIGNS = { create: '+', update: '~', delete: '-' } as const;
const COLOURS = { create: 'green', update: 'yellow', delete: 'red' } as const;

function showChange({ action, kind, name, fields }: Change, out: Output): void {
  out.line(out.paint(COLOURS[action], `${SIGNS[action]} ${kind} ${printable(name)}`));
  for (const { field, before, after } of fields) {
    const [from, to] = [before, after].map((value) => (value === null ? 'none' : printable(value)));
    out.line(`    ${field}: ${action === 'create' ? to : `${from} → ${to}`}`);
  }
}

function summary(changes: readonly Change[]): string {
  const count = (action: Change['action']) => changes.filter((change) => change.action === action).length;
  const parts = [`${count('create')} created`, `${count('update')} changed`, `${count('delete')} deleted`];
  return `${changes.length} change${changes.length === 1 ? '' : 's'} (${parts.join(', ')})`;
}

interface Failed {
  readonly kind: string;
  readonly name: string;
  readonly error: string;
}

interface Work {
  readonly client: Client;
  readonly prefix: string;
  readonly desired: State;
  readonly actual: State;
  readonly out: Output;
}

/** One that fails does not keep the others. */
async function makeChanges(work: Work, changes: readonly Change[]): Promise<Failed[]> {
  const failed: Failed[] = [];
  // Schedules and alerts last, because they may need the queues and topics, and deletes in the other direction.
  const [deletes, others] = [
    changes.filter(({ action }) => action === 'delete'),
    changes.filter(({ action }) => action !== 'delete'),
  ];
  let made = 0;
  for (const change of [...others, ...deletes.toReversed()]) {
    try {
      await makeChange(work, change);
      made += 1;
    } catch (error) {
      const { status, message } = error as { status?: number; message: string };
      // Without an answer, or without the right, the others would fail as well.
      if (status === undefined || status === 401 || status === 403) {
        work.out.warn(
          `stopped at ${change.kind} ${change.name}: ${made} of ${changes.length} changes were made, and the rest was not`,
        );
        throw error;
      }
      failed.push({ kind: change.kind, name: change.name, error: message });
    }
  }
  return failed;
}

async function makeChange(
  { client, prefix, desired, actual }: Work,
  { action, kind, name, fields }: Change,
): Promise<void> {
  if (action === 'delete') {
    if (kind === 'queue') await client.deleteQueue(name);
    else if (kind === 'alert') await client.deleteAlert(name);
    else await (kind === 'topic' ? client.deleteTopic(name) : client.deleteSchedule(name));
    return;
  }
  if (kind === 'queue') {
    const { parallelism, paused } = desired.queues!.find((each) => each.name === name)!;
    await client.saveQueue({
      queueName: name,
      ...(parallelism !== undefined && { parallelism }),
      ...(paused !== undefined && { paused }),
    });
    return;
  }
  if (kind === 'topic') {
    const { endpoints, headers } = desired.topics!.find((each) => each.name === name)!;
    if (action === 'create') await client.addEndpoints(name, endpoints);
    if (action === 'update' || headers !== undefined)
      await client.changeTopic(name, { endpoints, ...(headers && { headers }) });
    return;
  }
  if (kind === 'alert') {
    const { id: _id, ...alert } = desired.alerts!.find((each) => each.id === name)!;
    // It was read by the rules of the service.
    await client.saveAlert(name, alert as unknown as AlertRequest);
    return;
  }
  const schedule = desired.schedules!.find((each) => each.id === name)!;
  const isPauseAlone = action === 'update' && fields.every(({ field }) => field === 'paused');
  if (!isPauseAlone) await client.send(scheduleCall(schedule, prefix));
  // A schedule that is replaced runs again: one that was paused stays so, unless the file says otherwise.
  const isPaused = schedule.paused ?? actual.schedules?.find(({ id }) => id === name)?.paused ?? false;
  if (isPaused) await client.pauseSchedule(name);
  else if (isPauseAlone) await client.resumeSchedule(name);
}

function scheduleCall(schedule: ScheduleState, prefix: string) {
  const { id, cron, destination, queue, method, headers = {}, body, bodyBase64, settings = {} } = schedule;
  const bytes = bodyBase64 === undefined ? body : Buffer.from(bodyBase64, 'base64');
  const call = calls.createSchedule({
    destination,
    ...(bytes !== undefined && { body: Buffer.from(bytes) }),
    settings: {
      ...(settings as PublishSettings),
      Cron: cron,
      'Schedule-Id': id,
      ...(queue !== undefined && { 'Queue-Name': queue }),
      ...(method !== undefined && { Method: method }),
    },
  });
  const sent = Object.entries(headers).map(([name, value]) => [
    /^content-type$/i.test(name) ? name : `${prefix}Forward-${name}`,
    value,
  ]);
  return { ...call, headers: Object.fromEntries(sent) as Record<string, string> };
}
