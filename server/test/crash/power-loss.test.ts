// Power loss, which kill -9 cannot show: what was written but not flushed is gone, in part, or torn. Whatever the moment
// of the cut, the store opens, and all that was acknowledged is in it. The same test must see a store lose messages that
// does not flush, or it would prove nothing.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { checkHistory } from '../checker/check.ts';
import { Chance } from '../simulation/chance.ts';
import { lengthOf } from '../support/campaign.ts';
import { chooseCuts, Disk } from './disk.ts';
import { type DiskRecord, readDiskLog, THE_DIRECTORY } from './disk-log.ts';
import { checkImage } from './image-check.ts';
import { powerCampaign } from './power-campaign.ts';
import { inScratchFolder } from './scratch-folder.ts';
import { noShim, Shim } from './shim.ts';
import { DATABASE } from './store-file.ts';
import { chooseSeed } from './trial.ts';

const CUTS = lengthOf({ short: 1, rest: 2, whole: 3 });
const IMAGES_PER_CUT = lengthOf({ short: 4, rest: 6, whole: 12 });
const WRITER_MESSAGES = 600;
const WRITER_IMAGES = lengthOf({ short: 4, rest: 10, whole: 20 });
const CREATION_IMAGES = lengthOf({ short: 8, rest: 16, whole: 40 });
const LARGE = 300;
const MOVED_MESSAGES = 150;
const MOVED_LARGE_EVERY = 40;
/** Long enough for commits beside a move, short enough for a few moves. */
const MOVED_FLUSH_MS = 5;
const MOVED_IMAGES = lengthOf({ short: 4, rest: 8, whole: 20 });
/** The few steps before there is a log, where SQLite works in another way than ever after. */
const IMAGES_PER_FIRST_STEP = lengthOf({ short: 1, rest: 3, whole: 6 });

const skip = noShim();

test('a server whose power is cut again and again keeps every promise', { skip, timeout: 600_000 }, async (t) => {
  const seed = chooseSeed();
  await inScratchFolder('power', async (folder) => {
    const shim = new Shim(folder);
    const report = await powerCampaign({ folder, shim, seed, cuts: CUTS, imagesPerCut: IMAGES_PER_CUT });
    const { history, problems } = report;
    t.diagnostic(
      `${report.images} images of ${CUTS} runs (${report.flushes} flushes, ${report.recordedBytes >> 20} MiB written): ` +
        `${problems.length} bad; ${history.stored.length} messages went on from image to image and ended`,
    );
    assert.equal(problems.length, 0, `seed ${seed} (CRASH_SEED)\n${problems.slice(0, 20).join('\n')}`);
    const broken = checkHistory(history);
    assert.equal(broken.length, 0, `seed ${seed} (CRASH_SEED)\n${broken.slice(0, 20).join('\n')}`);
    assert.equal(report.images, CUTS * IMAGES_PER_CUT);
    assert.ok(report.flushes > 0, 'the shim is in the way of what the server writes');
  });
});

for (const [synchronous, loses] of [
  ['FULL', false],
  ['NORMAL', true],
] as const) {
  const what = loses ? 'loses acknowledged messages, and this test sees it' : 'loses none';
  test(`a store that flushes with synchronous = ${synchronous} ${what}`, { skip, timeout: 300_000 }, async (t) => {
    const seed = chooseSeed();
    await inScratchFolder('writer', async (folder) => {
      const { images, bad } = writerImages(folder, synchronous, new Chance(seed));
      t.diagnostic(`${bad.length} of ${images} images have lost something`);
      assert.equal(bad.length > 0, loses, `seed ${seed} (CRASH_SEED)\n${bad.slice(0, 10).join('\n')}`);
      assert.ok(
        bad.every((problem) => problem.includes('lost')),
        `no image is damaged, at worst it is old: seed ${seed} (CRASH_SEED)\n${bad.join('\n')}`,
      );
    });
  });
}

test('a store whose power is cut while it is created opens', { skip, timeout: 300_000 }, async () => {
  const seed = chooseSeed();
  await inScratchFolder('creation', async (folder) => {
    const chance = new Chance(seed);
    const { records, acks } = recordWriter(folder, 'FULL', 1);
    const toLog = records.findIndex((record) => 'name' in record && record.name === `${DATABASE}-wal`);
    assert.ok(toLog > 0, 'the log of the disk shows how the log of the store begins');
    const firstSteps = records.slice(0, toLog).flatMap(({ end }) => Array<number>(IMAGES_PER_FIRST_STEP).fill(end));
    const untilAck = records.filter(({ end }) => end <= acks[0]!.mark);
    const cuts = [...firstSteps, ...chooseCuts(untilAck, [], CREATION_IMAGES, chance)].sort((a, b) => a - b);
    assert.deepEqual(imageProblems(folder, records, cuts, [], chance), [], `seed ${seed} (CRASH_SEED)`);
  });
});

