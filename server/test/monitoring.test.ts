// What is delivered for monitoring agrees with the program: the page of metrics, the alert rules, the runbook and the
// dashboard name the metrics of a running service, and Prometheus' own tool finds the rules right.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { startRider } from './support/harness.ts';
import { lacks, programPath } from './support/machine.ts';
import { waitFor } from './support/wait.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const RULES = join(ROOT, 'deploy', 'prometheus');

const read = (...path: string[]) => readFileSync(join(ROOT, ...path), 'utf8');

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly annotations: { readonly summary: string; readonly runbook: string };
}

const rules = (parse(read('deploy', 'prometheus', 'alerts.yaml')) as { groups: { rules: Rule[] }[] }).groups.flatMap(
  (group) => group.rules,
);

/** The names of all metrics; of histograms also the names of their series. */
function namesIn(text: string): { readonly metrics: Set<string>; readonly series: Set<string> } {
  const types = [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name, type]) => [name!, type!] as const);
  const histogram = (name: string) => ['_bucket', '_sum', '_count'].map((end) => name + end);
  const series = types.flatMap(([name, type]) => (type === 'histogram' ? histogram(name) : [name]));
  return { metrics: new Set(types.map(([name]) => name)), series: new Set(series) };
}

const named = (text: string) => [...text.matchAll(/\b(?:postrider|process)_[a-z_]+/g)].map(([name]) => name);

function promtool(...args: string[]): string {
  const { status, stdout, stderr, error } = spawnSync(programPath('promtool')!, args, { cwd: RULES, encoding: 'utf8' });
  assert.equal(status, 0, `${error ?? ''}${stdout}${stderr}`);
  return stdout;
}

test('the page of metrics has each metric of a service, and no other', async (t) => {
  const rider = await startRider(t);
  const { metrics } = namesIn((await rider.call('GET', '/metrics', { token: null })).text);
  assert.ok(metrics.size > 30);
  const rows = [...read('docs', 'metrics.md').matchAll(/^\| (`[^|]*`) \| (\w+)/gm)];
  const described = new Set(rows.flatMap(([, names]) => named(names!)));
  // Only a service with several lanes has it, and only one on SQLite has the other.
  const missing = new Set([...described].filter((name) => !metrics.has(name)));
  assert.ok(missing.isSubsetOf(new Set(['postrider_lanes', 'postrider_free_bytes'])), [...missing].join());
  assert.deepEqual(
    [...metrics].filter((name) => !described.has(name)),
    [],
  );
});

test('the rules and the dashboard ask for series that a service has', async (t) => {
  const rider = await startRider(t);
  const { series } = namesIn((await rider.call('GET', '/metrics', { token: null })).text);
  series.add('postrider_free_bytes');
  for (const { alert, expr } of rules) {
    const names = named(expr).filter((name) => name !== 'postrider');
    assert.ok(names.length > 0 || expr.includes('up{'), alert);
    for (const name of names) assert.ok(series.has(name), `${alert}: ${name}`);
  }
  const { panels } = JSON.parse(read('deploy', 'grafana', 'postrider.json')) as {
    panels: { title: string; targets: { expr: string }[] }[];
  };
  assert.ok(panels.length > 20);
  for (const { title, targets } of panels) {
    for (const { expr } of targets) {
      assert.ok(named(expr).length > 0, title);
      for (const name of named(expr)) assert.ok(series.has(name), `${title}: ${name}`);
    }
  }
});

test('each rule has its section in the runbook, and each section its rule', () => {
  const sections = [...read('docs', 'runbook.md').matchAll(/^## (\w+)$/gm)].map(([, name]) => name!);
  assert.deepEqual(sections.toSorted(), rules.map(({ alert }) => alert).toSorted());
  for (const { alert, annotations } of rules) {
    assert.equal(annotations.runbook, `docs/runbook.md#${alert.toLowerCase()}`);
    assert.ok(annotations.summary.length > 10, alert);
  }
});

test('Prometheus reads the metrics and the rules, and the rules fire when they should', {
  skip: lacks('promtool'),
}, async (t) => {
  const rider = await startRider(t);
  const text = await waitFor('all metrics', async () => {
    const { text: some } = await rider.call('GET', '/metrics', { token: null });
    return some.includes('\npostrider_dead_letters ') && some;
  });
  const { status, stdout, stderr } = spawnSync(programPath('promtool')!, ['check', 'metrics'], {
    input: text,
    encoding: 'utf8',
  });
  assert.deepEqual([status, stdout, stderr], [0, '', '']);
  promtool('check', 'rules', 'alerts.yaml');
  promtool('test', 'rules', 'alerts.test.yaml');
  const tested = read('deploy', 'prometheus', 'alerts.test.yaml');
  assert.ok(tested.includes(`value: ${rules.length} }`), 'the test of the rules sees each of them fire');
});
