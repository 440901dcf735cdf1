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

test('a histogram counts each time below its bounds, and adds up over lanes and over those that have ended', () => {
  const lane = (...times: number[]) => {
    const metrics = new Metrics();
    const observe = metrics.histogram('took_seconds', 'Took.');
    for (const ms of times) observe(ms);
    return metrics.values();
  };
  const text = metricsText([lane(5, 6, 7_200_001), addCounters(addCounters(new Map(), lane(-1)), lane(100))]);
  assert.match(text, /^# TYPE took_seconds histogram$/m);
  const counts = new Map(linesOf(text).map((line) => line.split(' ') as [string, string]));
  assert.deepEqual(
    ['0.005', '0.01', '0.05', '0.1', '7200', '+Inf'].map((bound) => counts.get(`took_seconds_bucket{le="${bound}"}`)),
    ['2', '3', '3', '4', '4', '5'],
  );
  assert.equal(counts.get('took_seconds_count'), '5');
  assert.ok(Math.abs(Number(counts.get('took_seconds_sum')) - 7200.112) < 1e-6);
});

test('of lanes that have ended the counters stay, and the gauges do not', () => {
  const ended = addCounters(addCounters(new Map(), lane(2)), lane(3));
  assert.deepEqual(linesOf(metricsText([lane(1), ended])), ['accepted_total{way="publish"} 6', 'in_flight 1']);
});
