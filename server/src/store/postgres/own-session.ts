// Whether each connection has a session of its own, as it has when it is direct or through a pooler in session mode. In
// transaction or statement mode a pooler lends one session to many connections, and nothing of ours would hold: neither
// what is listened to, nor the settings, nor prepared statements.

import type pg from 'pg';
import type { Clock } from '../../world.ts';
import { ACQUIRE_MS_MAX, within } from './connection.ts';

/** A notification takes milliseconds; a machine that is overloaded takes longer. */
const HEARD_MS_MAX = 1000;
const SAID_TRIES_MAX = 5;
/**
 * Who asks when. A pooler lends the session that was given back last: then two that ask in turn are given the same. Or it
 * lends the one that has rested for longest: then one that asks twice is given two.
 */
const TURNS = [0, 1, 1, 0, 0, 1, 0, 1, 1, 1, 0, 0] as const;

export class SharedSession extends Error {
  constructor(what: string) {
    super(
      `PostgreSQL is reached through a connection pooler that does not keep a session for each connection (${what}), as one in ` +
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
 * Rejects with SharedSession unless both have sessions of their own. That their processes stay and differ is not enough:
 * a pooler with sessions to spare may show it by chance. What one says is heard by the other, while that does nothing,
 * only if its session stays with it.
 */
export async function requireOwnSessions(
  one: pg.ClientBase,
  other: pg.ClientBase,
  timers: Clock,
  msMax = ACQUIRE_MS_MAX,
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
  // Of its own: no other session has this process.
  const channel = `postrider probe ${pids[0]}`;
  await soon(one.query(`LISTEN "${channel}"`));
  let isHeard = false;
  let wake = () => {};
  const hear = (message: pg.Notification) => {
    isHeard ||= message.channel === channel;
    wake();
  };
  one.on('notification', hear);
  try {
    for (let said = 0; said < SAID_TRIES_MAX && !isHeard; said += 1) {
      // Said again, so that a database that falls silent meanwhile is not taken for a pooler.
      await soon(other.query(`NOTIFY "${channel}"`));
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
    one.off('notification', hear);
  }
  if (isHeard) return void (await soon(one.query(`UNLISTEN "${channel}"`)));
  // Unless it was cut off, which is no fault of a pooler.
  await soon(backendPid(one));
  throw new SharedSession('a connection that listens hears nothing');
}
