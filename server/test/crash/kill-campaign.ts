// One server under load, killed again and again at random moments and started again on the same files, then left alone
// until every message has ended. What the clients, the receiver and the store saw becomes a history to be judged.

import { setTimeout as wait } from 'node:timers/promises';
import type { History } from '../checker/history.ts';
import { Chance } from '../simulation/chance.ts';
import type { Receiver } from './receiver.ts';
import { ServerProcess } from './server-process.ts';
import { type HeldClaim, readStored } from './store-file.ts';
import { Trial } from './trial.ts';

/** After how many arrivals the server is killed: mostly when it has got over the kill before. */
const ARRIVALS = { least: 60, most: 300 };
const ARRIVALS_MS_MAX = 2000;
/** Some kills come so soon that they cut off the repeats as well. */
const KILLED_SOON_PERCENT = 20;
const SOON_MS_MAX = 150;
/** And some while the process still starts: recovery itself must stand being cut off. */
const KILLED_AT_START_PERCENT = 15;
const START_MS_MAX = 700;

export interface KillReport {
  readonly history: History;
  /** Answers other than ok: a running server has no reason for one. */
  readonly refusals: readonly string[];
  readonly killedAtStart: number;
  /** Attempts in flight at all kills together: the most that may be repeated. */
  readonly inFlight: number;
  readonly extraArrivals: number;
  /** The longest from "ready" until all attempts that the kill before had cut off were made again. */
  readonly recoveryMsMax: number;
}

export function killCampaign(options: {
  readonly directory: string;
  readonly seed: number;
  readonly kills: number;
  readonly isLarge?: boolean;
  readonly onKill?: () => void;
}): Promise<KillReport> {
  const { directory, seed, kills, isLarge = false } = options;
  return Trial.run(
    seed,
    () => 0,
    async (trial) => {
      const chance = new Chance(seed);
      let cutOff: readonly HeldClaim[] = [];
      let killedAtStart = 0;
      let recoveryMsMax = 0;

      const start = async (): Promise<ServerProcess> => {
        const arrivedBefore = trial.receiver.arrivals.length;
        const repeated = cutOff.map(({ messageId }) => messageId);
        const server = await trial.start(directory);
        const readyAt = performance.now();
        void allArrived(trial.receiver, arrivedBefore, repeated).then(() => {
          if (!server.isEnding) recoveryMsMax = Math.max(recoveryMsMax, performance.now() - readyAt);
        });
        return server;
      };

      for (let done = 0; done < kills; done += 1) {
        if (done > 0 && chance.isTrue(KILLED_AT_START_PERCENT)) {
          const server = new ServerProcess(['--data', directory]);
          await wait(chance.below(START_MS_MAX));
          await server.kill();
          killedAtStart += 1;
        } else {
          const server = await start();
          if (chance.isTrue(KILLED_SOON_PERCENT)) await wait(chance.below(SOON_MS_MAX));
          else await trial.receiver.count(chance.between(ARRIVALS.least, ARRIVALS.most), ARRIVALS_MS_MAX);
          await server.kill();
        }
        await trial.quiet();
        cutOff = trial.noteCrash(directory);
        options.onKill?.();
      }
      await trial.finish(await start(), directory);
      const history = trial.history(readStored(directory));
      const { arrivals, faults } = history;
      return {
        history,
        refusals: trial.publishers.refusals,
        killedAtStart,
        inFlight: faults.reduce((sum, { inFlight }) => sum + inFlight.length, 0),
        extraArrivals:
          arrivals.length - new Set(arrivals.map(({ messageId, retried }) => `${messageId} ${retried}`)).size,
        recoveryMsMax,
      };
    },
    { isLarge },
  );
}

/** Resolves when each of the messages has arrived after the first `before` arrivals; never, if one of them does not. */
async function allArrived(receiver: Receiver, before: number, messageIds: readonly string[]): Promise<void> {
  const missing = new Set(messageIds);
  let looked = before;
  while (missing.size > 0) {
    await receiver.next();
    for (const { messageId } of receiver.arrivals.slice(looked)) missing.delete(messageId);
    looked = receiver.arrivals.length;
  }
}
