// Has a message become dearer? CPU time and bytes allocated per message, each as a multiple of the floor's in the same
// run: both are measured on the same machine at the same time, so that neither its speed nor what else it does counts.
// Fails when a multiple exceeds the one in guard.json by more than the tolerance that stands beside it. Processors differ:
// the same commit took 1.18 times the floor's CPU time on arm64 and 1.66 times on x64. So each architecture has its record.
// npm run bench -- guard [--accept]     --accept writes what was measured into guard.json

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { measure, medianOf } from './measure.ts';
import { asked, formatted, interleaved, numbersOf, pace, paceText, publish } from './part.ts';
import { floor, HERE, onSqlite, type Target } from './targets.ts';

interface Limit {
  readonly ratio: number;
  readonly tolerance: number;
}

const FILE = join(HERE, 'guard.json');
interface Limits {
  readonly cpu: Limit;
  readonly allocated: Limit;
}

const all = JSON.parse(readFileSync(FILE, 'utf8')) as Record<string, Limits>;
const limits = all[process.arch];
if (!limits && !asked.accept)
  throw new Error(`nothing is recorded for ${process.arch}; --accept records what is measured`);

const reference = floor(true, true);
const layouts: Target[] = [reference, onSqlite];
const results = await interleaved(
  layouts,
  (target) => measure(target, pace, {}, { countsAllocations: true }),
  ({ cpuUs, allocatedBytes }) => `${Math.round(cpuUs)} µs of CPU, ${Math.round(allocatedBytes)} bytes allocated`,
);
const least = medianOf(results.get(reference)!);
const ours = medianOf(results.get(onSqlite)!);
const measured = { cpu: ours.cpuUs / least.cpuUs, allocated: ours.allocatedBytes / least.allocatedBytes };

/** For an architecture without a record. */
const TOLERANCES = { cpu: 0.25, allocated: 0.1 };
const limitOf = (name: 'cpu' | 'allocated'): Limit =>
  limits?.[name] ?? { ratio: measured[name], tolerance: TOLERANCES[name] };
const verdicts = (['cpu', 'allocated'] as const).map((name) => {
  const { ratio, tolerance } = limitOf(name);
  const most = ratio * (1 + tolerance);
  const isOver = measured[name] > most;
  const text = `${name}: ${formatted(measured[name])} times the floor; ${formatted(ratio)} is recorded, the limit is ${formatted(most)}`;
  return { isOver, text: `${isOver ? 'TOO MUCH' : 'ok'}: ${text}` };
});
publish('guard', {
  title: 'Cost per message against the floor',
  columns: [
    ['cpuUs', 'CPU µs a message'],
    ['allocatedBytes', 'bytes allocated a message'],
    ['delivered', 'delivered/s'],
  ],
  rows: [...results].map(([{ name }, each]) => ({ name, numbers: numbersOf(medianOf(each)) })),
  notes: verdicts.map(({ text }) => text),
  pace: paceText(),
});
if (asked.accept) {
  const accepted = (name: 'cpu' | 'allocated') => ({ ...limitOf(name), ratio: Number(measured[name].toFixed(2)) });
  const next = { ...all, [process.arch]: { cpu: accepted('cpu'), allocated: accepted('allocated') } };
  writeFileSync(FILE, `${JSON.stringify(next, null, 2)}\n`);
} else if (verdicts.some(({ isOver }) => isOver)) process.exitCode = 1;
