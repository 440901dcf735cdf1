// The server of node:http, which takes no connection by itself: each new one is given to a function. What that function gives back,
// the server treats as a new connection of its own, as the documentation of the event `connection` allows for any stream.

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
