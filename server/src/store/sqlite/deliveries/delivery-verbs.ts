// The table of the verbs that a node calls to accept, lease and settle messages.

import { unitsOf } from '../../../rules/limits/turns.ts';
import { waitingBytes } from '../../shared/inbox.ts';
import { on, type VerbContext, writing } from '../thread/verb.ts';
import { accept } from './accept.ts';
import { claimAlone, recovery } from './alone.ts';
import { cancelledClaims, nodesHoldingCancelled } from './cancel.ts';
import { type ClaimCommand, release } from './claim.ts';
import { leasesOf, orphanedClaims } from './orphans.ts';
import { settle } from './settle.ts';
import * as time from './time.ts';

export const DELIVERY_VERBS = {
  accept: writing(accept, {
    makesWorkAt: ({ dueAt }) => dueAt,
    writesJournal: true,
    work: ({ messages }) => ({
      accountId: messages[0]?.accountId ?? '',
      units: unitsOf(messages.length, waitingBytes(messages)),
    }),
  }),
  claim: { run: ({ claimer }: VerbContext, command: ClaimCommand) => claimer.claim(command), takesLong: true },
  settle: writing(settle, { makesWorkAt: ({ dueAt }) => dueAt, writesJournal: true }),
  release: writing(release, { makesWorkAt: (dueAt) => dueAt }),
  cancelledClaims: on(cancelledClaims),
  nodesHoldingCancelled: on(nodesHoldingCancelled),

  orphanedClaims: on(orphanedClaims),
  leasesOf: on(leasesOf),
  claimAlone: writing(claimAlone),
  recovery: on(recovery),

  heartbeat: on(time.heartbeat),
  storedTime: on(time.storedTime),
};
