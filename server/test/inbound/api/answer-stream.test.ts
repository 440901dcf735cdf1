// A large response is made in short pieces, between which others go on. The time is the test's own.

import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { test } from 'node:test';
import {
  entryPieces,
  longFieldsLength,
  objectPieces,
  PIECE_BYTES,
  writePieces,
} from '../../../src/inbound/api/answer-stream.ts';
import { EventLoopYielder } from '../../../src/inbound/api/event-loop-yielder.ts';
import { LoopTurns } from '../../../src/runtime/loop-turns.ts';

/** Each text takes a millisecond to make. */
function startLoop() {
  let nowMs = 0;
  let soon: (() => void)[] = [];
  const clock = { monotonicMs: () => nowMs, soon: (fire: () => void) => void soon.push(fire), after: () => () => {} };
  const turns = new LoopTurns(clock, () => nowMs);
  return {
    inTurn: new EventLoopYielder(turns, 'acc_a'),
    inTurnOf: (accountId: string) => new EventLoopYielder(turns, accountId),
    *texts(count: number, text = 'x') {
      for (let index = 0; index < count; index += 1) {
        nowMs += 1;
        yield text;
      }
    },
    nowMs: () => nowMs,
    async turn() {
      const now = soon;
      soon = [];
      for (const fire of now) {
        fire();
        // What follows from it is done before the next call.
        await new Promise(setImmediate);
      }
      return now.length;
    },
  };
}

test('a response that takes long to make is made in pieces, with a turn of the loop between them', async () => {
  const { inTurn, texts, nowMs, turn } = startLoop();
  const response = new ServerResponse(new IncomingMessage(new Socket()));
  let hasEnded = false;
  const writing = writePieces(response, texts(160), inTurn, () => {}).then(() => {
    hasEnded = true;
  });
  const ends = [nowMs()];
  while (!hasEnded) {
    assert.ok((await turn()) > 0 || hasEnded, 'it waits for nothing else');
    ends.push(nowMs());
  }
  await writing;
  assert.equal(ends.at(-1), 160);
  // The clock is read after 16 texts.
  const longest = Math.max(...ends.map((end, index) => end - (ends[index - 1] ?? 0)));
  assert.ok(longest <= 16, `${longest} texts in one turn`);
});

/** A caller that takes one piece at a time. */
class SlowResponse extends EventEmitter {
  readonly destroyed = false;
  write = () => false;
  end = () => {};
}

test('callers that have room again in the same turn of the loop are written to in several', async () => {
  const { inTurnOf, texts, nowMs, turn } = startLoop();
  const responses = Array.from({ length: 20 }, () => new SlowResponse());
  const writing = responses.map((response, index) =>
    writePieces(
      response as unknown as ServerResponse,
      texts(2, 'x'.repeat(PIECE_BYTES)),
      inTurnOf(`acc_${index}`),
      () => {},
    ),
  );
  assert.equal(nowMs(), 20);
  for (const response of responses) response.emit('drain');
  await new Promise(setImmediate);
  assert.equal(nowMs(), 20, 'nothing is made for them at once');
  for (let turns = 1; nowMs() < 40; turns += 1) {
    const beforeMs = nowMs();
    await turn();
    assert.ok(nowMs() - beforeMs <= 4 && turns < 20, `${nowMs() - beforeMs} pieces in one turn`);
  }
  for (const response of responses) response.emit('drain');
  await new Promise(setImmediate);
  for (let calls = 1; calls > 0; ) calls = await turn();
  await Promise.all(writing);
});

test('it is not made further for a caller that has gone', async () => {
  const { inTurn, texts, nowMs, turn } = startLoop();
  const response = new ServerResponse(new IncomingMessage(new Socket()));
  const writing = writePieces(response, texts(1000), inTurn, () => {});
  response.destroy();
  await turn();
  await writing;
  assert.ok(nowMs() <= 17, `${nowMs()} texts`);
});

/** A character outside the basic plane at each border of a piece, characters that JSON escapes, and half a character. */
const LONG_TEXT = `${'x'.repeat(PIECE_BYTES - 1)}😀"\\\n\u2028${'y'.repeat(PIECE_BYTES - 3)}😀\ud83d${'"'.repeat(PIECE_BYTES)}`;

for (const [what, entry] of Object.entries({
  'a long field': { messageId: 'msg_1', body: LONG_TEXT, header: { a: ['1'] } },
  'a long field first, and one that is undefined': { body: LONG_TEXT, gone: undefined, state: null },
  'two of them': { body: LONG_TEXT, n: 1, responseBody: LONG_TEXT },
  'nothing long': { messageId: 'msg_1', body: 'x'.repeat(PIECE_BYTES) },
})) {
  test(`an entry with ${what} is the JSON that it is at once, in short pieces`, () => {
    const pieces = [...entryPieces(entry)];
    assert.ok(pieces.join('') === JSON.stringify(entry));
    // An escaped character is six at most.
    assert.ok(Math.max(...pieces.map(({ length }) => length)) <= 6 * PIECE_BYTES);
    const long = Object.values(entry).filter((value) => value === LONG_TEXT).length;
    assert.equal(longFieldsLength(entry), long * LONG_TEXT.length);
    if (long > 0) assert.ok(pieces.length > 4 * long);
    assert.deepEqual(JSON.parse([...objectPieces([['messages', [entry, entry]]], {})].join('')), {
      messages: [JSON.parse(JSON.stringify(entry)), JSON.parse(JSON.stringify(entry))],
    });
  });
}
