// One connection of a caller: what is known about it, and who reads it.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Owner } from '../../rules/limits/owners.ts';
import { Member } from '../../runtime/collections/member-list.ts';

/** A request and its response. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** Reads a connection while node:http does not. */
export interface Publisher {
  look(): void;
  stop(): void;
}

/** Passes a connection on to node:http. */
export interface Feed {
  /** A response has ended: there may be room for a request. */
  next(): void;
  /** The service stops: what has arrived does not wait for its turn. */
  stop(): void;
  /** Called periodically, with the time since the last call. */
  look(sinceMs: number): void;
}

/** `silent`: it has never had a request. `closing`: it gets no further request. */
type State = 'silent' | 'busy' | 'idle' | 'closing';

export class Connection extends Member {
  readonly socket: Socket;
  state: State = 'silent';
  /** The owner of its current or last requests: their account, or the network they came from. */
  owner: Owner<Connection>;
  /** The network of the caller's address. */
  readonly network: string;
  /** The requests that have no response yet, or whose response is not read yet. */
  readonly open: ServerResponse[] = [];
  latest: Exchange | null = null;
  publisher: Publisher | null = null;
  feed: Feed | null = null;
  /** Whether no further request is carried out. */
  isLast = false;
  /** Whether its caller sent something that is not a request. */
  isUnreadable = false;
  /** A last response, after all others, to input that is not a request. */
  lastWords: string | null = null;
  /** Whether our side is closed. */
  isClosing = false;
  /** How long the connection is still read after our side was closed. */
  closingMs: number;
  /** The number of checks since its caller has closed its side. */
  endedLooks = 0;
  /** The number of checks for which its publisher has waited for a request. */
  idleLooks = 0;
  /** Unread response bytes at the last check. */
  unreadBytes = 0;
  /** What the socket had written at the last check, and since when that has not changed. */
  written = '';
  stalledSinceMs = 0;
  isStalled = false;
  /** Whether the system probes the caller (TCP keep-alive). */
  isProbed = false;
  /** When the connection is destroyed, whatever its caller does. */
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
