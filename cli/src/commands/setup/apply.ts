// `postrider apply` and `postrider export`: read and write queues, topics, schedules and alerts as a file.

import type { Client } from 'postrider-sdk';
import type { Tier } from '../../../../server/src/rules/limits/tier.ts';
import type { Invocation } from '../../frame/command.ts';
import { confirm } from '../../frame/confirm.ts';
import { EXIT } from '../../frame/exit-codes.ts';
import { countOf, type Output } from '../../frame/output.ts';
import { printable, printableLines } from '../../frame/printable.ts';
import type { Io } from '../../frame/terminal.ts';
import { writeWhole } from '../../frame/whole-file.ts';
import { cannotApply, fileName, readFileState } from './desired-file.ts';
import { limitProblems, type ServiceFacts } from './desired-limits.ts';
import { settingProblems } from './desired-settings.ts';
import { type Change, diffStates, type State } from './desired-state.ts';
import { type ChangeContext, makeChanges } from './make-changes.ts';
import { readService } from './service-state.ts';

export async function apply(invocation: Invocation): Promise<number> {
  const { given, out, io, connect } = invocation;
  const desired = await readFileState(given.text('file'), io);
  const { client, headerPrefix } = connect();
  const refuse = (problems: readonly string[]) => {
    if (problems.length > 0) throw cannotApply(fileName(given.text('file')!), problems);
  };
  refuse(settingProblems(desired, headerPrefix));
  const { state: actual, leftOut } = await readService(client, desired);
  const all = diffStates(desired, actual, given.has('prune'));
  // No file can describe the schedules in `leftOut`, so every file lacks them. That does not mean that they should be
  // deleted.
  const isSpared = ({ action, kind, name }: Change) =>
    action === 'delete' && kind === 'schedule' && leftOut.includes(name);
  const changes = all.filter((change) => !isSpared(change));
  refuse(limitProblems(desired, changes, await serviceSide(client, { desired, actual, headerPrefix, io })));
  const spared = all.filter(isSpared).map(({ name }) => name);
  if (spared.length > 0) {
    out.warn(`not deleted, because a file cannot describe them: schedules ${spared.join(', ')}`);
  }
  if (!out.isJson) for (const change of changes) showChange(change, out);
  const isDryRun = given.has('dry-run');
  if (isDryRun && out.isJson) out.json({ changes });
  if (changes.length > 0 && !isDryRun) {
    return make(invocation, { client, prefix: headerPrefix, desired, actual, out }, changes);
  }
  return nothingMade(out, changes, { isDryRun, isDifferenceAnError: given.has('exit-code') });
}

function nothingMade(
  out: Output,
  changes: readonly Change[],
  { isDryRun, isDifferenceAnError }: { readonly isDryRun: boolean; readonly isDifferenceAnError: boolean },
): number {
  if (changes.length > 0) {
    out.note(`${summary(changes)} would be made. Nothing was changed.`);
    return isDifferenceAnError ? EXIT.different : EXIT.done;
  }
  if (out.isJson && !isDryRun) out.json({ changes, failed: [] });
  out.note('The service matches the file.');
  return EXIT.done;
}

async function make(invocation: Invocation, work: ChangeContext, changes: readonly Change[]): Promise<number> {
  const { out } = invocation;
  const deletes = changes.filter(({ action }) => action === 'delete');
  if (deletes.length > 0) await confirm(invocation, `Delete what the file does not name (${deletes.length} in all)?`);
  const failed = await makeChanges(work, changes);
  if (out.isJson) out.json({ changes, failed });
  for (const { kind, name, error } of failed) out.warn(`${kind} ${name}: ${error}`);
  const hasFailed = (change: Change) => failed.some(({ kind, name }) => name === change.name && kind === change.kind);
  out.note(`${summary(changes.filter((change) => !hasFailed(change)))}.`);
  return failed.length === 0 ? EXIT.done : EXIT.failed;
}

async function serviceSide(
  client: Client,
  { desired, actual, headerPrefix, io }: { desired: State; actual: State; headerPrefix: string; io: Io },
): Promise<ServiceFacts> {
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
  const text = await fileText(kept, url, out.isJson);
  if (file === undefined) {
    out.line((out.isTerminal ? printableLines(text) : text).trimEnd());
    return EXIT.done;
  }
  const isReplacing = given.has('force');
  writeWhole({ path: file, data: text, mode: 0o600, isReplacing, hintIfThere: '--force overwrites it' });
  out.note(
    `${file}: ${countOf(kept.queues!.length, 'queue')}, ${countOf(kept.topics!.length, 'topic')}, ${countOf(kept.schedules!.length, 'schedule')}, ${countOf(kept.alerts?.length ?? 0, 'alert')}.`,
  );
  return EXIT.done;
}

/** The text of the file: YAML or JSON. JSON is YAML too, so apply reads both. */
async function fileText(state: State, url: string, isJson: boolean): Promise<string> {
  if (isJson) return `${JSON.stringify(state, null, 2)}\n`;
  const { stringify } = await import('yaml');
  return `# Queues, topics, schedules and alerts of ${url}. "postrider apply -f" brings a service to this state.\n${stringify(state, { lineWidth: 0 })}`;
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
  return `${countOf(changes.length, 'change')} (${parts.join(', ')})`;
}
