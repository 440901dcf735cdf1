// `postrider hosts …`: the health of the hosts that messages are sent to.

import type { Host } from 'postrider-sdk';
import type { Invocation } from '../../frame/command.ts';
import { EXIT } from '../../frame/exit-codes.ts';
import { timeText } from '../../frame/time-text.ts';

const waitingOf = ({ waiting, isWaitingCut }: Host) => `${waiting}${isWaitingCut ? '+' : ''}`;
const shareOf = ({ successShare }: Host) => (successShare === undefined ? '-' : `${percent(successShare)} %`);
const timesOf = ({ p50Ms, p95Ms }: Host) => (p50Ms === undefined ? null : `${p50Ms} / ${p95Ms} ms`);
const timeOrNull = (at: number | undefined) => (at === undefined ? null : timeText(at));

/** Rounded down, so that 100 % means all. */
function percent(share: number): string {
  return String(Math.floor(share * 1000) / 10);
}

function failureOf({ lastFailure }: Host): string | null {
  if (!lastFailure) return null;
  const { at, responseStatus, error } = lastFailure;
  return `${timeText(at)}: ${error ?? `status ${responseStatus}`}`;
}

export async function listHosts({ out, connect }: Invocation): Promise<number> {
  const hosts = await connect().client.listHosts();
  out.list(
    hosts,
    'No host had an attempt in the last week.',
    [
      { title: 'HOST' },
      { title: 'STATE' },
      { title: 'ATTEMPTS', isNumber: true },
      { title: 'SUCCESS', isNumber: true },
      { title: 'P50 / P95', isExtra: true },
      { title: 'WAITING', isNumber: true },
      { title: 'FAILING SINCE', isExtra: true },
    ],
    (host) => [
      host.host,
      host.state,
      String(host.attempts),
      shareOf(host),
      timesOf(host) ?? '-',
      waitingOf(host),
      timeOrNull(host.failingSince) ?? '-',
    ],
  );
  return EXIT.done;
}

function parkedText({ parkedSince, isParkedByHand, failedProbes }: Host): string {
  const how = isParkedByHand ? 'by hand' : `${failedProbes} failed probes`;
  return `${timeText(parkedSince!)} (${how})`;
}

function show(out: Invocation['out'], host: Host): void {
  if (out.isJson) {
    out.json(host);
    return;
  }
  out.facts([
    ['host', host.host],
    ['state', host.state],
    ['failing since', timeOrNull(host.failingSince)],
    ['parked since', host.parkedSince === undefined ? null : parkedText(host)],
    ['next probe', timeOrNull(host.nextProbeAt)],
    ['opens with', host.opensWith === undefined ? null : `${host.opensWith} at once`],
    ['attempts of the last hour', String(host.attempts)],
    ['success', host.attempts === 0 ? null : `${host.delivered} of ${host.attempts} (${shareOf(host)})`],
    ['took, p50 / p95', timesOf(host)],
    ['waiting', waitingOf(host)],
    ['last attempt', timeOrNull(host.lastAttemptAt)],
    ['last failure', failureOf(host)],
  ]);
}

export async function getHost({ given, out, connect }: Invocation): Promise<number> {
  show(out, await connect().client.getHost(given.words[0]!));
  return EXIT.done;
}

export async function parkHost({ given, out, connect }: Invocation): Promise<number> {
  show(out, await connect().client.parkHost(given.words[0]!));
  return EXIT.done;
}

export async function resumeHost({ given, out, connect }: Invocation): Promise<number> {
  show(out, await connect().client.resumeHost(given.words[0]!));
  return EXIT.done;
}
