// Requests of all kinds on one connection, cut anywhere, mixed, and followed by the end of the caller's side. Each gets
// the response that it gets alone, in order. What was answered with 201 is stored, and nothing else is.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { lengthOf } from '../../support/campaign.ts';
import { type Rider, sharedRider } from '../../support/harness.ts';
import { RawCaller } from '../../support/raw-caller.ts';
import { type Cleanup, startReceiver } from '../../support/receiver.ts';
import { waitFor } from '../../support/wait.ts';

const RUNS = lengthOf({ short: 60, rest: 30, whole: 200 });

const shared = sharedRider();

/** A request, and what it would store. */
interface Made {
  readonly bytes: string;
  readonly bodies: readonly string[];
}

type Kind = (body: string) => Made;

/** Kinds that are refused for what their head says. */
const REFUSED_EARLY: ReadonlySet<string> = new Set(['stranger', 'strangeChange', 'badDelay', 'encoded']);

function kindsOf(rider: Rider, destination: string) {
  const head = (token = rider.token) => `Host: localhost\r\nAuthorization: Bearer ${token}\r\n`;
  const line = `POST /v2/publish/${destination} HTTP/1.1\r\n`;
  const sized = (start: string, body: string) => `${start}Content-Length: ${body.length}\r\n\r\n${body}`;
  const chunks = (body: string) =>
    `3\r\n${body.slice(0, 3)}\r\n${(body.length - 3).toString(16)};x=y\r\n${body.slice(3)}\r\n0\r\n\r\n`;
  const publish: Kind = (body) => ({ bytes: sized(line + head(), body), bodies: [body] });
  const nothing =
    (bytes: string): Kind =>
    () => ({ bytes, bodies: [] });
  const going: Record<string, Kind> = {
    publish,
    large: (body) => publish(body + 'x'.repeat(70_000)),
    chunked: (body) => ({ bytes: `${line}${head()}Transfer-Encoding: chunked\r\n\r\n${chunks(body)}`, bodies: [body] }),
    emptyLines: (body) => {
      const lines = `${body}\r\n\r\n\r\n`;
      return { bytes: `${line}${head()}Transfer-Encoding: chunked\r\n\r\n${chunks(lines)}`, bodies: [lines] };
    },
    batch: (body) => {
      const bodies = [`${body} a`, `${body} b`];
      const elements = JSON.stringify(bodies.map((each) => ({ destination, body: each })));
      return { bytes: sized(`POST /v2/batch HTTP/1.1\r\n${head()}`, elements), bodies };
    },
    absolute: (body) => ({ bytes: sized(line.replace('/v2', 'http://localhost/v2') + head(), body), bodies: [body] }),
    blankBefore: (body) => ({ bytes: `\r\n${publish(body).bytes}`, bodies: [body] }),
    health: nothing(`GET /healthz HTTP/1.1\r\n${head()}\r\n`),
    list: nothing(`GET /v2/queues HTTP/1.1\r\n${head()}\r\n`),
    unknown: nothing(`GET /none HTTP/1.1\r\n${head()}\r\n`),
    stranger: nothing(sized(line + head('wrong'), 'no')),
    strangeChange: nothing(sized(`POST /v2/topics/t/endpoints HTTP/1.1\r\n${head('wrong')}`, '{}')),
    badDelay: nothing(sized(`${line}${head()}Service-Delay: never\r\n`, 'no')),
    encoded: nothing(sized(`${line}${head()}Content-Encoding: gzip\r\n`, 'no')),
  };
  /** Behind these the connection ends. */
  const ending: Record<string, Kind> = {
    last: (body) => ({ bytes: sized(`${line}${head()}Connection: close\r\n`, body), bodies: [body] }),
    old: (body) => ({ bytes: sized(line.replace('1.1', '1.0') + head(), body), bodies: [body] }),
    twoHosts: nothing(sized(`${line}${head()}Host: other\r\n`, 'no')),
    twoBlanks: nothing(sized(line.replace(' ', '  ') + head(), 'no')),
    version: nothing(sized(line.replace('1.1', '2.0') + head(), 'no')),
    coding: nothing(`${line}${head()}Transfer-Encoding: gzip, chunked\r\n\r\n2\r\nno\r\n0\r\n\r\n`),
    twoLengths: nothing(sized(`${line}${head()}Content-Length: 1\r\n`, 'no')),
    noise: nothing('hello\r\n\r\n'),
  };
  return { going, ending, publish };
}

