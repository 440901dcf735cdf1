// The public QStash clients. With their prefix, and only then, the service responds as they expect where that differs
// from its own contract. docs/api.md lists the differences.

const PREFIX = 'upstash-';

export function isForQstashClients(headerPrefix: string): boolean {
  return headerPrefix.toLowerCase() === PREFIX;
}
