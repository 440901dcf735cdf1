// The URLs of an address that we listen on, for callers and for the acks of receivers.

import type { AddressInfo } from 'node:net';
import { isLoopback } from '../inbound/server/own-hosts.ts';
import type { NodeBase } from './node-base.ts';

type Bound = Pick<AddressInfo, 'address' | 'port'>;

/** With a host that callers can use. */
export function urlOf({ address, port }: Bound): string {
  const host = address.includes(':') ? `[${address}]` : address;
  return `http://${isAny(address) ? '127.0.0.1' : host}:${port}`;
}

/** Receivers get the public URL for their acks. Without one, they get our address, and a log line says so once. */
export function setAckAddress({ acks, config, log }: Pick<NodeBase, 'acks' | 'config' | 'log'>, bound: Bound): void {
  acks.address = config.publicUrl ?? urlOf(bound);
  const isOnlyHere = isAny(bound.address) || isLoopback(bound.address);
  if (config.command !== 'serve' || config.publicUrl !== null || !isOnlyHere) return;
  acks.onFirstUrl = () =>
    log.warn(
      { address: urlOf(bound) },
      'a delivery with Await-Ack names this address for its ack, which receivers on other machines cannot reach: set --public-url',
    );
}

function isAny(address: string): boolean {
  return address === '0.0.0.0' || address === '::';
}