async function start(t: Cleanup) {
  const rider = shared();
  const receiver = await startReceiver(t);
  const { going, ending, publish } = kindsOf(rider, receiver.url);
  let made = 0;
  const make = (kind: Kind): Made => {
    made += 1;
    return kind(`body ${made}`);
  };
  const dial = async () => (await RawCaller.dial(t, rider.url)).listen();
  const stored: string[] = [];
  const statuses = new Map<string, number>();
  for (const [name, kind] of Object.entries({ ...going, ...ending })) {
    const caller = await dial();
    const { bytes, bodies } = make(kind);
    caller.end(bytes);
    await caller.hearsEnd();
    assert.equal(caller.responses.length, 1, name);
    statuses.set(name, caller.responses[0]!.status);
    if (caller.responses[0]!.status === 201) stored.push(...bodies);
  }
  /** Nothing but what was answered has come, and all of it. */
  const check = async () => {
    await waitFor('the deliveries', () => receiver.arrivals.length >= stored.length);
    await waitFor('all to have ended', async () => {
      const { waiting, active, scheduled, retrying } = await rider.manage<Record<string, number>>(
        'GET',
        '/v2/overview',
      );
      return waiting! + active! + scheduled! + retrying! === 0;
    });
    assert.deepEqual(receiver.arrivals.map(({ body }) => String(body)).sort(), [...stored].sort());
  };
  return { going, ending, publish, make, dial, stored, statuses, check };
}

/** Says it in pieces. The next piece goes when the last one has had its chance to be read. */
async function sayInPieces(caller: RawCaller, bytes: string, cuts: readonly number[], isEnd: boolean): Promise<void> {
  const places = [...new Set(cuts.map((cut) => cut % bytes.length))].sort((a, b) => a - b);
  let from = 0;
  for (const place of places) {
    if (place === from) continue;
    caller.say(bytes.slice(from, place));
    from = place;
    await new Promise(setImmediate);
  }
  if (isEnd) caller.end(bytes.slice(from));
  else caller.say(bytes.slice(from));
}

test('however requests are mixed and cut, each gets the response that it gets alone, in order', async (t) => {
  const { going, ending, publish, make, dial, stored, statuses, check } = await start(t);
  const plan = fc.record({
    names: fc.array(fc.constantFrom(...Object.keys(going)), { minLength: 1, maxLength: 12 }),
    last: fc.option(fc.constantFrom(...Object.keys(ending))),
    more: fc.nat(3),
    part: fc.option(fc.nat()),
    cuts: fc.array(fc.nat(), { maxLength: 8 }),
    isEnd: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(plan, async ({ names, last, more, part, cuts, isEnd }) => {
      const all = [...names, ...(last === null ? [] : [last])];
      const requests = all.map((name) => make((going[name] ?? ending[name])!));
      const expected = all.map((name) => statuses.get(name)!);
      let bytes = requests.map((request) => request.bytes).join('');
      // What comes behind the last one is not carried out.
      if (last !== null) for (let count = 0; count < more; count += 1) bytes += make(publish).bytes;
      else if (part !== null) {
        const { bytes: whole } = make(publish);
        bytes += whole.slice(0, 1 + (part % (whole.length - 1)));
        expected.push(400);
      }
      const caller = await dial();
      await sayInPieces(caller, bytes, cuts, isEnd || part !== null);
      if (isEnd || part !== null || last !== null) await caller.hearsEnd();
      await waitFor('the responses', () => caller.isOver || caller.responses.length >= expected.length);
      // A request that is refused before its body has come ends the connection. Nothing behind it is carried out.
      const ends = caller.responses.findIndex(
        ({ status, head }) => status >= 400 && /\r\nConnection: close\r\n/i.test(head),
      );
      const heard = ends >= 0 && REFUSED_EARLY.has(all[ends] ?? '') ? expected.slice(0, ends + 1) : expected;
      await caller.hears(...heard);
      for (const [index, { bodies }] of requests.entries()) if (heard[index] === 201) stored.push(...bodies);
      caller.socket.destroy();
    }),
    { numRuns: RUNS, endOnFailure: true },
  );
  await check();
});

test('cut in two at every byte, requests get the same responses', async (t) => {
  const { going, make, dial, stored, statuses, check } = await start(t);
  const names = ['publish', 'health', 'chunked', 'stranger'];
  const { length } = names.map((name) => make(going[name]!).bytes).join('');
  for (let cut = 1; cut < length; cut += 1) {
    const requests = names.map((name) => make(going[name]!));
    const caller = await dial();
    await sayInPieces(caller, requests.map(({ bytes }) => bytes).join(''), [cut], cut % 2 === 0);
    await caller.hears(...names.map((name) => statuses.get(name)!));
    stored.push(...requests.flatMap(({ bodies }, index) => (statuses.get(names[index]!) === 201 ? bodies : [])));
    caller.socket.destroy();
  }
  await check();
});
