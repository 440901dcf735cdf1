// Parked hosts, by what the store did: a host is parked by ten failures in a row; the first probe follows five
// seconds later at the earliest; one probe at a time, by the node that owns the host; when it is answered, as many at once as were answered before,
// so 1, 2, 4, 8 …; and no failed attempt there uses up a retry.

import type { Evidence } from './evidence.ts';
import type { Step } from './step.ts';

type HostStep = Extract<Step, { readonly kind: 'host' }>;

interface Host {
  readonly parkedAt: number;
  /** When an attempt was answered since then. */
  readonly answeredAt: number[];
  /** A person resumed it, so that the first step needs no answer. */
  isResumedByHand: boolean;
}

export function* parkedHosts({ history }: Evidence): Iterable<string> {
  const hosts = new Map<string, Host>();
  /** An answer may be older than the report that parked the host: of each host, all of them. */
  const answers = new Map<string, number[]>();
  for (const step of history.steps ?? []) {
    if (step.kind === 'host') note(hosts, answers, step);
    else if (step.kind === 'answered') {
      answers.set(step.host, [...(answers.get(step.host) ?? []), step.at]);
      const host = hosts.get(step.host);
      if (host && step.at >= host.parkedAt) host.answeredAt.push(step.at);
    } else if (step.kind === 'claimed' && step.parked) {
      const { host, underWay, isOwner } = step.parked;
      const most = mostAtOnce(hosts.get(host));
      if (!isOwner) yield `${step.id} was sent to ${host}, which is parked and belongs to another node`;
      if (underWay > most) yield `${step.id} is number ${underWay} at once at ${host}, which may have ${most}`;
    }
  }
}

function note(hosts: Map<string, Host>, answers: ReadonlyMap<string, readonly number[]>, step: HostStep): void {
  const known = hosts.get(step.host);
  if (step.state === 'open') hosts.delete(step.host);
  else if (step.state === 'parked' || !known) {
    const answeredAt = (answers.get(step.host) ?? []).filter((at) => at >= step.parkedAt!);
    hosts.set(step.host, { parkedAt: step.parkedAt!, answeredAt, isResumedByHand: step.isByHand });
  }
  if (step.state === 'parked') hosts.get(step.host)!.isResumedByHand = false;
  if (step.state === 'opening' && known) known.isResumedByHand = step.isByHand;
}

/** The first answer resumes the host, and lets one message through; so many further ones, as many again. */
function mostAtOnce(host: Host | undefined): number {
  if (!host) return Number.POSITIVE_INFINITY;
  const answers = host.answeredAt.length + (host.isResumedByHand ? 1 : 0);
  return answers === 0 ? 1 : 2 ** Math.floor(Math.log2(answers));
}

export function* freeAttempts({ history }: Evidence): Iterable<string> {
  const wereParked = new Set<string>();
  for (const step of history.steps ?? []) {
    if (step.kind === 'host') wereParked.add(step.host);
    if (step.kind !== 'attempted') continue;
    const { id, host, parks, mustBeFree, isFree } = step;
    if (mustBeFree && !isFree) yield `${id} used up a retry at ${host}, which was parked`;
    if (isFree && !parks) yield `${id} retries, and its failed attempt used up no retry`;
    // A node decides for itself before it tells the store.
    if (isFree && parks && !wereParked.has(host) && !isParkedLater(history.steps!, step)) {
      yield `${id} used up no retry at ${host}, which was never parked`;
    }
  }
}

function isParkedLater(steps: readonly Step[], from: Step): boolean {
  const { host } = from as { readonly host: string };
  return steps.slice(steps.indexOf(from)).some((step) => step.kind === 'host' && step.host === host);
}

const FAILURES_TO_PARK = 10;
const FIRST_PROBE_MS = 5000;
/** A claim takes its time a moment before its node says how many may be sent to a parked host. */
const CLAIM_MS = 20;
/** A node notes an answer a moment after the store does: later, if the reply of the store is lost. */
const NOTED_MS = 5000;

interface Result {
  readonly isDown: boolean;
  readonly at: number;
}

/** By host: the results of each node, in their order. A node knows only its own, and what was reported. */
class Results {
  readonly #ofHost = new Map<string, Map<string, Result[]>>();

  add({ host, node = '', kind, at }: Extract<Step, { readonly kind: 'answered' | 'down' }>): void {
    const ofNodes = this.#ofHost.get(host) ?? new Map<string, Result[]>();
    this.#ofHost.set(host, ofNodes);
    ofNodes.set(node, [...(ofNodes.get(node) ?? []), { isDown: kind === 'down', at }]);
  }

  /** The failures of all nodes, of each those since its last answer. */
  failuresInRow(host: string, parkedAt: number): number {
    let count = 0;
    for (const results of this.#ofHost.get(host)?.values() ?? []) {
      const lastAnswer = results.findLastIndex(({ isDown, at }) => !isDown && at <= parkedAt - NOTED_MS);
      count += results.slice(lastAnswer + 1).filter(({ isDown }) => isDown).length;
    }
    return count;
  }
}

/** A host that was open: what a person has parked, and what was parked again while it opened, has other rules. */
export function* parkings({ history }: Evidence): Iterable<string> {
  const results = new Results();
  const states = new Map<string, HostStep['state']>();
  for (const step of history.steps ?? []) {
    if (step.kind === 'answered' || step.kind === 'down') results.add(step);
    if (step.kind !== 'host') continue;
    const { host, state, parkedAt, isByHand } = step;
    const wasOpen = (states.get(host) ?? 'open') === 'open';
    states.set(host, state);
    if (state !== 'parked' || !wasOpen || isByHand) continue;
    const failures = results.failuresInRow(host, parkedAt!);
    if (failures < FAILURES_TO_PARK) yield `${host} was parked after ${failures} failures in a row`;
  }
}

export function* probes({ history }: Evidence): Iterable<string> {
  for (const step of history.steps ?? []) {
    if (step.kind === 'host' && step.state === 'parked' && step.probeAt) {
      const waitMs = step.probeAt - step.parkedAt!;
      if (waitMs < FIRST_PROBE_MS) yield `the first probe of ${step.host} may follow ${waitMs} ms after it was parked`;
    } else if (step.kind === 'claimed' && step.parked?.probeAt) {
      const { host, probeAt } = step.parked;
      if (step.at < probeAt - CLAIM_MS)
        yield `${step.id} was sent to ${host}, which is parked, ${probeAt - step.at} ms too early`;
    }
  }
}
