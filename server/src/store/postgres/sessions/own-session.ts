// Checks that each connection has its own session, as with a direct connection or a pooler in session mode. In
// transaction or statement mode a pooler lends one session to many connections. Then LISTEN, settings and prepared
// statements would not work.

import type pg from 'pg';
import type { Clock } from '../../../runtime/world.ts';
import { within } from './connection.ts';

/** How long to wait for a notification. It takes milliseconds, on an overloaded machine longer. */
const HEARD_MS_MAX = 1000;
const SAID_TRIES_MAX = 5;
/**
 * Which connection queries in each turn. A pooler may lend the session that was returned last: then two connections
 * that query in turn get the same session. Or it lends the session that was idle longest: then one connection that
 * queries twice gets two sessions.
 */
const TURNS = [0, 1, 1, 0, 0, 1, 0, 1, 1, 1, 0, 0] as const;

export class SharedSession extends Error {
  constructor(what: string) {
    super(
      `PostgreSQL is reached through a connection pooler that does not keep a session for each connection (${what}), such as one in ` +
        'transaction or statement mode. postrider needs session mode: set pool_mode = session for this database in the ' +
        'pooler, or connect to PostgreSQL directly.',
    );
  }
}

export async function backendPid(client: pg.ClientBase): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  return rows[0]!.pid;
}

/**
 * Rejects with SharedSession unless both connections have their own session. Two constant and different server
 * processes are not enough: a pooler with spare sessions may show that by chance. But a notification reaches an idle
 * connection only if it keeps its session.
 */
export async function requireOwnSessions(
  one: pg.ClientBase,
  other: pg.ClientBase,
  timers: Clock,
  msMax: number,
): Promise<void> {
  const clients = [one, other] as const;
  const soon = <T>(answer: Promise<T>) => within(answer, msMax, timers);
  const pids: [number, number] = [await soon(backendPid(one)), await soon(backendPid(other))];
  for (const turn of TURNS) {
    if (pids[0] === pids[1]) throw new SharedSession('two connections have the same server process');
    if ((await soon(backendPid(clients[turn]))) !== pids[turn]) {
      throw new SharedSession('the server process of a connection changed');
    }
  }
  // No other session has this process id, so the channel is unique.
  const channel = `postrider probe ${pids[0]}`;
  await soon(one.query(`LISTEN "${channel}"`));
  const say = () => soon(other.query(`NOTIFY "${channel}"`));
  if (await hears(one, channel, say, timers)) return void (await soon(one.query(`UNLISTEN "${channel}"`)));
  // If the connection was lost, this rejects: that is not the fault of a pooler.
  await soon(backendPid(one));
  throw new SharedSession('a connection that listens gets no notifications');
}

async function hears(
  client: pg.ClientBase,
  channel: string,
  say: () => Promise<unknown>,
  timers: Clock,
): Promise<boolean> {
  let isHeard = false;
  let wake = () => {};
  const hear = (message: pg.Notification) => {
    isHeard ||= message.channel === channel;
    wake();
  };
  client.on('notification', hear);
  try {
    for (let said = 0; said < SAID_TRIES_MAX && !isHeard; said += 1) {
      // Sent again each time, so that a database that stops responding is not mistaken for a pooler.
      await say();
      if (isHeard) break;
      await new Promise<void>((resolve) => {
        const cancel = timers.after(HEARD_MS_MAX, resolve);
        wake = () => {
          cancel();
          resolve();
        };
      });
    }
  } finally {
    client.off('notification', hear);
  }
  return isHeard;
}
