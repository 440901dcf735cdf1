// How far the sending of a file is, kept beside it: where the next run goes on, and which lines may have been sent.

import { createHash, type Hash } from 'node:crypto';
import { closeSync, createReadStream, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import type { Invocation } from '../../frame/command.ts';
import { EXIT } from '../../frame/exit-codes.ts';
import { Failure } from '../../frame/failure.ts';
import { printable } from '../../frame/printable.ts';
import type { Io } from '../../frame/terminal.ts';
import { timeText } from '../../frame/time-text.ts';

const RESTART = 'To send all lines from the first one on: --restart.';
const LINE_BREAK = 10;
/** The service knows an id for ten minutes unless it is told otherwise. One minute is for clocks that differ. */
const KNOWN_FOR_MS = 9 * 60_000;

/** How far the sending of a file is. */
export interface Progress {
  readonly url: string;
  /** The beginning of the deduplication ids, the same in every run over the file. */
  readonly runId: string;
  /** The last line that the service has answered for, and where it ends. */
  readonly line: number;
  readonly bytes: number;
  /** Of the bytes that are done: the file may grow, but not change. */
  readonly sha256: string;
  readonly accepted: number;
  readonly refused: number;
  /** Sent, but not answered for when the run ended. */
  readonly doubt: { readonly toLine: number; readonly at: number } | null;
  /** Whether the last line had no line break: the end of a file, which may grow. */
  readonly isLineOpen?: boolean;
}

export interface Place {
  readonly path: string;
  readonly progressPath: string;
  readonly url: string;
  readonly total: number;
}

/** The lines of a file that are sent together. */
export interface SentLines {
  readonly toLine: number;
  readonly endsAt: number;
  /** As they stand in the file. */
  readonly raw: readonly Buffer[];
}

export interface Outcome {
  readonly accepted: number;
  readonly refused: number;
}

/** The progress of this run. What it has on disk is never ahead of what the service has answered for. */
export class Sending {
  readonly #path: string;
  readonly #hash: Hash;
  #progress: Progress;

  private constructor(path: string, hash: Hash, progress: Progress) {
    this.#path = path;
    this.#hash = hash;
    this.#progress = progress;
  }

  static async from({ path, progressPath }: Place, progress: Progress): Promise<Sending> {
    return new Sending(progressPath, await hashOfStart(path, progress.bytes), progress);
  }

  get progress(): Progress {
    return this.#progress;
  }

  /** Whether an earlier run has sent them, and ended before the answer. */
  isDoubtful({ toLine }: SentLines): boolean {
    const { doubt } = this.#progress;
    return doubt !== null && toLine <= doubt.toLine;
  }

  begin({ toLine }: SentLines, now: number): void {
    this.#keep({ ...this.#progress, doubt: { toLine, at: this.#progress.doubt?.at ?? now } });
  }

  end({ toLine, endsAt, raw }: SentLines, { accepted, refused }: Outcome): void {
    for (const each of raw) this.#hash.update(each);
    const before = this.#progress;
    this.#keep({
      ...before,
      line: toLine,
      bytes: endsAt,
      sha256: this.#hash.copy().digest('hex'),
      accepted: before.accepted + accepted,
      refused: before.refused + refused,
      doubt: null,
      isLineOpen: raw.at(-1)?.at(-1) !== LINE_BREAK,
    });
  }

  #keep(progress: Progress): void {
    this.#progress = progress;
    writeProgress(this.#path, progress);
  }
}

/** The beginning of the deduplication ids. */
export function newRunId({ world }: Io): string {
  return `batch-${Buffer.from(world.random.bytes(8)).toString('hex')}`;
}

