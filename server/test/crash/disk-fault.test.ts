// A disk that fails or is full. A failed flush ends the process, because nobody knows what was kept; a full disk refuses
// publishing until there is room again.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { failedFlush, fullDisk, onFillableDisk } from './disk-fault-campaign.ts';
import { inScratchFolder } from './scratch-folder.ts';
import { noShim, Shim } from './shim.ts';
import { chooseSeed } from './trial.ts';

const IMAGES = 25;
const options = { skip: noShim(), timeout: 300_000 };

test('a failed flush stops the server, and what it accepts once restarted outlives a power cut', options, async (t) => {
  const seed = chooseSeed();
  await inScratchFolder('flush', async (folder) => {
    const report = await failedFlush({ folder, shim: new Shim(folder), seed, images: IMAGES });
    assert.deepEqual(report.exit, { code: 1, signal: null });
    assert.match(
      report.stderr,
      /"level":60,.*"postrider stops: SQLite can no longer write its file: disk I\/O error\. Check the disk, then start the server again/,
    );
    t.diagnostic(`${2 * IMAGES} images, ${report.problems.length} of them bad`);
    assert.deepEqual(report.problems, [], `seed ${seed} (CRASH_SEED)`);
  });
});

test(
  'a full disk refuses publishing with 503 disk_full, and publishing works again when there is room',
  options,
  async () => {
    await inScratchFolder('full', async (folder) => {
      const exit = await onFillableDisk({ folder, shim: new Shim(folder) }, async (api, token, setFull) => {
        const publish = () =>
          fetch(`${api}/v2/publish/http://127.0.0.1:9/`, {
            method: 'POST',
            headers: { Authorization: `Bearer ${token}`, 'Service-Delay': '1h' },
          });
        assert.equal((await publish()).status, 201);
        setFull(true);
        const refused = await publish();
        assert.equal(refused.status, 503);
        assert.equal(((await refused.json()) as { code: string }).code, 'disk_full');
        assert.ok(Number(refused.headers.get('retry-after')) > 0);
        assert.equal((await fetch(`${api}/readyz`)).status, 503, 'also where the system tells of free space');
        setFull(false);
        assert.equal((await publish()).status, 201);
        assert.equal((await fetch(`${api}/readyz`)).status, 200);
      });
      assert.equal(exit.code, 0);
    });
  },
);

test('a disk that is full now and then, under load, delays messages and loses none', options, async (t) => {
  const seed = chooseSeed();
  await inScratchFolder('full-load', async (folder) => {
    const report = await fullDisk({ folder, shim: new Shim(folder), seed });
    t.diagnostic(`${report.publishes} publishes, ${report.refusals.length} of them refused`);
    assert.deepEqual(report.problems.slice(0, 20), [], `seed ${seed} (CRASH_SEED)`);
    assert.deepEqual(
      report.refusals.filter((refusal) => !/^503 .*"disk_full"/.test(refusal)),
      [],
    );
    assert.ok(report.refusals.length > 0, 'the disk was full while somebody published');
  });
});
