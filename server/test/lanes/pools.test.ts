// Whatever has a limit for the node has it for all lanes together: the table of budgets is walked with four lanes.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { startPostrider } from '../../src/node/main.ts';
import { parseConfig } from '../../src/node/settings/config.ts';
import { BUDGETS } from '../../src/rules/limits/budgets.ts';
import { LANES_MAX } from '../../src/rules/limits/lanes.ts';
import { laneMax, setLanesOfNode } from '../../src/runtime/lane-part.ts';
import { ask } from '../support/client.ts';
import { waitFor } from '../support/wait.ts';

const LANES = 4;

test('with four lanes, no pool of /metrics is larger than the limit of the node', async (t) => {
  const data = mkdtempSync(join(tmpdir(), 'postrider-lane-pools-'));
  const place = ['--data', data, '--port', '0', '--host', '127.0.0.1', '--log-level', 'silent'];
  const parsed = parseConfig('serve', [...place, '--lanes', String(LANES), '--metrics-port', '0'], {});
  assert.ok('config' in parsed);
  const { config } = parsed;
  const postrider = await startPostrider(config);
  t.after(async () => {
    await postrider.close();
    rmSync(data, { recursive: true });
    setLanesOfNode(1);
  });
  const { origin } = new URL(postrider.metricsUrl!);
  const text = await waitFor('all lanes', async () => {
    const answer = await ask(origin, '/metrics', {});
    return answer.text.includes(`\npostrider_lanes ${LANES}\n`) && answer.text;
  });
  const settings = new Map([['--concurrency', config.concurrency]]);
  const pools = [...text.matchAll(/^postrider_pool_max\{pool="(\w+)"\} (\d+)$/gm)];
  assert.ok(pools.length >= 12);
  for (const [, name, size] of pools) {
    const { node } = BUDGETS[name as keyof typeof BUDGETS];
    const max = typeof node === 'number' ? node : settings.get(node!)!;
    assert.ok(Number(size) <= max && Number(size) > max / 2, `${name}: ${size} of ${max}`);
  }
});

test('for every number of lanes, the parts of each limit are no more than the limit, and none is nothing', (t) => {
  t.after(() => setLanesOfNode(1));
  const rows = Object.entries(BUDGETS).filter(([, { node }]) => typeof node === 'number');
  for (let lanes = 1; lanes <= LANES_MAX; lanes += 1) {
    setLanesOfNode(lanes);
    for (const [row, { node, account }] of rows) {
      const part = laneMax(row as keyof typeof BUDGETS);
      assert.ok(part >= (account === 'share' ? 2 : 1), `${row}: ${part}`);
      // Where there are more lanes than there may be of something, each has one.
      assert.ok(part * lanes <= Math.max(node as number, lanes), `${row}: ${lanes} times ${part}`);
    }
  }
});
