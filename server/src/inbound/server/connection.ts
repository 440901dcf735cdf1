// One connection of a caller: what is known about it, and which code reads it.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Owner } from '../../rules/limits/owners.ts';
import { Member } from '../../runtime/collections/member-list.ts';

/** A request and its response. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** Reads publishes from a connection until it is handed over to node:http. */
export interface PublishReader {
  look(): void;
  stop(): void;
}

/** Passes the bytes of a connection on to node:http. */
export interface Feed {
  /** A response has ended, so there may be room for another request. */
  next(): void;
  /** The service stops. Bytes that wait for their turn are taken now. */
  stop(): void;
  /** Called periodically, with the time since the last call. */
  look(sinceMs: number): void;
}

/** `silent`: the connection has never had a request. `closing`: it takes no further request. */
type State = 'silent' | 'busy' | 'idle' | 'closing';

export class Connection extends Member {
  readonly socket: Socket;
  state: State = 'silent';
  /** The account of the current or last request. If it is not known: the network that the request came from. */
  owner: Owner<Connection>;
  /** The network of the caller's address. */
  readonly network: string;
  /** The responses that are not complete yet, or that the caller has not read yet. */
  readonly open: ServerResponse[] = [];
  latest: Exchange | null = null;
  publisher: PublishReader | null = null;
  feed: Feed | null = null;
  /** Whether no further request is carried out. */
  isLast = false;
  /** Whether the caller has sent something that is not a request. */
  isUnreadable = false;
  /** A last response, sent after all others, to input that is not a request. */
  lastWords: string | null = null;
  /** Whether our side is closed. */
  isClosing = false;
  /** How long the connection is still read after our side was closed. */
  closingMs: number;
  /** How many checks there were since the caller has closed its side. */
  endedLooks = 0;
  /** For how many checks the publisher has waited for a request. */
  idleLooks = 0;
  /** How many bytes of responses were unread at the last check. */
  unreadBytes = 0;
  /** How far the socket had written at the last check. */
  written = '';
  /** Since when `written` has not changed while bytes were waiting. */
  stalledSinceMs = 0;
  isStalled = false;
  /** Whether the system probes the caller (TCP keep-alive). */
  isProbed = false;
  /** When the connection is destroyed, whatever its caller does. Infinity: no time is set. */
  destroyedAtMs = Number.POSITIVE_INFINITY;
  cancelDestroy: (() => void) | null = null;

  constructor(socket: Socket, network: string, owner: Owner<Connection>, closingMs: number) {
    super();
    this.socket = socket;
    this.network = network;
    this.owner = owner;
    this.closingMs = closingMs;
  }
}
