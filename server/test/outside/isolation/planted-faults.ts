// Loaded into the service before it starts (`--import`): plants the fault that a request names in its header, in places
// that no request of an honest program reaches.

import { EventEmitter } from 'node:events';
import { type IncomingMessage, Server, type ServerResponse } from 'node:http';

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
