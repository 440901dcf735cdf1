// The rows of the table of budgets for connections: of callers, with their requests, and to destinations. The table is in
// budgets.ts.

import { KIB, MIB } from './budget.ts';

export const CALLER_BUDGETS = {
  acceptedAtOnce: {
    what: 'New connections accepted in one turn of the event loop, on systems where sockets can share a port',
    unit: 'connections',
    each: 64,
    beyond: 'the others follow in the next turn',
  },
  connections: {
    what: 'Connections of callers',
    unit: 'connections',
    node: 4096,
    beyond:
      'a connection that the server is closing is destroyed; else the oldest connection of the network with the most, if callers without a known token have more than their part; else the longest idle connection of the account with the most. A request with a known token is never dropped for a new connection',
  },
  unknownCallers: {
    what: 'Part of these connections for callers whose token is not known yet, or who sent none. They are counted by network: the /24 of an IPv4 address, the /64 of an IPv6 address; with `--trusted-proxy` that of the address in `X-Forwarded-For`',
    unit: 'connections',
    node: 1024,
    beyond: 'they may have more while there is room, and are the first to go when there is none',
  },
  metricsConnections: {
    what: 'Connections to the port of `--metrics-port`',
    unit: 'connections',
    node: 32,
    beyond: 'the new connection is closed',
  },
  requests: {
    what: 'Requests in progress, including live streams',
    unit: 'requests',
    account: 'share' as const,
    node: 3072,
    beyond: '429 `share_used` for the account, 503 `overloaded` when the node is full',
  },
  pipelined: {
    what: 'Requests of one connection that wait for their responses',
    unit: 'requests',
    each: 64,
    beyond: 'the connection is read on when a response has been sent',
  },
  headBytes: {
    what: 'Request line and headers of a request',
    unit: 'bytes',
    each: 64 * KIB,
    beyond: '431 `headers_too_large`',
  },
  partBytes: { what: 'Publish that waits for its rest', unit: 'bytes', each: 16 * KIB, beyond: 'read as it comes' },
  rememberedHead: { what: 'Head of an earlier publish, remembered', unit: 'bytes', each: 2 * KIB, beyond: 'forgotten' },
  rememberedLines: { what: 'Lines of a remembered head', unit: 'lines', each: 32, beyond: 'read each time' },
  headSeconds: {
    what: 'Time to receive the request line and headers',
    unit: 'seconds',
    each: 20,
    beyond: '408 `request_timeout`; a connection that has sent nothing is closed without a response',
  },
  requestSeconds: { what: 'Time for a whole request', unit: 'seconds', each: 300, beyond: '408 `request_timeout`' },
  bodySeconds: {
    what: 'Time in which a part of a body must arrive, on every route, unless the body ends before',
    unit: 'seconds',
    each: 10,
    beyond: '408 `body_too_slow`; the connection is closed',
  },
  bodyBytesMin: {
    what: 'Smallest size of that part',
    unit: 'bytes',
    each: 16 * KIB,
    beyond: 'less is refused',
  },
  idleSeconds: {
    what: 'Idle time between two requests of a connection',
    unit: 'seconds',
    each: 65,
    beyond: 'the connection is closed',
  },
  refusedBytes: {
    what: 'Bytes that are still read, and dropped, from a caller that sends on after its request was refused or its connection closed, so that it gets the response',
    unit: 'bytes',
    each: 64 * MIB,
    beyond: 'the connection is destroyed',
  },
  refusedSeconds: {
    what: 'Time to read these bytes of a refused request',
    unit: 'seconds',
    each: 15,
    beyond: 'the connection is destroyed',
  },
  endedSeconds: {
    what: 'Time for a caller to close a connection that the server has closed',
    unit: 'seconds',
    each: 5,
    beyond: 'the connection is destroyed',
  },
  halfClosedSeconds: {
    what: 'Time for the responses to a caller that has closed its side of the connection. A live stream ends at once',
    unit: 'seconds',
    each: 60,
    beyond: 'the connection is destroyed',
  },
  unreadSeconds: {
    what: 'Time in which a caller reads nothing of its response',
    unit: 'seconds',
    each: 30,
    beyond: 'the connection is destroyed',
  },
  unreadAnswers: {
    what: 'Written responses that callers have not read yet',
    unit: 'bytes',
    node: 64 * MIB,
    beyond:
      'of the account or network with the most unread bytes, the connection with the most is destroyed; connections that read nothing come first. Callers without a known token come first when they have more than a quarter',
  },
};

export const DESTINATION_BUDGETS = {
  idleConnections: {
    what: 'Idle connections to destinations, kept a few seconds for the next message',
    unit: 'connections',
    node: 1024,
    beyond: 'the connection that has been idle longest is closed',
  },
  oneShotOrigins: {
    what: 'Destinations whose connections are not used again for a minute: they closed one right after its first response, or sent bytes without a request',
    unit: 'destinations',
    node: 1024,
    beyond: 'the oldest is forgotten',
  },
};
