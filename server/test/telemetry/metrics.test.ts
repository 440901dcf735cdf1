// The metrics of several lanes as one text, and the counters of lanes that have ended.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addCounters, Metrics, metricsText } from '../../src/telemetry/metrics.ts';

function lane(accepted: number) {
  const metrics = new Metrics();
  const count = metrics.counter('accepted_total', 'Accepted.');
  if (accepted > 0) count('way="publish"', accepted);
  metrics.gauge('in_flight', 'In flight.', () => 1);
  return metrics.values();
}

function linesOf(text: string): string[] {
  return text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
}

test('the lanes are added up, and one that has not counted yet adds no line of its own', () => {
  assert.deepEqual(linesOf(metricsText([lane(0), lane(2), lane(3)])), [
    'accepted_total{way="publish"} 5',
    'in_flight 3',
  ]);
  assert.deepEqual(linesOf(metricsText([lane(2), lane(0)])), ['accepted_total{way="publish"} 2', 'in_flight 2']);
  assert.deepEqual(linesOf(metricsText([lane(0), lane(0)])), ['accepted_total 0', 'in_flight 2']);
});

test('of lanes that have ended the counters stay, and the gauges do not', () => {
  const ended = addCounters(addCounters(new Map(), lane(2)), lane(3));
  assert.deepEqual(linesOf(metricsText([lane(1), ended])), ['accepted_total{way="publish"} 6', 'in_flight 1']);
});
