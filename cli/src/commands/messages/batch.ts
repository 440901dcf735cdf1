// `postrider batch`: sends a file of messages, many in one call. It can be stopped at any time: the next run goes on
// after the last line that was answered for, and sends none twice.

import { createReadStream, statSync } from 'node:fs';
import { type BatchResult, type Client, PostriderError, type Published, UnreachableError } from 'postrider-sdk';
import type { Invocation } from '../../frame/command.ts';
import { interruptedExit } from '../../frame/command-line.ts';
import type { Connection } from '../../frame/connection.ts';
import { EXIT } from '../../frame/exit-codes.ts';
import { Failure, foreignJson, usageFailure } from '../../frame/failure.ts';
import { printable } from '../../frame/printable.ts';
import { ProgressBar } from '../../frame/progress-bar.ts';
import { timeText } from '../../frame/time-text.ts';
import {
  type Element,
  hashOfStart,
  type Line,
  linesOf,
  type Progress,
  readElement,
  readProgress,
  startOfRest,
  writeProgress,
} from './batch-file.ts';
import { lockFile } from './batch-lock.ts';
import { pause } from './follow.ts';

const ELEMENTS_MAX = 500;
const CHUNK_BYTES_MAX = 8 * 1024 ** 2;
const PROBLEMS_SHOWN_MAX = 20;
const TRIES_MAX = 5;
const TRY_AGAIN_MS = 1000;
const RETRY_AFTER_SECONDS_MAX = 120;
/** The service knows an id for ten minutes unless it is told otherwise. One minute is for clocks that differ. */
const KNOWN_FOR_MS = 9 * 60_000;

const LINE_BREAK = 10;

interface Chunk {
  readonly elements: readonly Element[];
  readonly lines: readonly number[];
  readonly toLine: number;
  readonly endsAt: number;
  /** Its lines as they stand in the file. */
  readonly raw: readonly Buffer[];
}

export async function batch(invocation: Invocation): Promise<number> {
  const [path] = invocation.given.words;
  if (path === '-') {
    const unfit = ['progress-file', 'restart', 'doubtful'].filter((flag) => invocation.given.has(flag));
    if (unfit.length === 0) return sendStream(invocation);
    throw usageFailure(
      unfit.map((flag) => `--${flag} has no effect on standard input, which cannot be resumed`),
      'batch',
    );
  }
  return sendFile(invocation, path!);
}

async function sendFile(invocation: Invocation, path: string): Promise<number> {
  const { given, connect } = invocation;
  const total = await checkFile(path);
  const connection = connect();
  const progressPath = given.text('progress-file') ?? `${path}.progress`;
  const lock = lockFile(`${progressPath}.lock`, path);
  try {
    return await sendLocked(invocation, connection, { path, progressPath, url: connection.url, total });
  } finally {
    lock.release();
  }
}

async function sendLocked(invocation: Invocation, connection: Connection, place: Place): Promise<number> {
  const { given, out, io } = invocation;
  const { path, progressPath, total } = place;
  const isSkipping = given.text('doubtful') === 'skip';
  let progress = await startOf(invocation, place);
  const hash = await hashOfStart(path, progress.bytes);
  const bar = new ProgressBar(io.stderr, io.world.clock, out.isJson || given.has('quiet'));
  const sender = new Sender(invocation, connection, progress.runId);
  try {
    const source = createReadStream(path, { start: progress.bytes }) as AsyncIterable<Uint8Array>;
    for await (const chunk of chunksOf(
      linesOf(source, progress),
      given.number('chunk') ?? ELEMENTS_MAX,
      progress.doubt?.toLine ?? null,
    )) {
      const isSkipped = isSkipping && progress.doubt !== null && chunk.toLine <= progress.doubt.toLine;
      const doubt = { toLine: chunk.toLine, at: progress.doubt?.at ?? io.world.clock.now() };
      progress = { ...progress, doubt };
      writeProgress(progressPath, progress);
      const { accepted, refused } = isSkipped ? { accepted: 0, refused: 0 } : await sender.send(chunk);
      for (const raw of chunk.raw) hash.update(raw);
      progress = {
        ...progress,
        line: chunk.toLine,
        bytes: chunk.endsAt,
        sha256: hash.copy().digest('hex'),
        accepted: progress.accepted + accepted,
        refused: progress.refused + refused,
        doubt: null,
        isLineOpen: chunk.raw.at(-1)?.at(-1) !== LINE_BREAK,
      };
      writeProgress(progressPath, progress);
      bar.show(progress.line, total, 'lines');
      if (io.interrupted.aborted) break;
    }
  } catch (error) {
    bar.end();
    if (io.interrupted.aborted || error instanceof UnreachableError || error instanceof PostriderError) {
      out.note(`${progress.line} of ${total} lines are done. To go on after them, run the same command again.`);
    }
    throw error;
  }
  bar.end();
  if (io.interrupted.aborted && progress.line < total) {
    out.note(`${progress.line} of ${total} lines are done. To go on after them, run the same command again.`);
    return interruptedExit(io.interrupted);
  }
  // The progress stays: by it the next run knows that all of this is sent.
  return report(invocation, progress);
}