/** Where an earlier run ended, or the beginning. */
export async function startOf(
  { given, out, io }: Invocation,
  { path, progressPath, url, total }: Place,
): Promise<Progress> {
  const found = given.has('restart') ? null : readProgress(progressPath);
  if (found === null) {
    const runId = newRunId(io);
    const sha256 = (await hashOfStart(path, 0)).digest('hex');
    return { url, runId, line: 0, bytes: 0, sha256, accepted: 0, refused: 0, doubt: null };
  }
  if (found.url !== url) {
    const did = found.line === 0 ? 'began to send this file' : `has sent ${found.line} lines of this file`;
    throw new Failure(`an earlier run ${did} to ${found.url}, not to ${url}`, { exit: EXIT.usage, hint: RESTART });
  }
  if ((await hashOfStart(path, found.bytes)).digest('hex') !== found.sha256) {
    throw changed(path, found.line);
  }
  if (given.text('doubtful') === undefined) refuseForgotten(found, io.world.clock.now());
  const rest = await startOfRest(path, found.bytes);
  if (rest.length === 0) {
    throw new Failure(
      `an earlier run has sent all ${found.line} lines of ${printable(path)}: ${found.accepted} accepted, ${found.refused} refused`,
      {
        exit: EXIT.usage,
        hint: `Nothing was sent. ${RESTART} Lines that are added to the file are sent by themselves.`,
      },
    );
  }
  // The last line had no line break when it was sent. It gets one now, or it is another line.
  if (found.isLineOpen && !/^\r?\n/.test(rest.toString('latin1'))) throw changed(path, found.line);
  out.note(`Continues after line ${found.line} of ${total}.`);
  return found.isLineOpen ? { ...found, line: found.line - 1 } : found;
}

/** The service may have accepted the last chunk of the run before, and no longer recognises it. */
function refuseForgotten({ doubt, line }: Progress, now: number): void {
  if (doubt === null || now - doubt.at <= KNOWN_FOR_MS) return;
  throw new Failure(
    `it is unknown whether the service has accepted the lines ${line + 1} to ${doubt.toLine}: the run was cut off at ${timeText(doubt.at)}, before the response came`,
    {
      exit: EXIT.usage,
      hint: 'Too much time has passed for the service to recognise them. Look with "postrider messages", then choose --doubtful send (they may be delivered twice) or --doubtful skip.',
    },
  );
}

function changed(path: string, lines: number): Failure {
  return new Failure(`${printable(path)} has changed in the ${lines} lines that are already sent`, {
    exit: EXIT.usage,
    hint: RESTART,
  });
}

function readProgress(path: string): Progress | null {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw new Failure(`cannot read ${path}: ${(error as Error).message}`);
  }
  try {
    const progress = JSON.parse(text) as Progress;
    if (typeof progress.runId === 'string' && Number.isInteger(progress.bytes)) return progress;
  } catch {
    // Handled below.
  }
  throw new Failure(`${path} is not the progress of a batch`, {
    exit: EXIT.usage,
    hint: 'Remove it, or start from the first line with --restart.',
  });
}

/** On disk before it returns: what it says is never ahead of what it should. */
function writeProgress(path: string, progress: Progress): void {
  const part = `${path}.part`;
  try {
    const file = openSync(part, 'w', 0o600);
    try {
      writeSync(file, `${JSON.stringify(progress)}\n`);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(part, path);
  } catch (error) {
    throw new Failure(`cannot keep in ${path} how far the sending is: ${(error as Error).message}`, {
      hint: `${progress.line} lines are done. Choose a place that can be written with --progress-file.`,
    });
  }
}

/** The hash of the first bytes of a file. The caller can continue it with later bytes. */
async function hashOfStart(path: string, bytes: number): Promise<Hash> {
  const hash = createHash('sha256');
  if (bytes === 0) return hash;
  for await (const chunk of createReadStream(path, { end: bytes - 1 })) hash.update(chunk as Buffer);
  return hash;
}

/** The first two bytes after those, or fewer. None at the end of the file. */
async function startOfRest(path: string, bytes: number): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const chunk of createReadStream(path, { start: bytes, end: bytes + 1 })) pieces.push(chunk as Buffer);
  return Buffer.concat(pieces);
}
