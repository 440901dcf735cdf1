// Loaded into the service before it starts (`--import`): plants the fault that a request names in its header, in places
// that no request of an honest program reaches.

import { EventEmitter } from 'node:events';
import { type IncomingMessage, Server, type ServerResponse } from 'node:http';
import { PublishHandler } from '../../../src/inbound/publish/publish-handler.ts';
import { WholeResponse } from '../../../src/inbound/server/publisher-connection.ts';
import { WholeRequest } from '../../../src/inbound/server/whole-request.ts';

const PLANTS: ReadonlyMap<string, (request: IncomingMessage, response: ServerResponse, fault: Error) => void> = new Map(
  [
    ['in a timer', (_request, _response, fault) => void setTimeout(() => raise(fault), 1)],
    ['in a promise nobody awaits', (_request, _response, fault) => void Promise.reject(fault)],
    ['not an error', () => void Promise.reject('planted: not an error')],
    [
      'in an event nobody listens to',
      (_request, _response, fault) => process.nextTick(() => new EventEmitter().emit('error', fault)),
    ],
    ['of the answer', (_request, response, fault) => process.nextTick(() => response.emit('error', fault))],
    [
      'before the headers',
      (_request, response, fault) => {
        const { writeHead } = response;
        response.writeHead = () => {
          response.writeHead = writeHead;
          throw fault;
        };
      },
    ],
    [
      'after the headers',
      (_request, response, fault) => {
        const { end } = response;
        response.end = () => {
          response.end = end;
          response.flushHeaders();
          throw fault;
        };
      },
    ],
  ] as const,
);

function raise(fault: Error): void {
  throw fault;
}

const { emit } = Server.prototype;
Server.prototype.emit = function plant(this: Server, name: string | symbol, ...args: unknown[]) {
  if (name === 'request') {
    const [request, response] = args as [IncomingMessage, ServerResponse];
    const kind = String(request.headers['x-planted-fault'] ?? '');
    PLANTS.get(kind)?.(request, response, new Error(`planted: ${kind}`));
  }
  return emit.call(this, name, ...args);
};

/** In a publish that is read without node:http, whose response is written at once. */
const PUBLISH_PLANTS: ReadonlyMap<string, (request: WholeRequest, response: WholeResponse, fault: Error) => void> =
  new Map([
    [
      'before the headers',
      (_request, response, fault) => {
        response.endJson = () => raise(fault);
      },
    ],
    [
      'after the headers',
      ({ socket }, _response, fault) => {
        socket.write = () => {
          Reflect.deleteProperty(socket, 'write');
          throw fault;
        };
      },
    ],
  ]);

const { handle } = PublishHandler.prototype;
PublishHandler.prototype.handle = function plant(this: PublishHandler, request, response, refuse) {
  if (request instanceof WholeRequest && response instanceof WholeResponse) {
    const kind = request.headerList.find(([name]) => name.toLowerCase() === 'x-planted-fault')?.[1] ?? '';
    PUBLISH_PLANTS.get(kind)?.(request, response, new Error(`planted: ${kind}`));
  }
  return Reflect.apply(handle, this, [request, response, refuse]);
};