function report(
  { out }: Invocation,
  { accepted, refused }: { readonly accepted: number; readonly refused: number },
): number {
  if (!out.isJson) out.line(`${accepted} accepted, ${refused} refused.`);
  return refused === 0 ? EXIT.done : EXIT.failed;
}

/** Reads the whole file before anything is sent. Returns how many lines it has. */
async function checkFile(path: string): Promise<number> {
  const problems: string[] = [];
  let [total, wrong] = [0, 0];
  try {
    if (statSync(path).isDirectory()) throw new Failure(`${printable(path)} is a directory`, { exit: EXIT.usage });
    for await (const { number, text } of linesOf(createReadStream(path) as AsyncIterable<Uint8Array>, {
      line: 0,
      bytes: 0,
    })) {
      total = number;
      const element = text.trim() === '' ? null : readElement(text);
      if (element === null || !('problem' in element)) continue;
      wrong += 1;
      if (problems.length < PROBLEMS_SHOWN_MAX) problems.push(`\n  - line ${number}: ${element.problem}`);
    }
  } catch (error) {
    if (error instanceof Failure) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    throw new Failure(`cannot read ${printable(path)}: ${code === 'ENOENT' ? 'there is no such file' : message}`, {
      exit: EXIT.usage,
    });
  }
  if (wrong === 0) return total;
  const more = wrong > problems.length ? `\n  and ${wrong - problems.length} more` : '';
  throw new Failure(`${wrong} of ${total} lines of ${printable(path)} cannot be sent:${problems.join('')}${more}`, {
    exit: EXIT.usage,
    hint: 'Nothing of this run was sent. Repair the lines and run it again: lines that an earlier run has sent are not sent again.',
  });
}

interface Place {
  readonly path: string;
  readonly progressPath: string;
  readonly url: string;
  readonly total: number;
}

/** Where an earlier run ended, or the beginning. */
async function startOf({ given, out, io }: Invocation, { path, progressPath, url, total }: Place): Promise<Progress> {
  const found = given.has('restart') ? null : readProgress(progressPath);
  if (found === null) {
    const runId = `batch-${Buffer.from(io.world.random.bytes(8)).toString('hex')}`;
    const sha256 = (await hashOfStart(path, 0)).digest('hex');
    return { url, runId, line: 0, bytes: 0, sha256, accepted: 0, refused: 0, doubt: null };
  }
  const hint = 'To send all lines from the first one on: --restart.';
  if (found.url !== url) {
    const did = found.line === 0 ? 'began to send this file' : `has sent ${found.line} lines of this file`;
    throw new Failure(`an earlier run ${did} to ${found.url}, not to ${url}`, {
      exit: EXIT.usage,
      hint,
    });
  }
  if ((await hashOfStart(path, found.bytes)).digest('hex') !== found.sha256) {
    throw changed(path, found.line, hint);
  }
  const { doubt } = found;
  const isForgotten = doubt !== null && io.world.clock.now() - doubt.at > KNOWN_FOR_MS;
  if (isForgotten && given.text('doubtful') === undefined) {
    throw new Failure(
      `nobody knows whether the service has accepted the lines ${found.line + 1} to ${doubt.toLine}: the run was cut off at ${timeText(doubt.at)}, before the answer came`,
      {
        exit: EXIT.usage,
        hint: 'Too much time has passed for the service to recognise them. Look with "postrider messages", then choose --doubtful send (they may be delivered twice) or --doubtful skip.',
      },
    );
  }
  const rest = await startOfRest(path, found.bytes);
  if (rest.length === 0) {
    throw new Failure(
      `an earlier run has sent all ${found.line} lines of ${printable(path)}: ${found.accepted} accepted, ${found.refused} refused`,
      { exit: EXIT.usage, hint: `Nothing was sent. ${hint} Lines that are added to the file are sent by themselves.` },
    );
  }
  if (!found.isLineOpen) {
    out.note(`Goes on after line ${found.line} of ${total}.`);
    return found;
  }
  // The last line had no line break when it was sent. It gets one now, or it is another line.
  if (!/^\r?\n/.test(rest.toString('latin1'))) throw changed(path, found.line, hint);
  out.note(`Goes on after line ${found.line} of ${total}.`);
  return { ...found, line: found.line - 1 };
}

function changed(path: string, lines: number, hint: string): Failure {
  return new Failure(`${printable(path)} has changed in the ${lines} lines that are already sent`, {
    exit: EXIT.usage,
    hint,
  });
}

