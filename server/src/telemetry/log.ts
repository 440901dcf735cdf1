// The log: one JSON object a line on standard error, whatever the input. Standard output is left for the caller's
// scripts.

import pino, { type Logger } from 'pino';
import type { EngineEvent } from '../delivery/engine/engine.ts';
import type { Settlement } from '../rules/delivery/message.ts';
import { heldReason } from '../rules/delivery/recovery.ts';
import { shareOf } from '../rules/requests/id.ts';
import { CLOCK_BELIEVED_AFTER_MS, type ClockChange, type ClockOff } from '../rules/time/clock.ts';
import { formatDurationMs } from '../rules/time/duration.ts';
import { FEATURES, type Feature } from '../runtime/node-internals/features.ts';
import { logStreamOf } from '../runtime/node-internals/log-lines.ts';
import { attemptLines } from './attempt-line.ts';

export type Log = Logger;

export function createLog(level: string): Log {
  const destination = pino.destination({ fd: 2, sync: true });
  // The program that reads the log may end. That is no reason to stop delivering.
  destination.on('error', () => {});
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, destination);
}

/** Logs a file of the store that has disappeared while the process runs. `path` is null when all files are back. */
export function logFilesGone(log: Log, path: string | null): void {
  if (path === null) log.info({}, 'the files of the store are back; messages are accepted again');
  else {
    log.error(
      { path },
      'a file of the store was removed, replaced or changed by another program while the server was running: no more messages are accepted. Put it back, ' +
        'or stop the server and restore a backup. The server still delivers the messages it has; they are lost when it stops',
    );
  }
}

/** Logs one line for each feature that does not work with this version of Node.js or of a package. */
export function logBrokenFeature(log: Log): (feature: Feature, why: string) => void {
  return (feature, why) => {
    log.warn(
      { feature, why, node: process.version },
      `a self-test failed: this version of Node.js differs from those that postrider is tested with; ${FEATURES[feature]}`,
    );
  };
}

/** Logs one line when the wall clock stops being trusted, and one when it is trusted again. */
export function logClockTrust(log: Log): (change: ClockChange) => void {
  return (change) => {
    if (change.kind === 'doubted') {
      const { aheadMs } = change;
      const way = `jumped ${formatDurationMs(Math.round(Math.abs(aheadMs)))} ${aheadMs > 0 ? 'ahead' : 'back'}`;
      const until = `when it has run evenly for ${formatDurationMs(CLOCK_BELIEVED_AFTER_MS)}`;
      log.warn({ aheadMs: Math.round(aheadMs) }, `the wall clock ${way}; it is trusted again ${until}`);
      return;
    }
    const movedMs = Math.round(change.movedMs);
    log.warn({ movedMs }, 'the wall clock is trusted again');
  };
}

/** Limit for the misspelt settings that are logged for one account, so that no account can fill the log. */
const PER_ACCOUNT_MAX = 5;
const ACCOUNTS_MAX = 1000;

/** Logs a publish setting that looks misspelt, once for each account. */
export function logMisspeltSetting(log: Log): (accountId: string, warning: string) => void {
  const logged = new Map<string, Set<string>>();
  return (accountId, warning) => {
    const ofAccount = logged.get(accountId) ?? new Set();
    if (ofAccount.has(warning) || ofAccount.size >= PER_ACCOUNT_MAX) return;
    if (logged.size >= ACCOUNTS_MAX) logged.clear();
    logged.set(accountId, ofAccount.add(warning));
    log.warn({ account: accountId }, `a publish has an unknown setting: ${warning}`);
  };
}

/** Logs one line when this node's time was off, and one when it is accurate again. */
export function logClockOff(log: Log): (change: ClockOff) => void {
  return (change) => {
    if (change.kind === 'right') {
      log.info({}, 'the clock of this node is accurate again; the node claims messages again');
      return;
    }
    const offMs = Math.round(change.offMs);
    const way = `${formatDurationMs(Math.abs(offMs))} ${offMs > 0 ? 'ahead of' : 'behind'}`;
    log.warn(
      { offMs },
      `the clock of this node was ${way} the clock of the database; the node claims no messages until its clock is accurate again`,
    );
  };
}

function warnOfAttempt(log: Log, event: Extract<EngineEvent, { kind: 'attempt' }>): void {
  const { settlement, result } = event;
  const { message } = event.claim;
  if (message.callback && settlement.attempt.outcome !== 'interrupted' && !isReported(settlement)) {
    log.warn(
      { account: message.accountId, message: message.id },
      'a callback was not created: the limit of messages that one message may cause is reached',
    );
  }
  if (settlement.next.state === 'held' && result === 'settled') {
    const why = heldReason(settlement);
    log.warn({ account: message.accountId, message: message.id, host: message.host, why }, 'a message is held');
  }
}

/**
 * Logs one wide line for every attempt: who, what, how it went, what follows. It never contains a body, a header or a
 * key. Of the attempts that deliver their message, only this share has a line.
 */
export function logEngine(log: Log, now: () => number, successShare = 1): (event: EngineEvent) => void {
  const lineOf = attemptLines(now);
  const stream = logStreamOf(log);
  // Lines of attempts that are settled together are written together: a system call costs more than a line.
  let lines = '';
  const flush = () => {
    const text = lines;
    lines = '';
    stream.write(text);
  };
  const write = (line: string) => {
    if (lines === '') queueMicrotask(flush);
    lines += line;
  };
  return (event) => {
    if (event.kind === 'trouble') {
      log.error({ err: event.error, during: event.during }, 'the delivery engine failed and will try again');
      return;
    }
    if (event.kind === 'strays') {
      log.warn(
        { count: event.count },
        'the store had leased messages to this node that the node did not know of; they were released',
      );
      return;
    }
    warnOfAttempt(log, event);
    if (log.isLevelEnabled('info') && isLogged(event, successShare)) write(lineOf(event));
  };
}

function isLogged({ claim, settlement }: Extract<EngineEvent, { kind: 'attempt' }>, successShare: number): boolean {
  return successShare === 1 || settlement.next.state !== 'delivered' || shareOf(claim.message.id) < successShare;
}

function isReported({ followUps }: Settlement): boolean {
  return followUps.some(({ kind }) => kind === 'callback');
}
