// The progress of `postrider batch`, saved in a file: where the next run continues, and which lines may have been sent.

import { createHash, type Hash } from 'node:crypto';
import { closeSync, createReadStream, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import type { Invocation } from '../../frame/command.ts';
import { EXIT } from '../../frame/exit-codes.ts';
import { Failure } from '../../frame/failure.ts';
import { printable } from '../../frame/printable.ts';
import type { Io } from '../../frame/terminal.ts';
import { timeText } from '../../frame/time-text.ts';

const RESTART = 'To send all lines from the first one again, use --restart.';
const LINE_BREAK = 10;
/**
 * How long the service certainly recognises a deduplication id. The default of its deduplication window is ten minutes;
 * this is one minute less, because clocks differ.
 */
const KNOWN_FOR_MS = 9 * 60_000;

/** The progress of sending a file. */
export interface Progress {
  readonly url: string;
  /** The beginning of the deduplication ids, the same in every run over the file. */
  readonly runId: string;
  /** The last line for which a response has arrived, and the position of its end. */
  readonly line: number;
  readonly bytes: number;
  /** The hash of the bytes up to that position. The file may grow, but these bytes must not change. */
  readonly sha256: string;
  readonly accepted: number;
  readonly refused: number;
  /** The lines that were sent, but had no response when the run ended. */
  readonly doubt: { readonly toLine: number; readonly at: number } | null;
  /** Whether the last line had no line break when it was sent. Text that was added since would change the line. */
  readonly isLineOpen?: boolean;
}

export interface BatchRun {
  readonly path: string;
  readonly progressPath: string;
  readonly url: string;
  readonly total: number;
}

/** The lines of a file that are sent together. */
export interface Lines {
  readonly toLine: number;
  readonly endsAt: number;
  /** The bytes of the lines as they are in the file. */
  readonly raw: readonly Buffer[];
}

export interface Counts {
  readonly accepted: number;
  readonly refused: number;
}

/** The progress of this run. The progress on disk contains only lines for which a response has arrived. */
export class RunProgress {
  readonly #path: string;
  readonly #hash: Hash;
  #progress: Progress;

  private constructor(path: string, hash: Hash, progress: Progress) {
    this.#path = path;
    this.#hash = hash;
    this.#progress = progress;
  }

  static async from({ path, progressPath }: BatchRun, progress: Progress): Promise<RunProgress> {
    return new RunProgress(progressPath, await hashOfStart(path, progress.bytes), progress);
  }

  get progress(): Progress {
    return this.#progress;
  }

  /** Whether an earlier run has sent these lines, and ended before the response. */
  isDoubtful({ toLine }: Lines): boolean {
    const { doubt } = this.#progress;
    return doubt !== null && toLine <= doubt.toLine;
  }

  begin({ toLine }: Lines, now: number): void {
    this.#keep({ ...this.#progress, doubt: { toLine, at: this.#progress.doubt?.at ?? now } });
  }

  end({ toLine, endsAt, raw }: Lines, { accepted, refused }: Counts): void {
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

/** A random text with which all deduplication ids of a run begin. */
export function newRunId({ world }: Io): string {
  return `batch-${Buffer.from(world.random.bytes(8)).toString('hex')}`;
}

/** The progress at which an earlier run ended, or the beginning of the file. */
export async function startingProgress(
  { given, out, io }: Invocation,
  { path, progressPath, url, total }: BatchRun,
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
        hint: `Nothing was sent. ${RESTART} Lines that are added to the file are sent by the next run.`,
      },
    );
  }
  // The last line had no line break when it was sent. If anything but a line break follows it now, it has become a
  // different line.
  if (found.isLineOpen && !/^\r?\n/.test(rest.toString('latin1'))) throw changed(path, found.line);
  out.note(`Continues after line ${found.line} of ${total}.`);
  return found.isLineOpen ? { ...found, line: found.line - 1 } : found;
}

/**
 * Throws if the earlier run ended before the response for its last chunk, and the service may have forgotten the
 * deduplication ids of that chunk by now.
 */
function refuseForgotten({ doubt, line }: Progress, now: number): void {
  if (doubt === null || now - doubt.at <= KNOWN_FOR_MS) return;
  throw new Failure(
    `it is unknown whether the service has accepted the lines ${line + 1} to ${doubt.toLine}: the run was cut off at ${timeText(doubt.at)}, before the response came`,
    {
      exit: EXIT.usage,
      hint: 'Too much time has passed for the service to recognise them. Check with "postrider messages", then choose --doubtful send (they may be delivered twice) or --doubtful skip.',
    },
  );
}

function changed(path: string, lines: number): Failure {
  return new Failure(
    `${printable(path)} has changed: the first ${lines} lines, which are already sent, are different`,
    {
      exit: EXIT.usage,
      hint: RESTART,
    },
  );
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

/** Returns only when the progress is on disk. */
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
    throw new Failure(`cannot save the progress in ${path}: ${(error as Error).message}`, {
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

/** The first two bytes after the hashed ones, or fewer. None at the end of the file. */
async function startOfRest(path: string, bytes: number): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const chunk of createReadStream(path, { start: bytes, end: bytes + 1 })) pieces.push(chunk as Buffer);
  return Buffer.concat(pieces);
}
