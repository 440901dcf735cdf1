// A stream of our own in front of a socket, made with documented calls only. It takes the place of the socket where a
// feature of this folder fails its self-test: what socket-bytes.ts, node:http and undici need of a socket is defined
// here, and does not depend on the inside of Node.js. It costs a second stream for each connection.

import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';

type Done = (error?: Error | null) => void;

/** A larger write is made in several steps, so that it shows whether the other side still reads. */
const WRITE_BYTES_MAX = 64 * 1024;

/** The result has only those members of a socket that this service, node:http, Fastify and undici use. */
export function wrapSocket(socket: Socket): Socket {
  return new WrappedSocket(socket) as unknown as Socket;
}

class WrappedSocket extends Duplex {
  readonly #socket: Socket;

  constructor(socket: Socket) {
    super({ allowHalfOpen: true, writableHighWaterMark: socket.writableHighWaterMark });
    this.#socket = socket;
    socket.on('data', (bytes) => {
      if (!this.push(bytes)) socket.pause();
    });
    socket.on('end', () => this.push(null));
    socket.on('timeout', () => this.emit('timeout'));
    socket.on('error', (error) => this.destroy(error));
    socket.on('close', () => this.destroy());
    // Reading from this stream starts the socket.
    socket.pause();
  }

  override _read(): void {
    this.#socket.resume();
  }

  override _write(bytes: Buffer, _encoding: BufferEncoding, done: Done): void {
    if (bytes.length <= WRITE_BYTES_MAX) {
      this.#socket.write(bytes, done);
      return;
    }
    this.#socket.write(bytes.subarray(0, WRITE_BYTES_MAX), (error) => {
      if (error) done(error);
      else this._write(bytes.subarray(WRITE_BYTES_MAX), _encoding, done);
    });
  }

  override _writev(chunks: readonly { readonly chunk: Buffer }[], done: Done): void {
    this._write(Buffer.concat(chunks.map(({ chunk }) => chunk)), 'latin1', done);
  }

  override _final(done: Done): void {
    this.#socket.end(() => done());
  }

  override _destroy(error: Error | null, done: Done): void {
    this.#socket.destroy();
    done(error);
  }

  destroySoon(): void {
    this.end(() => this.destroy());
  }

  setTimeout(ms: number): this {
    this.#socket.setTimeout(ms);
    return this;
  }

  setKeepAlive(isOn: boolean, afterMs: number): this {
    this.#socket.setKeepAlive(isOn, afterMs);
    return this;
  }

  ref(): this {
    this.#socket.ref();
    return this;
  }

  unref(): this {
    this.#socket.unref();
    return this;
  }

  get remoteAddress(): string | undefined {
    return this.#socket.remoteAddress;
  }

  get remotePort(): number | undefined {
    return this.#socket.remotePort;
  }

  get bytesRead(): number {
    return this.#socket.bytesRead;
  }

  get bytesWritten(): number {
    return this.#socket.bytesWritten;
  }
}
