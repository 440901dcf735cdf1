// Makes the message that notifies the target of an alert. It is checked like a publish, so that what is accepted can
// also be sent.

import type { Account } from '../rules/accounts/account.ts';
import { ALERT_LABEL, type Alert } from '../rules/alerts/alert.ts';
import { type Descent, NO_DESCENT } from '../rules/delivery/descent.ts';
import type { NewMessage } from '../rules/delivery/message.ts';
import type { Problem } from '../rules/requests/problem.ts';
import type { Publications } from './publications.ts';

export type PlannedAlert = { readonly message: NewMessage } | { readonly problem: Problem };

export async function planAlertMessage(
  publications: Publications,
  headerPrefix: string,
  { id, target }: Pick<Alert, 'id' | 'target'>,
  account: Account,
  body: string,
  descent: Descent = NO_DESCENT,
): Promise<PlannedAlert> {
  const planned = await publications.plan(
    {
      destination: target.url,
      headers: [
        ['Content-Type', 'application/json'],
        [`${headerPrefix}Label`, `${ALERT_LABEL},${id}`],
      ],
      body: new TextEncoder().encode(body),
      queueName: null,
      scheduleId: null,
      callerIp: null,
      descent,
    },
    account,
  );
  if ('problem' in planned) return planned;
  const [message] = planned.messages;
  return { message: { ...message!, kind: 'alert' } };
}
