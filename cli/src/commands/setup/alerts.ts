// `postrider alerts …`.

import type { Alert, AlertRequest } from 'postrider-sdk';
import type { Invocation } from '../../frame/command.ts';
import { EXIT } from '../../frame/exit-codes.ts';
import { Failure } from '../../frame/failure.ts';
import { printable } from '../../frame/printable.ts';
import { timeText } from '../../frame/time-text.ts';

/** The fields of a rule, without its type, as one line. */
function ruleText({ rule: { type, ...fields } }: Alert): string {
  return [type, ...Object.entries(fields).map(([name, value]) => `${name}=${value}`)].join(' ');
}

const stateOf = ({ state, since }: Alert) => (since === undefined ? state : `${state} since ${timeText(since)}`);

export async function listAlerts({ out, connect }: Invocation): Promise<number> {
  const alerts = await connect().client.listAlerts();
  out.list(
    alerts,
    'There are no alerts. Make one: postrider alerts create messageFailed --target <url>',
    [{ title: 'ALERT' }, { title: 'STATE' }, { title: 'RULE' }, { title: 'TARGET', isExtra: true }],
    (alert) => [alert.alertId, stateOf(alert), ruleText(alert), alert.target.url],
  );
  return EXIT.done;
}

export async function getAlert({ given, out, connect }: Invocation): Promise<number> {
  const alert = await connect().client.getAlert(given.words[0]!);
  if (out.isJson) {
    out.json(alert);
    return EXIT.done;
  }
  out.facts([
    ['alert', alert.alertId],
    ['rule', ruleText(alert)],
    ['target', `${alert.target.url} (${alert.target.format})`],
    ['reminder', alert.remindEvery === undefined ? null : `every ${alert.remindEvery}`],
    ['state', stateOf(alert)],
    ['notified', alert.notifiedAt === undefined ? null : timeText(alert.notifiedAt)],
    ['text', alert.text],
    ['message', alert.messageId],
    ['problem', alert.problem],
    ['created', timeText(alert.createdAt)],
  ]);
  return EXIT.done;
}

export async function createAlert({ given, out, connect }: Invocation): Promise<number> {
  const url = given.text('target');
  if (url === undefined) throw new Failure('no target is given: use --target <url>', { exit: EXIT.usage });
  const [remindEvery, id] = [given.text('remind-every'), given.text('id')];
  const fields = {
    host: given.text('host'),
    queue: given.text('queue'),
    label: given.text('label'),
    schedule: given.text('schedule'),
    window: given.text('window'),
    olderThan: given.text('older-than'),
    share: shareOf(given.text('share')),
    count: given.number('count'),
    minimum: given.number('minimum'),
    attempts: given.number('attempts'),
    freeBytes: given.number('free-bytes'),
  };
  const rule = {
    type: given.words[0]!,
    ...Object.fromEntries(Object.entries(fields).filter(([, each]) => each !== undefined)),
  };
  const { client } = connect();
  const request = {
    // The service checks the rule.
    rule: rule as AlertRequest['rule'],
    target: { url, format: given.has('slack') ? 'slack' : 'json' },
    ...(remindEvery !== undefined && { remindEvery }),
  } as const;
  const alert = await (id === undefined ? client.createAlert(request) : client.saveAlert(id, request));
  out.result(alert, printable(alert.alertId));
  return EXIT.done;
}

/** Reads a share as a number: `10%` is 0.1. */
function shareOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const share = text.endsWith('%') ? Number(text.slice(0, -1)) / 100 : Number(text);
  if (text.trim() !== '' && Number.isFinite(share)) return share;
  throw new Failure('--share must be a number such as 0.1, or 10%', { exit: EXIT.usage });
}

export async function testAlert({ given, out, connect }: Invocation): Promise<number> {
  const sent = await connect().client.testAlert(given.words[0]!);
  out.result(sent, `${printable(sent.messageId)}  ${printable(sent.url)}`);
  return EXIT.done;
}

export async function deleteAlert({ given, out, connect }: Invocation): Promise<number> {
  const answer = await connect().client.deleteAlert(given.words[0]!);
  out.result(answer, `${printable(given.words[0]!)}  deleted`);
  return EXIT.done;
}
