// The public QStash clients: with their prefix, and with it only, the service answers as they expect where that differs
// from our own contract. docs/api.md lists the differences.

const PREFIX = 'upstash-';

export function isForQstashClients(headerPrefix: string): boolean {
  return headerPrefix.toLowerCase() === PREFIX;
}
