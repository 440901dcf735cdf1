// A disk whose flushes fail, and one that is full now and then, under a real server with load.

import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { checkHistory } from '../checker/check.ts';
import { Chance } from '../simulation/chance.ts';
import { chooseCuts, Disk } from './disk.ts';
import { type DiskRecord, readDiskLog } from './disk-log.ts';
import { checkImage } from './image-check.ts';
import { type Exit, ServerProcess } from './server-process.ts';
import { logLength, type Shim } from './shim.ts';
import { readStored } from './store-file.ts';
import { Trial } from './trial.ts';

const PUBLISHES_AFTER = 150;
/** After those of a start, so that the server is at work; before the end of what is published. */
const FLUSH_TO_FAIL = { least: 20, most: 180 };
const FULL_TIMES = 8;

interface FaultOptions {
  readonly folder: string;
  readonly shim: Shim;
  readonly seed: number;
}

export interface FailedFlushReport {
  readonly exit: Exit;
  readonly stderr: string;
  readonly problems: readonly string[];
}

/**
 * From some flush on all of them fail. The server ends, is started again on a disk that works, and then the power is
 * cut: as many images are from the restart as from the whole run. The system shows the new process pages that were never
 * written: it must not build on them.
 */
export async function failedFlush(options: FaultOptions & { readonly images: number }): Promise<FailedFlushReport> {
  const { folder, shim, seed, images } = options;
  const chance = new Chance(seed);
  const [directory, log] = [join(folder, 'data'), join(folder, 'disk.log')];
  const mark = () => logLength(log);
  return Trial.run(seed, mark, async (trial) => {
    const failFsync = (await flushesOfStart(folder, shim)) + chance.between(FLUSH_TO_FAIL.least, FLUSH_TO_FAIL.most);
    const failing = await trial.start(directory, shim.env(directory, log, { failFsync }));
    const exit = await failing.exited;
    await trial.quiet();
    const server = await trial.start(directory, shim.env(directory, log));
    await trial.published(trial.publishers.log.length + PUBLISHES_AFTER);
    await server.kill();
    await trial.quiet();

    const accepted = trial.publishers.log.filter(({ outcome }) => outcome === 'ok');
    const records = readDiskLog(readFileSync(log));
    const disk = new Disk(records);
    const marks = accepted.map(({ endedMark }) => endedMark);
    const cuts = [...chooseCuts(records, [marks], images, chance), ...cutsOfRestart(records, images, chance)];
    const problems = cuts
      .sort((a, b) => a - b)
      .flatMap((point) => {
        disk.advance(point);
        const before = accepted.filter(({ endedMark }) => endedMark <= point).flatMap(({ messages }) => messages);
        const promised = { accepted: before.map(({ id }) => id!), arrivals: new Map<string, number>() };
        return checkImage(disk.imageAfterPowerCut(chance), join(folder, 'image'), promised).slice(0, 1);
      });
    return { exit, stderr: failing.stderr, problems };
  });
}

/** How often a server flushes that starts on an empty directory, and stops. */
async function flushesOfStart(folder: string, shim: Shim): Promise<number> {
  const [directory, log] = [join(folder, 'start'), join(folder, 'start.log')];
  const server = new ServerProcess(['--data', directory], shim.env(directory, log));
  await server.ready;
  await server.stop();
  return readDiskLog(readFileSync(log)).filter(({ kind }) => kind === 'flushed').length;
}

/** While the second process opens the store: it reads what the first one wrote, and not all of that is on disk. */
function cutsOfRestart(records: readonly DiskRecord[], count: number, chance: Chance): number[] {
  const restart = records.slice(records.findLastIndex(({ kind }) => kind === 'started'));
  const opened = restart.findIndex((record) => record.kind === 'truncated' && record.size === 0);
  if (opened < 0) throw new Error('the log was not emptied at the restart');
  const ends = restart.slice(0, opened).map(({ end }) => end);
  return Array.from({ length: count }, () => chance.pick(ends));
}

export interface FullDiskReport {
  readonly publishes: number;
  readonly refusals: readonly string[];
  readonly problems: readonly string[];
}

/** The disk is full for a moment, again and again. The server must get over it by itself, without a restart. */
export async function fullDisk({ folder, shim, seed }: FaultOptions): Promise<FullDiskReport> {
  const chance = new Chance(seed);
  const [directory, fullFlag] = [join(folder, 'data'), join(folder, 'full')];
  return Trial.run(
    seed,
    () => 0,
    async (trial) => {
      const server = await trial.start(directory, shim.env(directory, join(folder, 'disk.log'), { fullFlag }));
      for (let times = 0; times < FULL_TIMES; times += 1) {
        await wait(chance.between(50, 500));
        writeFileSync(fullFlag, '');
        await wait(chance.between(5, 150));
        rmSync(fullFlag);
      }
      await trial.finish(server, directory);
      const history = trial.history(readStored(directory));
      const { refusals } = trial.publishers;
      return { publishes: history.publishes.length, refusals, problems: checkHistory(history) };
    },
  );
}

/** A server on a disk that can be filled and emptied, for a look at its answers. */
export async function onFillableDisk(
  { folder, shim }: Omit<FaultOptions, 'seed'>,
  work: (api: string, token: string, setFull: (isFull: boolean) => void) => Promise<void>,
): Promise<Exit> {
  const [directory, fullFlag] = [join(folder, 'data'), join(folder, 'full')];
  const server = new ServerProcess(['--data', directory], shim.env(directory, join(folder, 'disk.log'), { fullFlag }));
  try {
    const { api, token } = await server.ready;
    await work(api, token!, (isFull) => (isFull ? writeFileSync(fullFlag, '') : rmSync(fullFlag)));
    return await server.stop();
  } finally {
    await server.kill();
  }
}
