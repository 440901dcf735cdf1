// What a node measures of hosts is bounded, written in pieces, and tried again once if it could not be written.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Attempt } from '../../src/rules/delivery/message.ts';
import type { MeasuredHost } from '../../src/rules/hosts/host-health.ts';
import { accountMax, nodeMax } from '../../src/rules/limits/budgets.ts';
import { HOSTS_AT_ONCE, HostHealthMeter } from '../../src/upkeep/host-health.ts';

const ATTEMPT: Attempt = {
  number: 1,
  startedAt: 0,
  endedAt: 10,
  outcome: 'answered',
  status: 200,
  error: null,
  nextAt: null,
  responseHeaders: [],
  responseBody: new Uint8Array(0),
  isResponseBodyCut: false,
};

function meterOn(write: (measured: readonly MeasuredHost[]) => unknown) {
  return new HostHealthMeter({ addHostHealth: async (measured) => Number(write(measured) ?? 0) });
}

const attemptsOf = (measured: readonly MeasuredHost[]) =>
  measured.reduce((sum, { health }) => sum + health.spans.reduce((all, { attempts }) => all + attempts, 0), 0);

test('an account and the node have room for so many hosts; the attempts to others are counted as not measured', async () => {
  const written: MeasuredHost[] = [];
  const meter = meterOn((measured) => {
    assert.ok(measured.length <= HOSTS_AT_ONCE);
    written.push(...measured);
  });
  const accounts = nodeMax('hosts') / accountMax('hosts') + 1;
  for (let account = 0; account < accounts; account += 1) {
    for (let host = 0; host <= accountMax('hosts'); host += 1) {
      meter.note({ accountId: `acc_${account}`, host: `h${host}:443` }, ATTEMPT);
    }
  }
  await meter.task.run();
  assert.equal(written.length, nodeMax('hosts'));
  assert.equal(meter.unmeasured, accounts * (accountMax('hosts') + 1) - nodeMax('hosts'));
  // After the write there is room again.
  meter.note({ accountId: 'acc_new', host: 'new:443' }, ATTEMPT);
  await meter.write('acc_new');
  assert.equal(written.at(-1)!.accountId, 'acc_new');
});

test('what could not be written is written by the next run', async () => {
  const written: MeasuredHost[] = [];
  let isDown = true;
  const meter = meterOn((measured) => {
    if (isDown) throw new Error('the store is down');
    written.push(...measured);
  });
  meter.note({ accountId: 'acc_1', host: 'a:443' }, ATTEMPT);
  // A person who reads the hosts meanwhile gets what is known.
  await meter.write('acc_1');
  await assert.rejects(meter.task.run());
  isDown = false;
  meter.note({ accountId: 'acc_1', host: 'a:443' }, ATTEMPT);
  await meter.task.run();
  assert.equal(attemptsOf(written), 2);
});

test('as long as writes fail, what waits for one is added up by host and does not grow', async () => {
  let isDown = true;
  const written: MeasuredHost[] = [];
  const meter = meterOn((measured) => {
    if (isDown) throw new Error('the store is down');
    written.push(...measured);
  });
  for (let run = 0; run < 5; run += 1) {
    meter.note({ accountId: 'acc_1', host: 'a:443' }, ATTEMPT);
    meter.note({ accountId: 'acc_2', host: 'a:443' }, ATTEMPT);
    // A read of the hosts fails to write as well.
    await meter.write('acc_2');
    await assert.rejects(meter.task.run());
  }
  isDown = false;
  await meter.task.run();
  assert.deepEqual(written.map(({ accountId, health }) => [accountId, health.spans[0]!.attempts]).toSorted(), [
    ['acc_1', 5],
    ['acc_2', 5],
  ]);

  isDown = true;
  for (let host = 0; host < nodeMax('hosts') + 1; host += 1) {
    if (host > 0 && host % accountMax('hosts') === 0) await assert.rejects(meter.task.run());
    meter.note({ accountId: `acc_${Math.floor(host / accountMax('hosts'))}`, host: `h${host}:443` }, ATTEMPT);
  }
  await assert.rejects(meter.task.run());
  assert.equal(meter.unmeasured, 1, 'one host more than the node keeps');
});

test('attempts that the store leaves out are counted as not measured', async () => {
  const meter = meterOn((measured) => attemptsOf(measured));
  for (let n = 0; n < 3; n += 1) meter.note({ accountId: 'acc_1', host: 'a:443' }, ATTEMPT);
  await meter.task.run();
  assert.equal(meter.unmeasured, 3);
});
