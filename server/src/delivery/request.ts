// The request that delivers a message: which headers go with it. The signature is added when it is sent.

import { handedOn } from '../domain/descent.ts';
import { isNamed } from '../domain/headers.ts';
import type { Claim, HeaderList } from '../domain/message.ts';
import type { SendJob } from './sender.ts';

export interface RequestStyle {
  readonly headerPrefix: string;
  readonly userAgent: string;
}

export function sendJob(claim: Claim, style: RequestStyle): SendJob {
  const { message } = claim;
  return {
    lease: claim.lease,
    messageId: message.id,
    accountId: message.accountId,
    url: message.url,
    method: message.method,
    headers: requestHeaders(claim, style),
    body: message.body,
    timeoutMs: message.timeoutMs,
    signingKey: claim.signingKey,
  };
}

function requestHeaders({ message }: Claim, { headerPrefix, userAgent }: RequestStyle): HeaderList {
  const headers: (readonly [string, string])[] = [...message.headers];
  const own = (name: string, value: string | null) => {
    if (value !== null) headers.push([headerPrefix + name, value]);
  };
  if (!headers.some(([name]) => isNamed(name, 'user-agent'))) headers.push(['User-Agent', userAgent]);
  own('Message-Id', message.id);
  own('Retried', String(message.retried));
  own('Topic-Name', message.topicName);
  own('Schedule-Id', message.scheduleId);
  own('Queue-Name', message.queueName);
  own('Caller-Ip', message.callerIp);
  // Read again when this very request reaches a call of ours that makes messages.
  own('Hops', String(message.hops + 1));
  own('Descendants-Left', String(handedOn(message)));
  return headers;
}
