// `postrider batch`: sends a file of messages, many in one call. It can be stopped at any time: the next run continues
// after the last line that has a response, and sends no message twice.

import { createReadStream, statSync } from 'node:fs';
import { type BatchResult, type Client, PostriderError, UnreachableError } from 'postrider-sdk';
import type { Invocation } from '../../frame/command.ts';
import type { Connection } from '../../frame/connection.ts';
import { EXIT, interruptedExit } from '../../frame/exit-codes.ts';
import { Failure, notPostriderJson, usageFailure } from '../../frame/failure.ts';
import { printable } from '../../frame/printable.ts';
import { ProgressBar } from '../../frame/progress-bar.ts';
import { unreadableFailure } from '../../frame/read-input.ts';
import { type Element, type FileLine, readElement, readLines } from './batch-file.ts';
import { lockFile } from './batch-lock.ts';
import { type BatchRun, type Counts, type Lines, newRunId, RunProgress, startingProgress } from './batch-progress.ts';
import { pause } from './follow.ts';

const ELEMENTS_MAX = 500;
const CHUNK_BYTES_MAX = 8 * 1024 ** 2;
const PROBLEMS_SHOWN_MAX = 20;
const TRIES_MAX = 5;
const TRY_AGAIN_MS = 1000;
const RETRY_AFTER_SECONDS_MAX = 120;
interface Chunk extends Lines {
  readonly elements: readonly Element[];
  /** The numbers of the lines from which the elements were read. */
  readonly lines: readonly number[];
}

const NOTHING: Counts = { accepted: 0, refused: 0 };

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

async function sendLocked(invocation: Invocation, connection: Connection, place: BatchRun): Promise<number> {
  const { given, out, io } = invocation;
  const { path, total } = place;
  const sending = await RunProgress.from(place, await startingProgress(invocation, place));
  const { runId, bytes, doubt } = sending.progress;
  const source = createReadStream(path, { start: bytes }) as AsyncIterable<Uint8Array>;
  const lines = readLines(source, sending.progress);
  const chunks = chunksOf(lines, given.number('chunk') ?? ELEMENTS_MAX, doubt?.toLine ?? null);
  const tellRest = () =>
    out.note(
      `${sending.progress.line} of ${total} lines are done. To continue after them, run the same command again.`,
    );
  try {
    await sendChunks(chunks, new Sender(invocation, connection, runId), sending, invocation, total);
  } catch (error) {
    if (io.interrupted.aborted || error instanceof UnreachableError || error instanceof PostriderError) tellRest();
    throw error;
  }
  if (io.interrupted.aborted && sending.progress.line < total) {
    tellRest();
    return interruptedExit(io.interrupted);
  }
  // The progress file stays, so that the next run knows that everything was sent.
  return report(invocation, sending.progress);
}

async function sendChunks(
  chunks: AsyncIterable<Chunk>,
  sender: Sender,
  sending: RunProgress,
  { given, out, io }: Invocation,
  total: number,
): Promise<void> {
  const isSkipping = given.text('doubtful') === 'skip';
  const bar = new ProgressBar(io.stderr, io.world.clock, out.isJson || given.has('quiet'));
  try {
    for await (const chunk of chunks) {
      const isSkipped = isSkipping && sending.isDoubtful(chunk);
      sending.begin(chunk, io.world.clock.now());
      sending.end(chunk, isSkipped ? NOTHING : await sender.send(chunk));
      bar.show(sending.progress.line, total, 'lines');
      if (io.interrupted.aborted) break;
    }
  } finally {
    bar.end();
  }
}

function report({ out }: Invocation, { accepted, refused }: Counts): number {
  if (!out.isJson) out.line(`${accepted} accepted, ${refused} refused.`);
  return refused === 0 ? EXIT.done : EXIT.failed;
}

/** Reads the whole file before anything is sent. Returns how many lines it has. */
async function checkFile(path: string): Promise<number> {
  const shown: string[] = [];
  let [total, wrong] = [0, 0];
  try {
    if (statSync(path).isDirectory()) throw new Failure(`${printable(path)} is a directory`, { exit: EXIT.usage });
    const source = createReadStream(path) as AsyncIterable<Uint8Array>;
    for await (const line of readLines(source, { line: 0, bytes: 0 })) {
      total = line.number;
      const problem = problemOf(elementOf(line));
      if (problem === null) continue;
      wrong += 1;
      if (wrong <= PROBLEMS_SHOWN_MAX) shown.push(`\n  - line ${line.number}: ${problem}`);
    }
  } catch (error) {
    throw unreadableFailure(printable(path), error);
  }
  if (wrong === 0) return total;
  const more = wrong > shown.length ? `\n  and ${wrong - shown.length} more` : '';
  throw new Failure(`${wrong} of ${total} lines of ${printable(path)} cannot be sent:${shown.join('')}${more}`, {
    exit: EXIT.usage,
    hint: 'Nothing of this run was sent. Repair the lines and run it again: lines that an earlier run has sent are not sent again.',
  });
}

type Read = ReturnType<typeof readElement>;

/** The element of a line, or null for an empty line. */
const elementOf = ({ text }: FileLine): Read | null => (text.trim() === '' ? null : readElement(text));

const problemOf = (read: Read | null) => (read !== null && 'problem' in read ? read.problem : null);

/**
 * `endsWith` is the last line that an earlier run has sent without a response. A chunk ends at this line, so that no
 * chunk has such lines together with new ones.
 */
