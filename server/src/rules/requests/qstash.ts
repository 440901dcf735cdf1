// Support for the public QStash clients. With their header prefix, and only then, the service responds as these clients
// expect, also where that differs from its own contract. docs/api.md lists the differences.

const PREFIX = 'upstash-';

export function isForQstashClients(headerPrefix: string): boolean {
  return headerPrefix.toLowerCase() === PREFIX;
}
