// The request that delivers a message: which headers go with it. The signature is added when the request is sent.

import { descendantsOfRequest } from '../../rules/delivery/descent.ts';
import type { Claim, HeaderList, Message } from '../../rules/delivery/message.ts';
import { isHeaderNamed } from '../../rules/publish/headers.ts';
import type { Delivery } from '../engine/sender.ts';

type Header = HeaderList[number];

export interface RequestStyle {
  readonly headerPrefix: string;
  readonly userAgent: string;
  /** Where the receiver of an attempt reports how its work has ended. Absent: receivers are not asked to. */
  readonly ackUrlOf?: (message: Message) => string;
}

/** The maker is made once for all claims of a node, so that header names are not built for every message. */
export function deliveryMaker({ headerPrefix, userAgent, ackUrlOf }: RequestStyle): (claim: Claim) => Delivery {
  const names = {
    messageId: `${headerPrefix}Message-Id`,
    topicName: `${headerPrefix}Topic-Name`,
    scheduleId: `${headerPrefix}Schedule-Id`,
    queueName: `${headerPrefix}Queue-Name`,
    ackUrl: `${headerPrefix}Ack-Url`,
  };
  const retried = mostlySame(`${headerPrefix}Retried`);
  const callerIp = mostlySame(`${headerPrefix}Caller-Ip`);
  const hops = mostlySame(`${headerPrefix}Hops`);
  const descendantsLeft = mostlySame(`${headerPrefix}Descendants-Left`);
  const ownAgent: Header = ['User-Agent', userAgent];
  const addAckUrl = (headers: Header[], message: Message) => {
    if (message.awaitAckMs !== null && ackUrlOf) headers.push([names.ackUrl, ackUrlOf(message)]);
  };
  return (claim) => {
    const { message } = claim;
    const headers: Header[] = [];
    if (!addForwarded(headers, message.headers)) headers.push(ownAgent);
    headers.push([names.messageId, message.id], retried(message.retried));
    if (message.topicName !== null) headers.push([names.topicName, message.topicName]);
    if (message.scheduleId !== null) headers.push([names.scheduleId, message.scheduleId]);
    if (message.queueName !== null) headers.push([names.queueName, message.queueName]);
    addAckUrl(headers, message);
    if (message.callerIp !== null) headers.push(callerIp(message.callerIp));
    // If the destination is a call of this service that makes messages, the call reads these headers: they bound loops.
    headers.push(hops(message.hops + 1), descendantsLeft(descendantsOfRequest(message)));
    return {
      lease: claim.lease,
      messageId: message.id,
      accountId: message.accountId,
      url: message.url,
      method: message.method,
      headers,
      body: message.body,
      timeoutMs: message.timeoutMs,
      mustStartBefore: message.mustStartBefore,
      signingKey: claim.signingKey,
    };
  };
}

/** Adds the forwarded headers. Returns whether a User-Agent is among them. */
function addForwarded(headers: Header[], forwarded: HeaderList): boolean {
  let hasAgent = false;
  for (const header of forwarded) {
    headers.push(header);
    hasAgent ||= isHeaderNamed(header[0], 'user-agent');
  }
  return hasAgent;
}

/** Caches the last header, because its value is usually the same as for the message before. */
function mostlySame(name: string): (value: string | number) => Header {
  let lastValue: string | number = '';
  let last: Header = [name, ''];
  return (value) => {
    if (value !== lastValue) {
      lastValue = value;
      last = [name, String(value)];
    }
    return last;
  };
}
