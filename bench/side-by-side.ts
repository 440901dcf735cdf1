// The floor, Postrider and, with --peers, those who do the same job, in one run: saturated, then at half of what each
// just did. Every one gets the same message from the same publishers and hands it to the same receiver.
// npm run bench [-- --peers] [--rounds 3] [--seconds 20] [--json file]

import { PostgresServer } from '../server/test/postgres/server.ts';
import { measure, medianOf, type Result } from './measure.ts';
import { asked, deliveredText, interleaved, numbersOf, pace, paceText, publish, type Row } from './part.ts';
import { peers } from './peers.ts';
import { floor, onPostgres, onSqlite, POSTGRES_SETTINGS, type Target } from './targets.ts';

interface Both {
  readonly full: Result;
  readonly half: Result;
}

const notRun = new Map<string, string>();

/** Null for a peer that does not run here: it is named in the table, with the reason. */
async function measureBoth(target: Target): Promise<Both | null> {
  if (notRun.has(target.name)) return null;
  try {
    const full = await measure(target, pace);
    const rate = Math.max(10, Math.round(Math.min(full.accepted, full.delivered) / 2));
    return { full, half: await measure(target, pace, { rate }) };
  } catch (error) {
    if (target.isPeer !== true) throw error;
    notRun.set(
      target.name,
      String(error instanceof Error ? error.message : error)
        .split('\n')[0]!
        .slice(0, 200),
    );
    return null;
  }
}

function rowOf(target: Target, each: readonly (Both | null)[], reference: number): Row {
  const whole = each.filter((both) => both !== null);
  if (whole.length === 0) {
    return { name: target.name, text: { durability: `not run: ${notRun.get(target.name)}` }, numbers: {} };
  }
  const full = medianOf(whole.map((both) => both.full));
  const half = numbersOf(medianOf(whole.map((both) => both.half)));
  const halves = Object.entries(half).map(([key, value]) => [`half.${key}`, value]);
  return {
    name: target.name,
    text: { durability: target.durability },
    numbers: { ...numbersOf(full), ...Object.fromEntries(halves), ofFloor: full.delivered / reference },
  };
}

const COLUMNS = [
  ['durability', 'a response means'],
  ['accepted', 'accepted/s'],
  ['delivered', 'delivered/s'],
  ['ofFloor', 'of the floor'],
  ['ackP50', 'response p50, ms'],
  ['ackP99', 'p99'],
  ['ackP999', 'p99.9'],
  ['receivedP50', 'received p50, ms'],
  ['receivedP99', 'p99'],
  ['half.ackP50', 'half load: response p50, ms'],
  ['half.ackP99', 'p99'],
  ['half.ackP999', 'p99.9'],
  ['half.receivedP50', 'received p50, ms'],
  ['half.receivedP99', 'p99'],
  ['cpuUs', 'CPU µs a message'],
  ['databaseCpuUs', 'of the database'],
  ['rssMb', 'memory, MB'],
  ['fileBytes', 'file bytes a message'],
] as const;

const server = await PostgresServer.start({ onDisk: true, settings: POSTGRES_SETTINGS });
try {
  const reference = floor(true, true);
  const targets: Target[] = [floor(false, false), floor(true, false), reference, onSqlite, onPostgres(server)];
  if (asked.peers) targets.push(...(await peers(server)));
  const results = await interleaved(targets, measureBoth, (both) => (both ? deliveredText(both.full) : 'not run'));
  const least = medianOf(results.get(reference)!.map((both) => both!.full)).delivered;
  const refusals = [...results].flatMap(([{ name }, each]) => {
    const refused = each.reduce((sum, both) => sum + (both?.full.refused ?? 0) + (both?.half.refused ?? 0), 0);
    return refused > 0 ? [`${name}: ${refused} were refused or broken off, in all rounds together.`] : [];
  });
  publish('side-by-side', {
    title: 'The floor, Postrider and its peers',
    columns: COLUMNS,
    rows: [...results].map(([target, each]) => rowOf(target, each, least)),
    notes: [
      '“Of the floor” is delivered/s against the floor with the same threads and signing: store in a worker, signed.',
      ...refusals,
    ],
    pace: paceText(),
  });
} finally {
  await server.stop();
}
