// Parking: when a host is parked, when probes go out, and how it opens again, whatever the order of the results.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  afterNews,
  backlogOf,
  FAILURES_TO_PARK,
  type HostNews,
  hostOfBacklog,
  isOpenAgain,
  isParked,
  OPENING_KEPT_MS,
  OPENING_STEP_MAX,
  outageInAccount,
  outageInQueue,
  type Parking,
  PROBE_WAITS_MS,
  parkedByHand,
  parkingBacklog,
  parkingRoom,
  parks,
  resumedByHand,
  shownOutage,
  trialOf,
} from '../../../src/rules/hosts/parking.ts';

const NOW = 1_800_000_000_000;

function news(some: Partial<HostNews>): HostNews {
  return {
    accountId: 'acc',
    host: 'h:443',
    answers: 0,
    answeredAttemptAt: null,
    failures: 0,
    failingSince: (some.failures ?? 0) > 0 ? (some.at ?? NOW) : null,
    hasFailedProbe: false,
    at: NOW,
    messageId: 'msg',
    ...some,
  };
}

const failed = (failures = 1, at = NOW) => news({ failures, at });
const answered = (answers = 1, at = NOW, startedAt = at) => news({ answers, answeredAttemptAt: startedAt, at });

function parked(at = NOW): Parking {
  return afterNews(null, failed(FAILURES_TO_PARK, at), null).parking!;
}

test('ten failures in a row park a host; an answer between them, of this node or another, begins anew', () => {
  const nine = afterNews(null, failed(9), null).parking!;
  assert.equal(nine.parkedAt, null);
  const { parking, events } = afterNews(nine, failed(1, NOW + 5), null);
  assert.deepEqual([parking!.parkedAt, parking!.probeAt, events], [NOW + 5, NOW + 5005, ['parked']]);
  assert.equal(afterNews(nine, news({ answers: 1, failures: 1 }), null).parking!.failures, 1);
  assert.equal(afterNews(nine, failed(), NOW + 1).parking!.failures, 1);
  assert.equal(afterNews(nine, failed(), NOW - 1).parking!.parkedAt, NOW);
  assert.equal(afterNews(nine, failed(5), null, false).parking!.parkedAt, null);
  assert.deepEqual(afterNews(nine, answered(), null), { parking: null, events: [] });
});

test('probes follow after 5, 10, 20, 40 s, and then each minute', () => {
  let parking = parked();
  let now = NOW;
  for (const waitMs of [...PROBE_WAITS_MS, 60_000, 60_000]) {
    assert.equal(parkingRoom(parking, 0, now + waitMs - 1), 0);
    now += waitMs;
    assert.deepEqual([parkingRoom(parking, 0, now), parkingRoom(parking, 1, now)], [1, 0]);
    parking = afterNews(parking, { ...failed(1, now), hasFailedProbe: true }, null).parking!;
  }
  assert.equal(parking.parkedAt, NOW);
});

test('only an attempt that began after the host was parked opens it, and no failure of others moves a probe', () => {
  const before = parked();
  assert.equal(afterNews(before, answered(1, NOW + 5, NOW - 1), null).parking, before);
  assert.equal(afterNews(before, failed(3), null).parking, before);
  const { parking, events } = afterNews(before, answered(1, NOW + 5, NOW), null);
  assert.deepEqual([parking!.step, isParked(parking!), events], [1, false, ['resumed']]);
});

test('a host opens in steps, and is parked again at once if it fails', () => {
  let opening = afterNews(parked(), answered(), null).parking!;
  const steps: number[] = [];
  for (let count = 0; opening; count += 1) {
    assert.ok(count < 2 * OPENING_STEP_MAX);
    if (steps.at(-1) !== opening.step) steps.push(opening.step);
    opening = afterNews(opening, answered(), null).parking!;
  }
  assert.deepEqual(steps, [1, 2, 4, 8, 16, 32, 64]);
  const one = afterNews(parked(), answered(), null).parking!;
  assert.deepEqual(afterNews(one, failed(1, NOW + 9), null).events, ['parked']);
  const four = { ...one, step: 4 };
  assert.equal(isParked(afterNews(four, failed(3), null).parking!), false);
  assert.equal(isParked(afterNews(four, failed(4), null).parking!), true);
  const many = { ...one, step: 64 };
  assert.equal(isParked(afterNews(many, failed(9), null).parking!), false);
  assert.equal(isParked(afterNews(many, failed(10), null).parking!), true);
  assert.deepEqual(
    [isOpenAgain(one, NOW + OPENING_KEPT_MS - 1), isOpenAgain(one, NOW + OPENING_KEPT_MS)],
    [false, true],
  );
});

