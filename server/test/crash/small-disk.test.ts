// A file system that is really full: the server fills it until it refuses, and something else takes the rest. Deliveries
// end all the same, deletes are written and free space, and publishing resumes.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startReceiver } from '../support/receiver.ts';
import { waitFor } from '../support/wait.ts';
import { inScratchFolder } from './scratch-folder.ts';
import { noSmallDisk, SmallDisk } from './small-disk.ts';

const MIB = 1024 * 1024;
const DISK = 128 * MIB;
/** More than the log of the store, as by default. */
const FREE_MIN = 32 * MIB;
const BODY = 'x'.repeat(400_000);
const IN_FLIGHT = 10;
const DEAD = 5;
const options = { skip: noSmallDisk(), timeout: 300_000 };

interface Answer {
  readonly status: number;
  readonly body: { readonly code?: string; readonly messageId?: string; readonly cancelled?: number };
}

for (const isTaken of [false, true]) {
  const what = isTaken ? 'and another process takes the rest of the disk' : 'by the server alone';
  test(`a disk is filled ${what}: deliveries end, deletes free space, and publishing resumes`, options, async (t) => {
    await inScratchFolder('small-disk', async (folder) => {
      const disk = new SmallDisk(folder, DISK, FREE_MIN);
      try {
        await fillAndFree(t, disk, isTaken);
        assert.equal(disk.hasEnded, false, disk.stderr);
      } finally {
        await disk.stop();
      }
    });
  });
}

async function fillAndFree(t: Parameters<typeof startReceiver>[0], disk: SmallDisk, isTaken: boolean): Promise<void> {
  const { api, token } = await disk.ready();
  const call = async (method: string, path: string, headers = {}, body?: string): Promise<Answer> => {
    const init = {
      method,
      headers: { Authorization: `Bearer ${token}`, ...headers },
      ...(body !== undefined && { body }),
    };
    const response = await fetch(`${api}${path}`, init);
    return { status: response.status, body: (await response.json()) as Answer['body'] };
  };
  const stateOf = async (id: string) => ((await call('GET', `/v2/messages/${id}`)).body as { state?: string }).state;
  const publish = (url: string, headers = {}, body = BODY) => call('POST', `/v2/publish/${url}`, headers, body);
  const later = { 'Service-Delay': '300d' };

  const open = Promise.withResolvers<void>();
  const receiver = await startReceiver(t, async () => {
    await open.promise;
    return { status: 200 };
  });
  const held: string[] = [];
  for (let n = 0; n < IN_FLIGHT; n += 1) held.push((await publish(receiver.url, {}, 'small')).body.messageId!);
  const dead: string[] = [];
  for (let n = 0; n < DEAD; n += 1) {
    dead.push((await publish('http://127.0.0.1:9/', { 'Service-Retries': '0' })).body.messageId!);
  }
  await waitFor('the dead letters', async () =>
    (await Promise.all(dead.map(stateOf))).every((state) => state === 'FAILED'),
  );
  await waitFor('the attempts', () => receiver.arrivals.length >= IN_FLIGHT);

  let refused: Answer;
  do refused = await publish('http://127.0.0.1:9/', later);
  while (refused.status === 201);
  assert.deepEqual([refused.status, refused.body.code], [503, 'disk_full']);
  assert.ok(disk.freeBytes > FREE_MIN / 4, `${disk.freeBytes} bytes were left: it was refused too late`);
  if (isTaken) disk.fill();

  open.resolve();
  await waitFor('the deliveries to end', async () =>
    (await Promise.all(held.map(stateOf))).every((state) => state === 'DELIVERED'),
  );
  const deleted = await call('DELETE', '/v2/dlq?all=true');
  assert.deepEqual([deleted.status, (deleted.body as { deleted?: number }).deleted], [200, DEAD]);
  const cancelled = await call('DELETE', '/v2/messages?all=true');
  assert.equal(cancelled.status, 200, JSON.stringify(cancelled.body));
  assert.ok(cancelled.body.cancelled! > 50);
  if (isTaken) disk.empty();
  const resumed = () => publish('http://127.0.0.1:9/', later, 'small');
  await waitFor('publishing to resume', async () => (await resumed()).status === 201);
}
