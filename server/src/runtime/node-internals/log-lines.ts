// Writes complete lines to the destination of a pino log. The lines of attempts that are settled together are written
// together, because a system call costs more than a line.
//
// Relies on: `streamSym` of `pino.symbols`, which pino keeps for libraries, in pino 10. Without this feature: one call
// of the log for each line.

import pino, { type Logger } from 'pino';
import { expect, isFeatureWorking } from './features.ts';

interface Lines {
  /** One JSON object a line, as the log would write it at level `info`. */
  write(lines: string): void;
}

export function logStreamOf(log: Logger): Lines {
  const stream = isFeatureWorking('logLines') ? streamOf(log) : null;
  return stream ?? { write: (lines) => writeSingly(log, lines) };
}

function streamOf(log: Logger): Lines | null {
  const stream = (log as unknown as Record<symbol, Partial<Lines> | undefined>)[pino.symbols.streamSym];
  return typeof stream?.write === 'function' ? (stream as Lines) : null;
}

function writeSingly(log: Logger, lines: string): void {
  for (const line of lines.trimEnd().split('\n')) {
    const { level: _level, time: _time, msg, ...fields } = JSON.parse(line) as Record<string, unknown>;
    log.info(fields, String(msg));
  }
}

export function testLogLines(newLog: (stream: Lines) => Logger = (stream) => pino({}, stream)): void {
  const stream = { write: () => {} };
  expect(streamOf(newLog(stream)) === stream, 'a log does not say where it writes');
}
