// The headers of a request in their original order and case, which Node's headers object does not keep.

import type { IncomingMessage } from 'node:http';
import type { HeaderList } from '../../rules/delivery/message.ts';
import { WholeRequest } from './whole-request.ts';

export function rawHeaders(request: IncomingMessage | WholeRequest): HeaderList {
  if (request instanceof WholeRequest) return request.headerList;
  const raw = request.rawHeaders;
  const headers: [string, string][] = [];
  for (let i = 0; i < raw.length; i += 2) headers.push([raw[i]!, raw[i + 1]!]);
  return headers;
}
