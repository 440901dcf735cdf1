// `postrider flow …`: flow keys, which limit rate and parallelism across URLs.

import type { FlowKey } from 'postrider-sdk';
import type { Invocation } from '../../frame/command.ts';
import { EXIT } from '../../frame/exit-codes.ts';
import { Failure } from '../../frame/failure.ts';
import { timeText } from '../../frame/time-text.ts';

const waitingOf = ({ waitListSize, isWaitListSizeCut }: FlowKey) => `${waitListSize}${isWaitListSizeCut ? '+' : ''}`;
const limitOf = (max: number) => (max === 0 ? 'no limit' : String(max));

function rateOf({ rateMax, rateCount, ratePeriod }: FlowKey): string {
  return rateMax === 0 ? 'no limit' : `${rateCount} of ${rateMax} in ${ratePeriod} s`;
}

export async function listFlowKeys({ out, connect }: Invocation): Promise<number> {
  const keys = await connect().client.listFlowKeys();
  out.list(
    keys,
    'There are no flow keys. A message makes one: --flow-key <key> --flow-limit "rate=10, period=1m"',
    [
      { title: 'KEY' },
      { title: 'STATE' },
      { title: 'WAITING', isNumber: true },
      { title: 'IN FLIGHT', isNumber: true, isExtra: true },
      { title: 'PARALLELISM', isExtra: true },
      { title: 'RATE' },
    ],
    (key) => [
      key.flowControlKey,
      key.isPaused ? 'paused' : 'running',
      waitingOf(key),
      String(key.parallelismCount),
      `${limitOf(key.parallelismMax)}${key.isPinnedParallelism ? ' (pinned)' : ''}`,
      `${rateOf(key)}${key.isPinnedRate ? ' (pinned)' : ''}`,
    ],
  );
  return EXIT.done;
}

function show(out: Invocation['out'], key: FlowKey): void {
  if (out.isJson) out.json(key);
  else {
    out.facts([
      ['flow key', key.flowControlKey],
      ['state', key.isPaused ? 'paused' : 'running'],
      ['waiting', waitingOf(key)],
      [
        'in flight',
        `${key.parallelismCount} (${limitOf(key.parallelismMax)}${key.isPinnedParallelism ? ', pinned' : ''})`,
      ],
      ['rate', `${rateOf(key)}${key.isPinnedRate ? ' (pinned)' : ''}`],
      ['period since', key.rateMax === 0 ? null : timeText(key.ratePeriodStart * 1000)],
    ]);
  }
}

export async function getFlowKey({ given, out, connect }: Invocation): Promise<number> {
  show(out, await connect().client.getFlowKey(given.words[0]!));
  return EXIT.done;
}

export async function pauseFlowKey({ given, out, connect }: Invocation): Promise<number> {
  show(out, await connect().client.pauseFlowKey(given.words[0]!));
  return EXIT.done;
}

export async function resumeFlowKey({ given, out, connect }: Invocation): Promise<number> {
  show(out, await connect().client.resumeFlowKey(given.words[0]!));
  return EXIT.done;
}

export async function pinFlowKey({ given, out, connect }: Invocation): Promise<number> {
  const limits = { parallelism: given.text('parallelism'), rate: given.text('rate'), period: given.text('period') };
  if (limits.parallelism === undefined && limits.rate === undefined) {
    throw new Failure('no limit is given: use --parallelism, --rate or both', { exit: EXIT.usage });
  }
  show(out, await connect().client.pinFlowKey(given.words[0]!, limits));
  return EXIT.done;
}

export async function unpinFlowKey({ given, out, connect }: Invocation): Promise<number> {
  show(out, await connect().client.unpinFlowKey(given.words[0]!));
  return EXIT.done;
}

export async function resetFlowRate({ given, out, connect }: Invocation): Promise<number> {
  show(out, await connect().client.resetFlowRate(given.words[0]!));
  return EXIT.done;
}
