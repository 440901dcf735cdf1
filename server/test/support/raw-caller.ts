// A caller that writes the very bytes it is given, whenever the test says so, and reads whole responses. It may close its
// side and go on reading.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { Cleanup } from './receiver.ts';
import { waitFor } from './wait.ts';

export interface RawResponse {
  readonly status: number;
  readonly head: string;
  readonly body: string;
}

export class RawCaller {
  readonly socket: Socket;
  /** All that was received. */
  text = '';
  /** The code of the error that ended the connection. */
  error: string | null = null;

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.setNoDelay(true);
    socket.on('error', (error: NodeJS.ErrnoException) => {
      this.error = error.code ?? error.message;
    });
  }

  static async dial(t: Cleanup, url: string): Promise<RawCaller> {
    const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1', allowHalfOpen: true });
    t.after(() => {
      socket.destroy();
    });
    const caller = new RawCaller(socket);
    await once(socket, 'connect');
    return caller;
  }

  /** Without this, it reads nothing. */
  listen(): this {
    this.socket.setEncoding('latin1');
    this.socket.on('data', (chunk) => {
      this.text += chunk;
    });
    return this;
  }

  say(text: string): void {
    this.socket.write(text, 'latin1');
  }

  /** Resolves when the system has taken all of it, or the connection has broken. */
  sayAll(bytes: string | Uint8Array): Promise<void> {
    return new Promise((resolve) => this.socket.write(bytes, () => resolve()));
  }

  /** It sends nothing more, and goes on reading. */
  end(text = ''): void {
    this.socket.end(text, 'latin1');
  }

  get responses(): RawResponse[] {
    return responsesIn(this.text);
  }

  async hears(...statuses: number[]): Promise<void> {
    await waitFor(`${statuses}`, () => this.isOver || this.responses.length >= statuses.length);
    assert.deepEqual(
      this.responses.map(({ status }) => status),
      statuses,
      `${this.error}`,
    );
  }

  get isOver(): boolean {
    return this.socket.readableEnded || this.socket.destroyed;
  }

  async hearsEnd(): Promise<void> {
    await waitFor('the end of the connection', () => this.isOver);
    assert.equal(this.error, null);
  }
}

/** Those that are whole. */
export function responsesIn(text: string): RawResponse[] {
  const found: RawResponse[] = [];
  for (let rest = text; ; ) {
    const headEnd = rest.indexOf('\r\n\r\n') + 4;
    if (headEnd < 4) return found;
    const head = rest.slice(0, headEnd);
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1]);
    assert.ok(status > 0, `not a response: ${JSON.stringify(rest.slice(0, 200))}`);
    const bodyEnd = endOfBody(rest, headEnd, head, status);
    if (bodyEnd === null) return found;
    if (status >= 200) found.push({ status, head, body: rest.slice(headEnd, bodyEnd) });
    rest = rest.slice(bodyEnd);
  }
}

function endOfBody(text: string, start: number, head: string, status: number): number | null {
  if (status < 200 || status === 204 || status === 304) return start;
  if (/\r\ntransfer-encoding: chunked\r\n/i.test(head)) {
    const end = text.indexOf('0\r\n\r\n', start);
    return end < 0 ? null : end + 5;
  }
  const length = /\r\ncontent-length: (\d+)\r\n/i.exec(head)?.[1];
  assert.ok(length !== undefined, `no length: ${head}`);
  const end = start + Number(length);
  return end > text.length ? null : end;
}
