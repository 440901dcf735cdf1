// Runs commands on another thread, over a message port. Each port has one batch in transit at a time. The thread may
// run the batches of several ports as one transaction.

import type { MessagePort, Worker } from 'node:worker_threads';
import type { StartCheck } from '../files/start-check.ts';
import type { Executor } from './executor-port.ts';
import {
  largeBodies,
  packCommands,
  packReplies,
  transferErrors,
  unpackCommands,
  unpackReplies,
} from './packed-calls.ts';
import type { Packed } from './packing.ts';
import type { BatchTimes } from './shared-transaction.ts';
import { type Command, failedReply, type Reply } from './verbs.ts';

/** The messages that a thread sends. */
export type ThreadMessage =
  | { readonly kind: 'opened'; readonly found: StartCheck }
  | { readonly kind: 'replies'; readonly replies: Packed; readonly took: BatchTimes | null }
  | { readonly kind: 'closed' | 'emptied' }
  /** Not a reply: the log has become long, and the checkpointer must be started. */
  | { readonly kind: 'checkpointerWanted' }
  | { readonly kind: 'broken'; readonly message: string };

/** Sends requests to a thread, and receives the replies in the order of the requests. */
export class PortCalls {
  readonly #port: Worker | MessagePort;
  readonly #onEnd: (error: Error) => void;
  #waiting: { readonly resolve: (message: ThreadMessage) => void; readonly reject: (error: Error) => void }[] = [];
  #broken: Error | null = null;

  /** `onEnd` is called once, when the other side has ended or can no longer be used. */
  constructor(port: Worker | MessagePort, onEnd: (error: Error) => void, onCheckpointerWanted = () => {}) {
    this.#port = port;
    this.#onEnd = onEnd;
    port.on('message', (message: ThreadMessage) => {
      if (message.kind === 'broken') this.fail(new Error(message.message));
      else if (message.kind === 'checkpointerWanted') onCheckpointerWanted();
      else this.#waiting.shift()?.resolve(message);
    });
    port.on('messageerror', (error: Error) => this.fail(error));
  }

  get isBroken(): boolean {
    return this.#broken !== null;
  }

  fail(error: Error): void {
    if (this.#broken) return;
    this.#broken = error;
    for (const each of this.#waiting) each.reject(error);
    this.#waiting = [];
    this.#onEnd(error);
  }

  next(): Promise<ThreadMessage> {
    return new Promise((resolve, reject) => {
      if (this.#broken) reject(this.#broken);
      else this.#waiting.push({ resolve, reject });
    });
  }

  async order(text: string): Promise<void> {
    const answer = this.next();
    if (!this.#broken) this.#port.postMessage(text, []);
    await answer;
  }

  async execute(commands: readonly Command[], onTook?: (took: BatchTimes) => void): Promise<readonly Reply[]> {
    if (this.#broken) throw this.#broken;
    const { sent, refused } = send(this.#port, commands);
    if (refused !== null && sent.length === 0) return refused as readonly Reply[];
    const message = await this.next();
    const replies = message.kind === 'replies' ? unpackReplies(message.replies) : [];
    // If some commands were not sent, the times are not parallel to the batch.
    if (message.kind === 'replies' && message.took && refused === null) onTook?.(message.took);
    return refused === null ? replies : refused.map((reply) => reply ?? replies.shift()!);
  }
}

/** An executor over a port. At its other end, `servePort` or the thread of the writer runs the commands. */
export function portExecutor(port: MessagePort, onEnd: (error: Error) => void = () => {}): Executor {
  const calls = new PortCalls(port, onEnd);
  port.on('close', () => calls.fail(new Error('The store is closed.')));
  return {
    execute: (commands, _from, onTook) => calls.execute(commands, onTook),
    async close() {
      port.close();
    },
  };
}

/** Runs the commands that arrive at the port, with another executor of this thread. */
export function servePort(port: MessagePort, executor: Executor, from: string): void {
  port.on('message', (packed: Packed) => {
    const commands = unpackCommands(packed);
    executor.execute(commands, from).then(
      (replies) => postReplies(port, commands, replies),
      (error: Error) => port.postMessage({ kind: 'broken', message: error.message } satisfies ThreadMessage),
    );
  });
}

/** If a reply cannot be transferred, for example because it is too large, only its command fails. */
export function postReplies(
  port: MessagePort,
  commands: readonly Command[],
  replies: readonly Reply[],
  took: BatchTimes | null = null,
): void {
  const post = (some: readonly Reply[]) =>
    port.postMessage(
      { kind: 'replies', replies: packReplies(commands, some), took } satisfies ThreadMessage,
      largeBodies(commands, some),
    );
  try {
    post(replies);
  } catch {
    const failed = transferErrors(replies, (reply, index) => packReplies([commands[index]!], [reply]));
    post(replies.map((reply, index) => failed[index] ?? reply));
  }
}

/**
 * Sends to the thread all commands that can be transferred. If some cannot, `refused` is parallel to `commands` and has
 * the reason or null.
 */
function send(
  port: Worker | MessagePort,
  commands: readonly Command[],
): { readonly sent: readonly Command[]; readonly refused: readonly (Reply | null)[] | null } {
  const post = (some: readonly Command[]) => {
    const packed = packCommands(some);
    port.postMessage(packed, [packed.bodies.buffer]);
  };
  try {
    post(commands);
    return { sent: commands, refused: null };
  } catch {
    // At least one command cannot be transferred, so none was sent.
  }
  const refused = transferErrors(commands, (command) => packCommands([command]));
  const sent = commands.filter((_, index) => refused[index] === null);
  try {
    if (sent.length > 0) post(sent);
    return { sent, refused };
  } catch (error) {
    // Each command can be transferred alone, but there is not enough memory for all of them together.
    return { sent: [], refused: commands.map(() => failedReply(error)) };
  }
}
