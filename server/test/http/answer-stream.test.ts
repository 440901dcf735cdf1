// A large response is made in short pieces, between which others go on. The time is the test's own.

import assert from 'node:assert/strict';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { test } from 'node:test';
import { writePieces } from '../../src/http/answer-stream.ts';
import { LoopTurns } from '../../src/http/loop-turns.ts';
import { ShortPieces } from '../../src/http/short-pieces.ts';

/** Each text takes a millisecond to make. */
function startLoop() {
  let nowMs = 0;
  let soon: (() => void)[] = [];
  const clock = { monotonicMs: () => nowMs, soon: (fire: () => void) => void soon.push(fire) };
  const turns = new LoopTurns(clock, () => nowMs);
  return {
    inTurn: new ShortPieces(turns, 'acc_a'),
    *texts(count: number) {
      for (let index = 0; index < count; index += 1) {
        nowMs += 1;
        yield 'x';
      }
    },
    nowMs: () => nowMs,
    async turn() {
      const now = soon;
      soon = [];
      for (const fire of now) fire();
      await new Promise(setImmediate);
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

test('it is not made further for a caller that has gone', async () => {
  const { inTurn, texts, nowMs, turn } = startLoop();
  const response = new ServerResponse(new IncomingMessage(new Socket()));
  const writing = writePieces(response, texts(1000), inTurn, () => {});
  response.destroy();
  await turn();
  await writing;
  assert.ok(nowMs() <= 17, `${nowMs()} texts`);
});
