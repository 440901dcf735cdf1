// A server of node:http that does not read new connections, but passes each one to the function `take`. Only
// `giveToNode` makes node:http read a connection. It emits the event `connection`, which is documented for any stream.

import { type IncomingMessage, Server, type ServerOptions, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

export class NodeServer extends Server {
  readonly #take: (socket: Socket) => void;

  constructor(
    options: ServerOptions,
    receive: (request: IncomingMessage, response: ServerResponse) => void,
    take: (socket: Socket) => void,
  ) {
    super(options, receive);
    this.#take = take;
  }

  giveToNode(socket: Socket): void {
    super.emit('connection', socket);
  }

  override emit(event: string, ...given: unknown[]): boolean {
    if (event !== 'connection') return super.emit(event, ...given);
    this.#take(given[0] as Socket);
    return true;
  }
}
