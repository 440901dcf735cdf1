// The command in the process of the test, with streams that keep what was written: a process of its own costs more than
// all that most commands do.

import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCommand } from '../../../cli/src/frame/command-line.ts';
import type { Io, OutputStream } from '../../../cli/src/frame/terminal.ts';
import { systemWorld, type World } from '../../src/runtime/world.ts';

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string | Uint8Array;
  /** Both standard output and standard input are a terminal this wide. */
  readonly columns?: number;
  readonly interrupted?: AbortSignal;
  /** Pauses before another try take no time. */
  readonly isHurried?: boolean;
  /** Called with each piece of standard output. */
  readonly onOutput?: (all: string) => void;
  /** The same for standard error. */
  readonly onError?: (all: string) => void;
}

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  /** Standard output as one JSON document. */
  json<T = unknown>(): T;
  /** Standard output as lines of JSON. */
  records<T = Record<string, unknown>>(): T[];
}

export async function runCli(argv: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const [stdout, stderr] = [collect(options.columns, options.onOutput), collect(options.columns, options.onError)];
  const input = options.stdin === undefined ? [] : [Buffer.from(options.stdin)];
  const io: Io = {
    stdout,
    stderr,
    stdin: {
      isTTY: options.columns !== undefined && options.stdin === undefined,
      async *[Symbol.asyncIterator]() {
        yield* input;
      },
    },
    env: options.env ?? {},
    home: join(tmpdir(), 'nobody-lives-here'),
    world: options.isHurried ? hurriedWorld() : systemWorld(),
    interrupted: options.interrupted ?? new AbortController().signal,
  };
  const code = await runCommand(argv, io);
  return {
    code,
    stdout: stdout.text(),
    stderr: stderr.text(),
    json: <T>() => JSON.parse(stdout.text()) as T,
    records: <T>() =>
      stdout
        .text()
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as T),
  };
}

const PAUSE_MS_MAX = 20_000;

function hurriedWorld(): World {
  const { clock, random } = systemWorld();
  return { random, clock: { ...clock, after: (ms, fire) => clock.after(ms < PAUSE_MS_MAX ? 0 : ms, fire) } };
}

function collect(columns: number | undefined, onOutput?: (all: string) => void): OutputStream & { text(): string } {
  const pieces: Buffer[] = [];
  const text = () => Buffer.concat(pieces).toString('utf8');
  return {
    ...(columns !== undefined && { isTTY: true, columns }),
    write(data) {
      pieces.push(Buffer.from(data));
      onOutput?.(text());
      return true;
    },
    drained: async () => {},
    text,
  };
}
