// What an outage of a receiver does to messages, once with `Outage: retry` and once with `Outage: park`, side by side:
//   npm run example:outage -- [--messages 10000] [--down 60] [--json]
// or, with the Node.js of CONTRIBUTING.md: node examples/outage/run.ts

import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { type Seen, startReceiver } from './receiver.ts';
import { type Service, startService } from './service.ts';

const OUTAGES = ['retry', 'park'] as const;
type Outage = (typeof OUTAGES)[number];

interface Result extends Seen {
  readonly failed: number;
}

const LOOK_EVERY_MS = 50;
const COLUMN = 14;

/** All of them, to a receiver that is down from before the first one until `downMs` after it. */
async function outageOf(outage: Outage, messages: number, downMs: number): Promise<Result> {
  await using service = await startService();
  await using receiver = await startReceiver();
  const isBack = wait(downMs).then(() => receiver.comeBack());
  const urls = Array.from({ length: messages }, (_, index) => `${receiver.url}/${index}`);
  const slots = await service.client.batch(urls.map((url) => ({ url, outage })));
  const refused = slots.find((slot) => !slot.isAccepted);
  if (refused) throw new Error(refused.error);
  await isBack;
  const failed = await allEnded(service, messages);
  return { ...receiver.seen(), failed };
}

/** Returns how many have failed. */
async function allEnded(service: Service, messages: number): Promise<number> {
  for (;;) {
    const { delivered, failed } = await service.ended();
    if (delivered + failed >= messages) return failed;
    await wait(LOOK_EVERY_MS);
  }
}

const count = (value: number) => value.toLocaleString('en');
const seconds = (ms: number | null) => (ms === null ? '–' : `${(ms / 1000).toFixed(1)} s`);

const ROWS: readonly [what: string, shown: (result: Result) => string][] = [
  ['attempts', ({ attempts }) => count(attempts)],
  ['retries used up', ({ retries }) => count(retries)],
  ['messages delivered', ({ delivered }) => count(delivered)],
  ['messages failed', ({ failed }) => count(failed)],
  ['first message after the receiver is back', ({ firstMs }) => seconds(firstMs)],
  ['last message after the receiver is back', ({ lastMs }) => seconds(lastMs)],
  ['messages in the first second of those', ({ inFirstSecond }) => count(inFirstSecond)],
  ['most at once in that second', ({ mostAtOnce }) => count(mostAtOnce)],
];

function table(results: readonly (readonly [Outage, Result])[]): string {
  const width = Math.max(...ROWS.map(([what]) => what.length));
  const line = (first: string, cells: readonly string[]) =>
    first.padEnd(width) + cells.map((cell) => cell.padStart(COLUMN)).join('');
  const head = line(
    '',
    results.map(([outage]) => `Outage: ${outage}`),
  );
  const rows = ROWS.map(([what, shown]) =>
    line(
      what,
      results.map(([, result]) => shown(result)),
    ),
  );
  return [head, ...rows].join('\n');
}

const { values } = parseArgs({
  options: {
    messages: { type: 'string', default: '10000' },
    down: { type: 'string', default: '60' },
    json: { type: 'boolean', default: false },
  },
});
const messages = Number(values.messages);
const downMs = Number(values.down) * 1000;
if (!Number.isInteger(messages) || messages < 1 || !(downMs >= 0)) {
  throw new Error('--messages is a number from 1 on, --down a number of seconds');
}
const results: [Outage, Result][] = [];
for (const outage of OUTAGES) {
  process.stderr.write(`Outage: ${outage}: ${count(messages)} messages, the receiver is down for ${values.down} s\n`);
  results.push([outage, await outageOf(outage, messages, downMs)]);
}
process.stdout.write(`${values.json ? JSON.stringify(Object.fromEntries(results)) : table(results)}\n`);
