// Support for the public QStash clients. Only with the header prefix of these clients, the service responds as they
// expect where that differs from its own contract. docs/api.md lists the differences.

const PREFIX = 'upstash-';

export function isForQstashClients(headerPrefix: string): boolean {
  return headerPrefix.toLowerCase() === PREFIX;
}