test('a store whose log is copied beside its writer loses none', { skip, timeout: 300_000 }, async (t) => {
  const seed = chooseSeed();
  await inScratchFolder('moved', async (folder) => {
    const chance = new Chance(seed);
    const argv = [join(folder, 'data'), String(MOVED_MESSAGES), String(MOVED_LARGE_EVERY)];
    const run = runRecorded(folder, [join(import.meta.dirname, 'moved-writer.ts'), ...argv], {
      flushMs: MOVED_FLUSH_MS,
    });
    assert.equal(run.signal, 'SIGKILL', run.stderr);
    const acks = acksOf(run.stdout);
    assert.equal(acks.length, MOVED_MESSAGES);
    // The pages of the database, and where the log begins anew.
    const fileOf = (name: string) => run.records.find((record) => 'name' in record && record.name === name)!.file;
    const [database, log] = [fileOf(DATABASE), fileOf(`${DATABASE}-wal`)];
    const moves = run.records.filter(
      (record) =>
        record.kind === 'written' && (record.file === database || (record.file === log && record.offset === 0)),
    );
    const begun = moves.filter(({ file, start }) => file === log && start > acks[0]!.mark);
    assert.ok(begun.length > 0, 'the log was begun anew');
    const cuts = [
      ...Array.from({ length: MOVED_IMAGES }, () => chance.pick(moves).end),
      ...chooseCuts(run.records, [acks.map(({ mark }) => mark)], MOVED_IMAGES, chance),
    ].sort((a, b) => a - b);
    t.diagnostic(`${cuts.length} images; the log was begun anew ${begun.length} times`);
    assert.deepEqual(imageProblems(folder, run.records, cuts, acks, chance), [], `seed ${seed} (CRASH_SEED)`);
  });
});

for (const opener of ['service', 'command'] as const) {
  const name = `a log that a failed flush left is on disk before a ${opener} makes anything of it`;
  test(name, { skip, timeout: 300_000 }, async () => {
    const seed = chooseSeed();
    await inScratchFolder('flushed', async (folder) => {
      const chance = new Chance(seed);
      const [first, second] = [join(folder, 'first'), join(folder, 'second')];
      for (const each of [first, second]) mkdirSync(each);
      const large = ['FULL', 2 * LARGE, LARGE] as const;
      const { records: whole } = runWriter(first, large);
      const flushes = whole.filter(({ kind, file }) => kind === 'flushed' && file !== THE_DIRECTORY).length;
      const failed = runWriter(second, large, flushes);
      assert.match(failed.stderr, /disk I\/O error/, 'the last flush is that of the second transaction');
      const { records } = opener === 'service' ? runWriter(second, ['FULL', 0, 1]) : askForToken(second);
      const moments = records.slice(failed.records.length).map(({ end }) => end);
      const cuts = Array.from({ length: CREATION_IMAGES }, () => chance.pick(moments)).sort((a, b) => a - b);
      assert.deepEqual(imageProblems(second, records, cuts, [], chance), [], `seed ${seed} (CRASH_SEED)`);
    });
  });
}

function writerImages(folder: string, synchronous: 'FULL' | 'NORMAL', chance: Chance) {
  const { records, acks } = recordWriter(folder, synchronous, WRITER_MESSAGES);
  const marks = acks.map(({ mark }) => mark);
  const cuts = chooseCuts(records, [marks], WRITER_IMAGES, chance);
  return { images: cuts.length, bad: imageProblems(folder, records, cuts, acks, chance) };
}

function recordWriter(folder: string, synchronous: 'FULL' | 'NORMAL', messages: number) {
  const { signal, stdout, stderr, records } = runWriter(folder, [synchronous, messages, 1]);
  assert.equal(signal, 'SIGKILL', stderr);
  const acks = acksOf(stdout);
  assert.equal(acks.length, messages);
  return { records, acks };
}

function acksOf(stdout: string) {
  return stdout
    .trim()
    .split('\n')
    .map((line) => line.split(' ') as [string, string])
    .map(([id, mark]) => ({ id, mark: Number(mark) }));
}

/** The arguments after the directory, and the number of the first flush that fails, if one is to fail. */
function runWriter(
  folder: string,
  [synchronous, messages, perCommit]: readonly ['FULL' | 'NORMAL', number, number],
  failFsync?: number,
) {
  const argv = [join(folder, 'data'), synchronous, String(messages), String(perCommit)];
  const faults = failFsync === undefined ? {} : { failFsync };
  return runRecorded(folder, [join(import.meta.dirname, 'writer.ts'), ...argv], faults);
}

/** It gets none: the store of the writer has no account. But the store was opened, and is closed again. */
function askForToken(folder: string) {
  const bin = join(import.meta.dirname, '..', '..', 'bin', 'postrider.js');
  const argv = ['token', 'create', '--admin', '--data', join(folder, 'data')];
  const run = runRecorded(folder, [bin, ...argv]);
  assert.match(run.stderr, /account/);
  return run;
}

function runRecorded(folder: string, argv: readonly string[], faults: Parameters<Shim['env']>[2] = {}) {
  const log = join(folder, 'disk.log');
  const env = { ...process.env, ...new Shim(folder).env(join(folder, 'data'), log, faults) };
  const { signal, stdout, stderr } = spawnSync(process.execPath, argv, { encoding: 'utf8', env });
  return { signal, stdout, stderr, records: readDiskLog(readFileSync(log)) };
}

/** The first problem of each bad image. */
function imageProblems(
  folder: string,
  records: readonly DiskRecord[],
  cuts: readonly number[],
  acks: readonly { id: string; mark: number }[],
  chance: Chance,
): string[] {
  const disk = new Disk(records);
  return cuts.flatMap((point) => {
    disk.advance(point);
    const accepted = acks.filter(({ mark }) => mark <= point).map(({ id }) => id);
    const promised = { accepted, arrivals: new Map<string, number>() };
    return checkImage(disk.imageAfterPowerCut(chance), join(folder, 'image'), promised).slice(0, 1);
  });
}
