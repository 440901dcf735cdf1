// The store over PostgreSQL, for any number of nodes: composes its ports, and receives the notifications of other
// nodes.

import type { NodeDescription } from '../../rules/nodes/node.ts';
import type { Clock } from '../../runtime/world.ts';
import type { DatabaseReserve } from '../ports/database-reserve.ts';
import type { OnCommit, Store } from '../ports/store.ts';
import { ACCESS_VERBS, ACK_VERBS, HOST_VERBS, LINE_VERBS, RESOURCE_VERBS } from '../resources/verbs.ts';
import { Hints } from '../shared/hints.ts';
import { Inbox } from '../shared/inbox.ts';
import { News } from '../shared/news.ts';
import { StandingOffer } from '../shared/standing-offer.ts';
import { createCancels } from './deliveries/cancels.ts';
import { createDeliveries } from './deliveries/deliveries.ts';
import { Calls } from './groups/calls.ts';
import { Doubts } from './groups/doubts.ts';
import { Groups } from './groups/groups.ts';
import { createMessages } from './messages/message-verbs.ts';
import { onCall } from './resources/steps.ts';
import { createAccounts, createUpkeep } from './resources/verbs.ts';
import type { Database } from './sessions/database.ts';
import { deleteNode } from './sessions/nodes.ts';
import { OwnLife } from './sessions/own-life.ts';
import type { Pool } from './sessions/pool.ts';
import { createReserve } from './sessions/reserve-port.ts';

export interface PostgresStoreOptions {
  readonly pool: Pool;
  /** The real clock, even when a test controls the messages' clock. */
  readonly timers: Clock;
  /** The id under which this process claims messages; a new id for every start. */
  readonly node: string;
  /** How long a node trusts what it knows about due work; 0 to read the database every time. */
  readonly knownForMs?: number;
  /** Holds the messages that wait to be accepted. By default, the store creates an inbox. */
  readonly inbox?: Inbox;
  /** What people want to know about this node. */
  readonly about: NodeDescription;
  readonly onCommit?: OnCommit;
  /** The schema version that this program knows. `onOutdated` is called when the schema needs a newer program. */
  readonly schema: { readonly known: number; readonly onOutdated: (why: string) => void };
}

/** The store, its reserve, and the callbacks that the pool calls. */
export interface PostgresStore {
  readonly store: Store;
  readonly reserve: DatabaseReserve;
  /** Call it when this node has released the reserve. */
  reserveReleased(): void;
  hear(payload: string): void;
  cameBack(): void;
}

export function createPostgresStore(options: PostgresStoreOptions): PostgresStore {
  const { pool, timers, node, about, knownForMs, schema, onCommit = () => {} } = options;
  const inbox = options.inbox ?? new Inbox();
  const say = (payload: string) => pool.notify(payload);
  const offer = new StandingOffer(node);
  const hints = new Hints(node, timers, say);
  const doubts = new Doubts();
  const news = new News(hints);
  const calls = new Calls({ pool, offer, hints, news, nowMs: () => timers.monotonicMs(), onCommit });
  const life = new OwnLife({ pool, timers, hints, about, schema });
  const groups = new Groups({ pool, timers, node, offer, doubts, calls, life });
  const cancels = createCancels({ calls, offer, node, timers, say });
  // Real time is precise enough: it only decides from which window of a flow key a start is subtracted.
  const releaseDoubts = calls.writing((database: Database) => doubts.release(database, node, timers.now()));

  const parts = { pool, timers, node, offer, hints, doubts, calls, life, groups, cancels, inbox };
  const store: Store = {
    ...createDeliveries({ ...parts, knownForMs, releaseDoubts }),
    ...createUpkeep(parts),
    ...createMessages({ calls, offer, cancels, inbox, timers }),
    ...onCall(calls, LINE_VERBS),
    ...onCall(calls, HOST_VERBS),
    ...onCall(calls, ACK_VERBS),
    ...onCall(calls, RESOURCE_VERBS),
    ...createAccounts(calls),
    ...onCall(calls, ACCESS_VERBS),
    onAccess: (listener) => calls.news.onAccess(listener),
    async close(onLeft = () => {}) {
      await groups.close();
      hints.close();
      // After this, all claims of this node are released, and no other node has to wait until this one counts as dead.
      if (!doubts.isEmpty) await releaseDoubts().catch(() => {});
      const left = await Promise.allSettled([pool.beat((database) => deleteNode(database, node))]);
      await pool.close();
      if (left[0].status === 'fulfilled') onLeft();
    },
  };

  const { reserve, released, cameBack } = createReserve(pool);
  return {
    store,
    reserve,
    reserveReleased() {
      hints.reserveGone();
      released();
    },
    hear(payload) {
      if (cancels.hear(payload)) return;
      const heard = hints.hear(payload);
      if (heard?.isWork) offer.lookAgain();
      if (heard?.isReserveGone) {
        pool.noteReserveReleased();
        released();
      }
      if (heard) news.hear(heard);
    },
    cameBack() {
      cameBack();
      cancels.cameBack();
      offer.lookAgain();
      news.hear({ isNews: true, isAccess: true });
    },
  };
}
