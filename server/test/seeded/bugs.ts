// The bugs that `npm run seeded` plants, by the promise that each breaks.

import type { SeededBugs } from './seeded.ts';

const SRC = 'server/src';
const SQLITE = 'server/src/store/sqlite';
const POSTGRES = 'server/src/store/postgres';

export const BUGS: SeededBugs = {
  '1. A 2xx means on disk': [
    {
      breaks: 'SQLite flushes at checkpoints only',
      in: `${SQLITE}/open.ts`,
      find: '      PRAGMA synchronous = FULL;',
      replace: '      PRAGMA synchronous = NORMAL;',
      noticedBy: ['store/sqlite-open'],
    },
    {
      breaks: 'the setting that makes SQLite flush is not checked',
      in: `${SQLITE}/open.ts`,
      find: "mode !== 'wal' || synchronous !== 2",
      replace: "mode !== 'wal'",
      noticedBy: ['store/sqlite-open'],
    },
    {
      breaks: 'sessions of PostgreSQL take the default of the server for commits',
      in: `${POSTGRES}/connection.ts`,
      find: "['synchronous_commit', 'on'],",
      replace: '',
      noticedBy: ['postgres/start-up'],
    },
    {
      breaks: 'a PostgreSQL without full_page_writes is accepted',
      in: `${POSTGRES}/open.ts`,
      find: "for (const name of ['fsync', 'full_page_writes'])",
      replace: "for (const name of ['fsync'])",
      noticedBy: ['postgres/start-up'],
    },
  ],
  '3. Every message ends in exactly one way': [
    {
      breaks: 'a message that failed keeps its deduplication key on SQLite',
      in: `${SQLITE}/settle.ts`,
      find: "if (after.state === 'failed') forgetDeduplication",
      replace: "if (after.state === 'delivered') forgetDeduplication",
      noticedBy: ['conformance/sqlite'],
    },
    {
      breaks: 'a cancelled message that is settled late keeps its retries',
      in: `${SRC}/domain/settle.ts`,
      find: "followUps: followUps.filter(({ kind }) => kind === 'callback'),",
      replace: 'followUps,',
      noticedBy: ['domain/settle', 'conformance/sqlite'],
    },
    {
      breaks: 'a claimed message that is cancelled is not counted',
      in: `${SQLITE}/cancel.ts`,
      find: 'books.activity.add(accountId, COUNTED.cancelled, now);',
      replace: 'if (open.lease === null) books.activity.add(accountId, COUNTED.cancelled, now);',
      noticedBy: ['conformance/sqlite'],
    },
    {
      breaks: 'a failure callback follows every attempt',
      in: `${SRC}/domain/settle.ts`,
      find: 'if (message.failureCallback && hasFailed)',
      replace: 'if (message.failureCallback)',
      noticedBy: ['domain/settle'],
    },
  ],
  '5. Retries': [
    {
      breaks: 'one retry too many',
      in: `${SRC}/domain/settle.ts`,
      find: 'message.retried >= message.retriesMax',
      replace: 'message.retried > message.retriesMax',
      noticedBy: ['domain/settle'],
    },
    {
      breaks: 'an interruption counts as a retry',
      in: `${SRC}/domain/settle.ts`,
      find: "retried: message.retried + (verdict.kind === 'retry' ? 1 : 0),",
      replace: "retried: message.retried + (verdict.kind === 'retry' || verdict.kind === 'repeat' ? 1 : 0),",
      noticedBy: ['domain/settle'],
    },
    {
      breaks: 'status 300 counts as delivered',
      in: `${SRC}/domain/settle.ts`,
      find: 'outcome.status >= 200 && outcome.status <= 299',
      replace: 'outcome.status >= 200 && outcome.status <= 300',
      noticedBy: ['domain/settle'],
    },
    {
      breaks: 'the least wait of a tier begins one retry late',
      in: `${SRC}/domain/settle.ts`,
      find: 'retried < floor.afterRetries) return verdict;',
      replace: 'retried <= floor.afterRetries) return verdict;',
      noticedBy: ['domain/settle'],
    },
    {
      breaks: 'an interrupted message goes behind those that became due during its attempt',
      in: `${SRC}/domain/settle.ts`,
      find: 'afterMs === 0 ? Math.min(message.dueAt, endedAt) : endedAt + afterMs',
      replace: 'endedAt + afterMs',
      noticedBy: ['domain/settle'],
    },
  ],
  '6. Order in a queue': [
    {
      breaks: 'places are given back by the due time of the next attempt',
      in: `${SQLITE}/queues.ts`,
      find: "AND state <> 'claimed'\n          ORDER BY first_due_at DESC, seq DESC LIMIT ?)",
      replace: "AND state <> 'claimed'\n          ORDER BY due_at DESC, seq DESC LIMIT ?)",
      noticedBy: ['conformance/sqlite'],
    },
    {
      breaks: 'the line of a queue goes by acceptance, not by the time each was first due',
      in: `${SQLITE}/queues.ts`,
      find: "const IN_ORDER = 'ORDER BY first_due_at, seq LIMIT ?';",
      replace: "const IN_ORDER = 'ORDER BY seq LIMIT ?';",
      noticedBy: ['conformance/sqlite'],
    },
    {
      breaks: 'a queue starts one head more than its parallelism',
      in: `${SRC}/domain/queue.ts`,
      find: 'isPaused ? 0 : Math.max(0, parallelism - started)',
      replace: 'isPaused ? 0 : Math.max(0, parallelism - started + 1)',
      noticedBy: ['domain/queue'],
    },
    {
      breaks: 'a later message starts before one that is not due',
      in: `${SRC}/domain/queue.ts`,
      find: 'waitsAt === -1 ? heads : heads.slice(0, waitsAt)',
      replace: 'waitsAt === -1 ? heads : heads.filter(({ firstDueAt }) => firstDueAt <= now)',
      noticedBy: ['domain/queue'],
    },
    {
      breaks: 'in a pause the head waits for the clock',
      in: `${SRC}/domain/line.ts`,
      find: "const state = isQueuePaused ? 'queued' : 'delayed';",
      replace: "const state = 'delayed' as const;",
      noticedBy: ['domain/line', 'conformance/sqlite'],
    },
    {
      breaks: 'of one order key two may be first',
      in: `${SRC}/domain/queue.ts`,
      find: 'isFirst: index === 0',
      replace: 'isFirst: index <= 1',
      noticedBy: ['domain/queue', 'conformance/sqlite'],
    },
  ],
  '8. A node that lost its lease changes nothing': [
    {
      breaks: 'SQLite settles whatever lease is presented',
      in: `${SQLITE}/settle.ts`,
      find: "WHERE id = ? AND account_id = ? AND state = 'claimed' AND lease = ?`;",
      replace: "WHERE id = ? AND account_id = ? AND state = 'claimed' AND ? IS NOT NULL`;",
      noticedBy: ['conformance/sqlite'],
    },
    {
      breaks: 'a plain message of SQLite ends whatever lease is presented',
      in: `${SQLITE}/settle.ts`,
      find: 'WHERE seq = ? AND id = ? AND account_id = ? AND lease = ? AND cancel_requested_at IS NULL AND interrupted = 0`,',
      replace:
        'WHERE seq = ? AND id = ? AND account_id = ? AND ? IS NOT NULL AND cancel_requested_at IS NULL AND interrupted = 0`,',
      noticedBy: ['conformance/sqlite'],
    },
    {
      breaks: 'trust counts from the reply to a heartbeat',
      in: `${SRC}/delivery/engine.ts`,
      find: 'this.#trust.renew(startedAtMs);',
      replace: 'this.#trust.renew(clock.monotonicMs());',
      noticedBy: ['simulation/engine'],
    },
    {
      breaks: 'a node leases to itself by the reply to its heartbeat',
      in: `${POSTGRES}/own-life.ts`,
      find: 'this.#aliveUntilMs = startedAtMs + ttlMs - ALIVE_MARGIN_MS;',
      replace: 'this.#aliveUntilMs = timers.monotonicMs() + ttlMs - ALIVE_MARGIN_MS;',
      noticedBy: ['conformance/postgres'],
    },
    {
      breaks: 'claims from before a lapse are started',
      in: `${SRC}/delivery/engine.ts`,
      find: 'return this.#trust.isGood && this.#trust.lapses === this.#lapsesSeen;',
      replace: 'return this.#trust.isGood;',
      noticedBy: ['simulation/engine', 'simulation/simulation'],
    },
  ],
  '14. No account takes all': [
    {
      breaks: 'an account may take all that is free',
      in: `${SRC}/domain/pool.ts`,
      find: 'Math.floor((max - used - held) / 2)',
      replace: 'max - used',
      noticedBy: ['domain/pool'],
    },
    {
      breaks: 'a pool forgets who held what is given back',
      in: `${SRC}/domain/pool.ts`,
      find: 'else this.#heldBy.set(accountId, held + by);',
      replace: 'else this.#heldBy.delete(accountId);',
      noticedBy: ['domain/pool'],
    },
  ],
  '19. Limits hold': [
    {
      breaks: 'the quota of a day lets one message more in',
      in: `${SRC}/domain/quota.ts`,
      find: 'used > day.used && used > dayMax',
      replace: 'used > day.used && used > dayMax + 1',
      noticedBy: ['domain/quota'],
    },
    {
      breaks: 'a duplicate uses the quota of the day',
      in: `${SRC}/domain/quota.ts`,
      find: 'if (deduplication && keys.has(deduplication.key)) continue;',
      replace: '',
      noticedBy: ['domain/quota'],
    },
    {
      breaks: 'a claim that is given back keeps its start in the window',
      in: `${SRC}/domain/admission.ts`,
      find: 'claimedAt.filter((at) => at >= windowStartAt).length',
      replace: 'claimedAt.filter((at) => at > windowStartAt).length',
      noticedBy: ['domain/admission', 'conformance/sqlite'],
    },
  ],
  '22. A live stream shows every event once': [
    {
      breaks: 'a page of events on PostgreSQL ends inside a position',
      in: `${POSTGRES}/events.ts`,
      find: 'ROWS WITH TIES',
      replace: 'ROWS ONLY',
      noticedBy: ['conformance/postgres', 'store/postgres-live-events'],
    },
  ],
  '26. A backup holds all': [
    {
      breaks: 'a damaged copy becomes the backup',
      in: `${SQLITE}/backup.ts`,
      find: 'if (problems.length > 0) throw new Error(`the copy is damaged',
      replace: 'if (problems.length > 1_000_000) throw new Error(`the copy is damaged',
      noticedBy: ['cli/backup'],
    },
    {
      breaks: 'a copy without the newest messages becomes the backup',
      in: `${SQLITE}/backup.ts`,
      find: 'requireComplete(before, stateOf(copy), stateOf(database));',
      replace: '',
      noticedBy: ['cli/backup'],
    },
  ],
  'A revoked token is worth nothing': [
    {
      breaks: 'a look-up that began before the revoke is remembered',
      in: `${SRC}/accounts/accounts.ts`,
      find: 'if (isCurrent()) this.#remember(key, principal, nowMs);',
      replace: 'this.#remember(key, principal, nowMs);',
      noticedBy: ['accounts/accounts'],
    },
    {
      breaks: 'a caller is remembered from the reply of the store',
      in: `${SRC}/accounts/accounts.ts`,
      find: 'untilMs: nowMs + REMEMBER_MS });',
      replace: 'untilMs: this.#world.clock.monotonicMs() + REMEMBER_MS });',
      noticedBy: ['accounts/accounts'],
    },
    {
      breaks: 'a session that is ended stays in the cache',
      in: `${SRC}/accounts/accounts.ts`,
      find: 'this.#remembered.delete(key);\n    this.#asked.delete(key);',
      replace: 'this.#asked.delete(key);',
      noticedBy: ['accounts/accounts', 'outside/accounts/sessions'],
    },
  ],
};
