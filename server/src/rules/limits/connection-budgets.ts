// The rows of the table of budgets for connections: of callers, with their requests, and to destinations. The table is in
// budgets.ts.

import { KIB, MIB } from './budget.ts';

export const CALLER_BUDGETS = {
  acceptedAtOnce: {
    what: 'New connections accepted in one turn of the event loop, on systems where sockets can share a port',
    unit: 'connections',
    each: 64,
    beyond: 'further connections are accepted in the next turn',
  },
  connections: {
    what: 'Connections of callers',
    unit: 'connections',
    node: 4096,
    beyond:
      'another connection is closed for the new one: one that the server is already closing; otherwise, if callers without a known token have more than a quarter of the connections, the oldest of the network with the most; otherwise the longest idle one of the account with the most. A request with a known token is never dropped for a new connection',
  },
  unknownCallers: {
    what: 'Connections that are reserved for callers whose token is not known yet, or who sent none. Such callers are counted by network: the /24 of an IPv4 address, the /64 of an IPv6 address; with `--trusted-proxy` that of the address in `X-Forwarded-For`',
    unit: 'connections',
    node: 1024,
    beyond:
      'such callers may have more while other connections are free; when all are used, theirs are closed first for a new one',
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
    beyond: 'nothing more is read from the connection until a response has been sent',
  },
  headBytes: {
    what: 'Request line and headers of a request',
    unit: 'bytes',
    each: 64 * KIB,
    beyond: '431 `headers_too_large`',
  },
  partBytes: {
    what: 'First part of a publish request that is kept until the rest arrives, so that both are parsed at once',
    unit: 'bytes',
    each: 16 * KIB,
    beyond: 'the request is parsed as it arrives, which takes longer',
  },
  rememberedHead: {
    what: 'Request line and headers of a publish whose header lines are cached',
    unit: 'bytes',
    each: 2 * KIB,
    beyond: 'not cached',
  },
  rememberedLines: { what: 'Header lines of a publish that are cached', unit: 'lines', each: 32, beyond: 'not cached' },
  headSeconds: {
    what: 'Time to receive the request line and headers',
    unit: 'seconds',
    each: 20,
    beyond: '408 `request_timeout`; a connection that has sent nothing is closed without a response',
  },
  requestSeconds: { what: 'Time for a whole request', unit: 'seconds', each: 300, beyond: '408 `request_timeout`' },
  bodySeconds: {
    what: 'Time in which the next 16 KiB of a request body must arrive, unless the body ends before that. On every route',
    unit: 'seconds',
    each: 10,
    beyond: '408 `body_too_slow`; the connection is closed',
  },
  bodyBytesMin: {
    what: 'Bytes of a request body that must arrive in each 10 seconds, unless the body ends before that',
    unit: 'bytes',
    each: 16 * KIB,
    beyond: 'with less, the request is refused with 408 `body_too_slow`',
  },
  idleSeconds: {
    what: 'Idle time between two requests of a connection',
    unit: 'seconds',
    each: 65,
    beyond: 'the connection is closed',
  },
  refusedBytes: {
    what: 'Bytes that a caller sends after its request was refused or its connection closed. They are read and dropped, because otherwise the caller would not get the response',
    unit: 'bytes',
    each: 64 * MIB,
    beyond: 'the connection is destroyed',
  },
  refusedSeconds: {
    what: 'Time for which the bytes after a refused request are read and dropped',
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
    what: 'Time for which a caller may read nothing of its response',
    unit: 'seconds',
    each: 30,
    beyond: 'the connection is destroyed',
  },
  unreadAnswers: {
    what: 'Written responses that callers have not read yet',
    unit: 'bytes',
    node: 64 * MIB,
    beyond:
      'a connection of the account or network with the most unread bytes is destroyed: of those whose caller reads nothing, if there are any, the one with the most unread bytes. If callers without a known token have more than a quarter of the limit, only their networks are considered',
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
    what: 'Destinations whose connections are not reused for a minute, because the destination closed one right after its first response, or sent bytes without a request',
    unit: 'destinations',
    node: 1024,
    beyond: 'the oldest is forgotten',
  },
};