test('by hand: no probe and no answer resumes the host; a person does, in steps, and then at once', () => {
  const { parking, events } = parkedByHand(null, NOW);
  assert.deepEqual([parkingRoom(parking!, 0, NOW + 1e9), events], [0, ['parked']]);
  assert.equal(afterNews(parking, answered(1, NOW + 9), null).parking, parking);
  const resumed = resumedByHand(parking, NOW + 10);
  assert.deepEqual([resumed.parking!.step, resumed.events], [1, ['resumed']]);
  assert.deepEqual(resumedByHand(resumed.parking, NOW), { parking: null, events: [] });
  assert.deepEqual(resumedByHand(null, NOW), { parking: null, events: [] });
  const byHandToo = parkedByHand(parked(), NOW + 1);
  assert.deepEqual([byHandToo.parking!.probeAt, byHandToo.parking!.parkedAt, byHandToo.events], [null, NOW, []]);
});

test('whatever happens: at most one probe at a time, steps within their limit, events in turn', () => {
  const result = fc.record({
    kind: fc.constantFrom('fails' as const, 'answers' as const),
    afterMs: fc.nat(90_000),
    underWay: fc.nat(80),
  });
  fc.assert(
    fc.property(fc.array(result, { maxLength: 120 }), (results) => {
      let parking: Parking | null = null;
      let now = NOW;
      let inARow = 0;
      let isDown = false;
      for (const { kind, afterMs, underWay } of results) {
        now += afterMs;
        const wasParked = parking !== null && isParked(parking);
        const one = kind === 'fails' ? failed(1, now) : answered(1, now);
        inARow = kind === 'fails' ? inARow + 1 : 0;
        const before: Parking | null = parking;
        const change = afterNews(before, { ...one, hasFailedProbe: wasParked && kind === 'fails' }, null);
        parking = change.parking;
        for (const event of change.events) {
          assert.equal(event === 'parked', !isDown);
          isDown = event === 'parked';
        }
        if (change.events.includes('parked')) {
          assert.ok(inARow >= Math.min(FAILURES_TO_PARK, Math.max(1, before!.step || FAILURES_TO_PARK)));
        }
        if (!parking) continue;
        const room = parkingRoom(parking, underWay, now);
        if (isParked(parking)) {
          assert.ok(room <= (underWay === 0 && now >= parking.probeAt! ? 1 : 0));
          assert.ok(parking.probeAt! - now <= 60_000);
          assert.equal(trialOf(parking), 'probe');
        } else if (parking.step > 0) {
          assert.ok(parking.step <= OPENING_STEP_MAX && room + underWay <= Math.max(parking.step, underWay));
          assert.equal(trialOf(parking), 'opening');
        } else {
          assert.ok(room > 1e9 && trialOf(parking) === null && parking.failures < FAILURES_TO_PARK);
        }
      }
    }),
  );
});

test('a message decides before its queue, and the queue before the account', () => {
  assert.equal(outageInAccount('retry', 'park'), 'retry');
  assert.equal(outageInAccount(null, 'park'), 'parkAsAccount');
  assert.equal(outageInAccount(null, undefined), null);
  assert.equal(outageInQueue('park', 'retry'), 'park');
  assert.equal(outageInQueue('parkAsAccount', 'retry'), 'retry');
  assert.equal(outageInQueue('parkAsAccount', null), 'parkAsAccount');
  assert.equal(outageInQueue(null, 'park'), 'park');
  assert.deepEqual(
    [shownOutage('retry'), shownOutage('park'), shownOutage('parkAsAccount')],
    ['retry', 'park', 'park'],
  );
});

test('messages that park have a backlog of their own', () => {
  for (const outage of ['park', 'parkAsAccount'] as const) {
    assert.ok(parks({ outage }));
    assert.equal(backlogOf({ host: 'h:443', outage }), parkingBacklog('h:443'));
  }
  for (const outage of ['retry', null] as const) assert.equal(backlogOf({ host: 'h:443', outage }), 'h:443');
  assert.deepEqual([hostOfBacklog(parkingBacklog('h:443')), hostOfBacklog('h:443')], ['h:443', 'h:443']);
});
