// What every framework's receiver does in the tests: it answers as the body says, and shows what it has got.

import { type Delivery, doNotRetry, retryAfter } from 'postrider-sdk/receiver';

export function handle(delivery: Delivery): Response | undefined {
  const text = delivery.text();
  if (text === 'no retry') return doNotRetry('there is no such customer');
  if (text === 'later') return retryAfter('1h30m');
  if (text === 'nothing') return undefined;
  if (text === 'fail') throw new Error('the program fails');
  const { messageId, retried, queueName } = delivery;
  return Response.json({ messageId, retried, queueName, bytes: [...delivery.body] }, { status: 202 });
}