/** `endsWith` is the last line of a chunk that was sent before: it is cut at the same place, with the same ids. */
async function* chunksOf(
  lines: AsyncIterable<Line>,
  elementsMax: number,
  endsWith: number | null,
): AsyncGenerator<Chunk> {
  let [elements, numbers, raw, bytes]: [Element[], number[], Buffer[], number] = [[], [], [], 0];
  let last: Line | null = null;
  const take = (): Chunk => {
    const chunk = { elements, lines: numbers, toLine: last!.number, endsAt: last!.endsAt, raw };
    [elements, numbers, raw, bytes] = [[], [], [], 0];
    return chunk;
  };
  for await (const line of lines) {
    const element = line.text.trim() === '' ? null : readElement(line.text);
    if (element !== null && 'problem' in element) {
      if (raw.length > 0) yield take();
      throw new Failure(`line ${line.number} cannot be sent: ${element.problem}`, {
        exit: EXIT.usage,
        hint: `The ${line.number - 1} lines before it are sent.`,
      });
    }
    last = line;
    raw.push(line.raw);
    bytes += line.raw.length;
    if (element !== null) {
      elements.push(element);
      numbers.push(line.number);
    }
    const isFull = elements.length >= elementsMax || bytes >= CHUNK_BYTES_MAX || line.number === endsWith;
    if (isFull) yield take();
  }
  if (raw.length > 0) yield take();
}

async function sendStream(invocation: Invocation): Promise<number> {
  const { given, io, connect } = invocation;
  const runId = `batch-${Buffer.from(io.world.random.bytes(8)).toString('hex')}`;
  const sender = new Sender(invocation, connect(), runId);
  const sum = { accepted: 0, refused: 0 };
  for await (const chunk of chunksOf(
    linesOf(io.stdin, { line: 0, bytes: 0 }),
    given.number('chunk') ?? ELEMENTS_MAX,
    null,
  )) {
    const { accepted, refused } = await sender.send(chunk);
    sum.accepted += accepted;
    sum.refused += refused;
  }
  return report(invocation, sum);
}

class Sender {
  readonly #invocation: Invocation;
  readonly #connection: Connection;
  readonly #runId: string;
  /** Whether the service has answered once. Before that, no answer means a wrong address. */
  #isKnown = false;

  constructor(invocation: Invocation, connection: Connection, runId: string) {
    this.#invocation = invocation;
    this.#connection = connection;
    this.#runId = runId;
  }

  async send({ elements, lines }: Chunk): Promise<{ accepted: number; refused: number }> {
    if (elements.length === 0) return { accepted: 0, refused: 0 };
    const results = await this.#call(elements.map((element, index) => this.#named(element, lines[index]!)));
    const { out } = this.#invocation;
    let refused = 0;
    for (const [index, result] of results.entries()) {
      const line = lines[index]!;
      const isRefused = !Array.isArray(result) && 'error' in result;
      if (isRefused) refused += 1;
      if (out.isJson)
        await out.record(
          Array.isArray(result) ? { line, messages: result as readonly Published[] } : { line, ...result },
        );
      else if (isRefused) out.warn(`line ${line} is refused: ${(result as { error: string }).error}`);
    }
    return { accepted: results.length - refused, refused };
  }

  /** With an id of its own, an element that is sent again is recognised. */
  #named(element: Element, line: number): Element {
    const names = Object.keys(element.headers ?? {}).map((name) => name.toLowerCase());
    const { headerPrefix } = this.#connection;
    const prefix = headerPrefix.toLowerCase();
    const own = [`${prefix}deduplication-id`, `${prefix}content-based-deduplication`, 'idempotency-key'];
    if (names.some((name) => own.includes(name))) return element;
    return {
      ...element,
      headers: { ...element.headers, [`${headerPrefix}Deduplication-Id`]: `${this.#runId}-${line}` },
    };
  }

  /** Tries again when the service is away for a moment: the ids keep the messages from being accepted twice. */
  async #call(elements: readonly Element[]): Promise<readonly BatchResult[]> {
    const { io, out } = this.#invocation;
    const { client, url } = this.#connection;
    for (let tries = 1; ; tries += 1) {
      try {
        const results = await client.batch(elements as Parameters<Client['batch']>[0]);
        if (results.length !== elements.length) throw foreignJson(url);
        this.#isKnown = true;
        return results;
      } catch (error) {
        const isOver = io.interrupted.aborted || tries >= TRIES_MAX || !this.#isKnown;
        const waitMs = isOver ? null : waitBefore(error, tries);
        if (waitMs === null) throw error;
        out.note(`${(error as Error).message}. Trying again in ${Math.ceil(waitMs / 1000)} s.`);
        await pause(io.world.clock, waitMs, io.interrupted);
        if (io.interrupted.aborted) throw error;
      }
    }
  }
}

function waitBefore(error: unknown, tries: number): number | null {
  if (error instanceof UnreachableError) return TRY_AGAIN_MS * 2 ** (tries - 1);
  if (!(error instanceof PostriderError) || (error.status !== 429 && error.status !== 503)) return null;
  const seconds = error.retryAfterSeconds ?? 2 ** (tries - 1);
  return seconds <= RETRY_AFTER_SECONDS_MAX ? seconds * 1000 : null;
}