async function* chunksOf(
  lines: AsyncIterable<FileLine>,
  elementsMax: number,
  endsWith: number | null,
): AsyncGenerator<Chunk> {
  let open = new OpenChunk();
  for await (const line of lines) {
    const element = elementOf(line);
    const problem = problemOf(element);
    if (problem !== null) {
      if (open.raw.length > 0) yield open;
      throw new Failure(`line ${line.number} cannot be sent: ${problem}`, {
        exit: EXIT.usage,
        hint: `The ${line.number - 1} lines before it are sent.`,
      });
    }
    open.add(line, element as Element | null);
    if (!open.isFull(elementsMax) && line.number !== endsWith) continue;
    yield open;
    open = new OpenChunk();
  }
  if (open.raw.length > 0) yield open;
}

class OpenChunk implements Chunk {
  readonly elements: Element[] = [];
  readonly lines: number[] = [];
  readonly raw: Buffer[] = [];
  toLine = 0;
  endsAt = 0;
  #bytes = 0;

  add({ number, endsAt, raw }: FileLine, element: Element | null): void {
    [this.toLine, this.endsAt] = [number, endsAt];
    this.raw.push(raw);
    this.#bytes += raw.length;
    if (element === null) return;
    this.elements.push(element);
    this.lines.push(number);
  }

  isFull(elementsMax: number): boolean {
    return this.elements.length >= elementsMax || this.#bytes >= CHUNK_BYTES_MAX;
  }
}

async function sendStream(invocation: Invocation): Promise<number> {
  const { given, io, connect } = invocation;
  const sender = new Sender(invocation, connect(), newRunId(io));
  const sum = { accepted: 0, refused: 0 };
  for await (const chunk of chunksOf(
    readLines(io.stdin, { line: 0, bytes: 0 }),
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
  /** Whether the service has responded once. Before that, a missing response means a wrong address. */
  #isKnown = false;

  constructor(invocation: Invocation, connection: Connection, runId: string) {
    this.#invocation = invocation;
    this.#connection = connection;
    this.#runId = runId;
  }

  async send({ elements, lines }: Chunk): Promise<Counts> {
    if (elements.length === 0) return NOTHING;
    const results = await this.#call(elements.map((element, index) => this.#named(element, lines[index]!)));
    for (const [index, result] of results.entries()) await this.#tell(result, lines[index]!);
    const refused = results.filter((result) => refusalOf(result) !== null).length;
    return { accepted: results.length - refused, refused };
  }

  async #tell(result: BatchResult, line: number): Promise<void> {
    const { out } = this.#invocation;
    const refusal = refusalOf(result);
    if (out.isJson) await out.record({ line, ...(Array.isArray(result) ? { messages: result } : result) });
    else if (refusal !== null) out.warn(`line ${line} is refused: ${refusal}`);
  }

  /** Gives the element a deduplication id, so that the service recognises the element when it is sent again. */
  #named(element: Element, line: number): Element {
    const names = Object.keys(element.headers ?? {}).map((name) => name.toLowerCase());
    const { headerPrefix } = this.#connection;
    const prefix = headerPrefix.toLowerCase();
    const own = [
      `${prefix}deduplication-id`,
      `${prefix}content-based-deduplication`,
      'idempotency-key',
      `${prefix}debounce-key`,
    ];
    if (names.some((name) => own.includes(name))) return element;
    return {
      ...element,
      headers: { ...element.headers, [`${headerPrefix}Deduplication-Id`]: `${this.#runId}-${line}` },
    };
  }

  /**
   * Sends a chunk. It tries again when the service is unavailable for a moment: the deduplication ids prevent that
   * messages are accepted twice.
   */
  async #call(elements: readonly Element[]): Promise<readonly BatchResult[]> {
    const { client, url } = this.#connection;
    for (let tries = 1; ; tries += 1) {
      try {
        const results = await client.batch(elements as Parameters<Client['batch']>[0]);
        if (results.length !== elements.length || !results.every(isResult)) throw notPostriderJson(url);
        this.#isKnown = true;
        return results;
      } catch (error) {
        await this.#waitAfter(error, tries);
      }
    }
  }

  /** Waits before the next try. Throws the error if another try cannot succeed. */
  async #waitAfter(error: unknown, tries: number): Promise<void> {
    const { io, out } = this.#invocation;
    const isOver = io.interrupted.aborted || tries >= TRIES_MAX || !this.#isKnown;
    const waitMs = isOver ? null : waitBefore(error, tries);
    if (waitMs === null) throw error;
    out.note(`${(error as Error).message}. Trying again in ${Math.ceil(waitMs / 1000)} s.`);
    await pause(io.world.clock, waitMs, io.interrupted);
    if (io.interrupted.aborted) throw error;
  }
}

/** Whether this is a result of the service. A list from any other program must not count as accepted messages. */
function isResult(result: BatchResult): boolean {
  const parts: readonly { readonly messageId?: unknown; readonly error?: unknown }[] = [result].flat();
  return parts.every((each) => typeof (each?.messageId ?? each?.error) === 'string');
}

function refusalOf(result: BatchResult): string | null {
  return 'error' in result ? result.error : null;
}

function waitBefore(error: unknown, tries: number): number | null {
  if (error instanceof UnreachableError) return TRY_AGAIN_MS * 2 ** (tries - 1);
  if (!(error instanceof PostriderError) || (error.status !== 429 && error.status !== 503)) return null;
  const seconds = error.retryAfterSeconds ?? 2 ** (tries - 1);
  return seconds <= RETRY_AFTER_SECONDS_MAX ? seconds * 1000 : null;
}
