// A request of node:http whose body can be taken as it is parsed, without the events of a stream. Those events would
// cost as much as all checks of a publish.
//
// Relies on, in Node.js 24, 25 and 26: the parser calls `push` of the request with each piece of its body, and with
// null at the end; after the response, node:http calls `_dump` of a request that was not read, and reads
// `readableEnded` before it drops the request. Without this feature: the events of the stream (`isStreamed`).

import { createServer, IncomingMessage, type ServerResponse } from 'node:http';
import { expect } from './features.ts';
import { MemoryStream } from './http-connection.ts';

export abstract class ParsedRequest extends IncomingMessage {
  /** Whether the end of the body was taken. Then the stream gets no end, so `readableEnded` must be true without it. */
  #isTaken = false;

  static {
    // TypeScript does not allow an accessor in place of this property.
    const ended = (request: ParsedRequest) =>
      Reflect.get(IncomingMessage.prototype, 'readableEnded', request) as boolean;
    Object.defineProperty(ParsedRequest.prototype, 'readableEnded', {
      get(this: ParsedRequest) {
        return this.#isTaken || ended(this);
      },
    });
  }

  /** Whether the body comes by the events of the stream. A subclass for which this is true must call `takeStream`. */
  protected get isStreamed(): boolean {
    return false;
  }

  /** Called with each piece of the body. Returns whether it took the piece: otherwise the stream gets it. */
  protected abstract takePiece(piece: Uint8Array): boolean;

  /** Called at the end of the body. Returns whether it took the end: otherwise the stream gets it. */
  protected abstract takeEnd(): boolean;

  /** Called when the request is closed. If its body has not ended, no end follows. */
  protected abstract takeClose(): void;

  /** From now on, the events of the stream call `takePiece`, `takeEnd` and `takeClose`. */
  protected takeStream(): void {
    this.on('data', (piece: Buffer) => this.takePiece(piece));
    this.on('end', () => this.takeEnd());
    this.on('close', () => this.takeClose());
  }

  /** Notes that the end of the body was taken, so the stream will not end. */
  protected endTaken(): void {
    this.#isTaken = true;
  }

  override push(piece: Uint8Array | null, encoding?: BufferEncoding): boolean {
    if (this.isStreamed) return super.push(piece, encoding);
    if (piece === null ? this.takeEnd() : this.takePiece(piece)) return true;
    return super.push(piece, encoding);
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    if (!this.isStreamed) this.takeClose();
    super._destroy(error, callback);
  }

  /** Overrides the method of node:http, which drops a body that is not read. This one still passes on its pieces. */
  _dump(): void {
    if (this.#isTaken) return;
    this.removeAllListeners('data');
    if (this.isStreamed) this.on('data', (piece: Buffer) => this.takePiece(piece));
    this.resume();
  }
}

/** Records the methods of a request that node:http calls, in order. */
export class ProbedRequest extends ParsedRequest {
  readonly calls: string[] = [];
  isTaking = true;

  protected override takePiece(piece: Uint8Array): boolean {
    this.calls.push(`piece ${Buffer.from(piece)}`);
    return this.isTaking;
  }

  protected override takeEnd(): boolean {
    this.calls.push('end');
    if (this.isTaking) this.endTaken();
    return this.isTaking;
  }

  protected override takeClose(): void {}

  override _dump(): void {
    this.calls.push('_dump');
    super._dump();
  }
}

const BODY = ['piece ab', 'piece cd', 'end'].join();

/** Tests in memory, with two requests: the body of one is taken, the body of the other is not read. */
export async function testParsedRequest(Request = ProbedRequest): Promise<void> {
  const server = createServer({ IncomingMessage: Request });
  const begun: { readonly request: ProbedRequest; readonly response: ServerResponse }[] = [];
  server.on('request', (request, response) => begun.push({ request, response }));
  const stream = new MemoryStream();
  server.emit('connection', stream);
  for (const isTaking of [true, false]) {
    stream.emit('data', Buffer.from('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\n'));
    const { request, response } = begun.at(-1) ?? {};
    expect(request !== undefined && response !== undefined, 'node:http does not parse what is emitted at once');
    request.isTaking = isTaking;
    for (const piece of ['ab', 'cd']) stream.emit('data', Buffer.from(piece));
    expect(request.calls.join() === BODY, 'the parser does not call push of a request');
    const closed = new Promise<void>((resolve) => response.once('close', resolve));
    response.end();
    await closed;
    expect(request.calls.at(-1) === '_dump', 'node:http does not call _dump of a request that nobody reads');
    expect(request.readableEnded === isTaking || !isTaking, 'readableEnded of a request cannot be replaced');
  }
  stream.destroy();
}
