// A chain of power cuts. The real server works under load while everything it writes is recorded; then many images of
// what the disk may hold after a cut are opened and looked through, and the server goes on from one of them, as if that
// cut had happened and nothing after it. In the end it is left alone, and the whole chain is judged like any other run.

import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Arrival, History } from '../checker/history.ts';
import { Chance } from '../simulation/chance.ts';
import { chooseCuts, Disk, type Image } from './disk.ts';
import { readDiskLog } from './disk-log.ts';
import { checkImage, type Promised, writeImage } from './image-check.ts';
import type { LoggedPublish } from './publishers.ts';
import type { Marked } from './receiver.ts';
import { logLength, type Shim } from './shim.ts';
import { readStored } from './store-file.ts';
import { Trial } from './trial.ts';

const PUBLISHES_PER_RUN = 350;
/** A slow disk: what wrongly does not wait for a flush overtakes it. */
const FLUSH_MS = 12;

export interface PowerReport {
  readonly history: History;
  /** What is wrong with single images, each with its cut. */
  readonly problems: readonly string[];
  readonly images: number;
  readonly flushes: number;
  readonly recordedBytes: number;
}

/** What clients and receiver have seen. */
interface Seen {
  readonly publishes: readonly LoggedPublish[];
  readonly arrivals: readonly Marked<Arrival>[];
}

export function powerCampaign(options: {
  readonly folder: string;
  readonly shim: Shim;
  readonly seed: number;
  readonly cuts: number;
  readonly imagesPerCut: number;
  readonly onImage?: () => void;
}): Promise<PowerReport> {
  const { folder, shim, seed, cuts, imagesPerCut, onImage = () => {} } = options;
  let log = '';
  return Trial.run(
    seed,
    () => logLength(log),
    async (trial) => {
      const { publishers, receiver } = trial;
      const chance = new Chance(seed);
      const problems: string[] = [];
      let seen: Seen = { publishes: [], arrivals: [] };
      let [images, flushes, recordedBytes] = [0, 0, 0];
      let directory = join(folder, 'data-0');

      const seenDuring = async (work: () => Promise<void>): Promise<Seen> => {
        const [publishes, arrivals] = [publishers.log.length, receiver.arrivals.length];
        await work();
        return { publishes: publishers.log.slice(publishes), arrivals: receiver.arrivals.slice(arrivals) };
      };

      for (let cut = 1; cut <= cuts && problems.length === 0; cut += 1) {
        log = join(folder, `disk-${cut}.log`);
        const before = readImage(directory);
        const run = await seenDuring(async () => {
          const server = await trial.start(directory, shim.env(directory, log, { flushMs: FLUSH_MS }));
          await trial.published(publishers.log.length + PUBLISHES_PER_RUN);
          await server.kill();
          await trial.quiet();
        });
        const bytes = readFileSync(log);
        const records = readDiskLog(bytes);
        flushes += records.filter(({ kind }) => kind === 'flushed').length;
        recordedBytes += bytes.length;

        const marks = run.publishes.filter(({ outcome }) => outcome === 'ok').map(({ endedMark }) => endedMark);
        const disk = new Disk(records, before);
        const arrivalMarks = run.arrivals.map(({ mark }) => mark);
        for (const point of chooseCuts(records, [marks, arrivalMarks], imagesPerCut, chance)) {
          disk.advance(point);
          const promised = promisedBy(seenUntil(point, seen, run));
          const wrong = checkImage(disk.imageAfterPowerCut(chance), join(folder, 'image'), promised);
          if (wrong.length > 0) problems.push(`cut at ${point} of ${log}: ${wrong.length} times, such as: ${wrong[0]}`);
          images += 1;
          onImage();
        }

        const latest = marks.slice(-Math.ceil(marks.length / 2));
        const late = records.filter(({ start }) => start >= latest[0]!);
        const [point] = chooseCuts(late, [latest], 1, chance) as [number];
        seen = seenUntil(point, seen, run);
        directory = join(folder, `data-${cut}`);
        const goingOn = new Disk(records, before);
        goingOn.advance(point);
        writeImage(goingOn.imageAfterPowerCut(chance), directory);
        trial.noteCrash(directory);
        if (problems.length === 0) rmSync(log);
      }
      const last = await seenDuring(async () => trial.finish(await trial.start(directory), directory));
      const history = trial.history(readStored(directory), {
        publishes: [...seen.publishes, ...last.publishes],
        arrivals: [...seen.arrivals, ...last.arrivals],
      });
      return { history, problems, images, flushes, recordedBytes };
    },
  );
}

/** The files as they stand before a run; there are none before the first. */
function readImage(directory: string): Image {
  const names = existsSync(directory) ? readdirSync(directory).filter((name) => !name.endsWith('-shm')) : [];
  return new Map(names.map((name) => [name, readFileSync(join(directory, name))]));
}

/** What had been seen when the power went at `point` of a run: an answer that came later is none, the rest never was. */
function seenUntil(point: number, before: Seen, run: Seen): Seen {
  const publishes = run.publishes
    .filter(({ askedMark }) => askedMark <= point)
    .map((publish) => {
      if (publish.endedMark <= point) return publish;
      const messages = publish.messages.map((message) => ({ ...message, id: null }));
      return { ...publish, outcome: 'unknown' as const, messages };
    });
  return {
    publishes: [...before.publishes, ...publishes],
    arrivals: [...before.arrivals, ...run.arrivals.filter(({ mark }) => mark <= point)],
  };
}

function promisedBy({ publishes, arrivals }: Seen): Promised {
  const accepted = publishes.filter(({ outcome }) => outcome === 'ok').flatMap(({ messages }) => messages);
  const times = new Map<string, number>();
  for (const { messageId } of arrivals) times.set(messageId, (times.get(messageId) ?? 0) + 1);
  return { accepted: accepted.map(({ id }) => id!), arrivals: times };
}
