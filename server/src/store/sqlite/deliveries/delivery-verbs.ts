// The table of the verbs that a node calls to accept, lease and settle messages.

import { workUnitsOf } from '../../../rules/limits/turns.ts';
import { waitingBytes } from '../../shared/inbox.ts';
import { expireMessages } from '../messages/expiry.ts';
import { on, type VerbContext, withCaches } from '../thread/verb.ts';
import { accept } from './accept.ts';
import { claimAlone, readRecovery } from './alone.ts';
import { cancelledClaims, nodesHoldingCancelled } from './cancel.ts';
import type { ClaimCommand } from './claim.ts';
import { release } from './open-message.ts';
import { leasesOf, orphanedClaims } from './orphans.ts';
import { settle } from './settle.ts';
import * as time from './time.ts';

export const DELIVERY_VERBS = {
  accept: withCaches(accept, {
    makesWorkAt: ({ dueAt }) => dueAt,
    writesJournal: true,
    work: ({ messages }) => ({
      accountId: messages[0]?.accountId ?? '',
      units: workUnitsOf(messages.length, waitingBytes(messages)),
    }),
  }),
  claim: { run: ({ claimer }: VerbContext, command: ClaimCommand) => claimer.claim(command), takesLong: true },
  settle: withCaches(settle, { makesWorkAt: ({ dueAt }) => dueAt, writesJournal: true }),
  release: withCaches(release, {
    makesWorkAt: ({ dueAt }) => dueAt,
    writesJournal: ({ cancelled, overtaken }) => cancelled.length + overtaken.length > 0,
  }),
  expireMessages: withCaches(expireMessages, {
    makesWorkAt: ({ dueAt }) => dueAt,
    writesJournal: ({ expired }) => expired.length > 0,
  }),
  cancelledClaims: on(cancelledClaims),
  nodesHoldingCancelled: on(nodesHoldingCancelled),

  orphanedClaims: on(orphanedClaims),
  leasesOf: on(leasesOf),
  claimAlone: withCaches(claimAlone),
  recovery: on(readRecovery),

  heartbeat: on(time.heartbeat),
  storedTime: on(time.storedTime),
};
