// Bugs that show only in what several features do together over a while, with faults: the simulation should notice them.

import type { SeededBug, SeededBugs } from './seeded.ts';

const RULES = 'server/src/rules';
const SQLITE = 'server/src/store/sqlite';
const RESOURCES = 'server/src/store/resources';

const BY_SIMULATION = ['simulation/simulation: keep every promise'];
/** It runs all its seeds before it says what they found. */
const SEEDS_MS_MAX = 280_000;

type Bug = readonly [breaks: string, folder: string, find: string, replace: string];

function noticed([breaks, folder, find, replace]: Bug): SeededBug {
  return { breaks, in: folder, find, replace, noticedBy: BY_SIMULATION, testMsMax: SEEDS_MS_MAX };
}

const KEYS: readonly Bug[] = [
  [
    'every message counts as the first of its order key',
    `${SQLITE}/deliveries/accept.ts`,
    'newKeys.has(message)) return;',
    'newKeys.has(message) || newKeys.size >= 0) return;',
  ],
  [
    'a flow key lets in one more than its parallelism',
    RULES,
    'left(limits.parallelism, current.active)',
    'left(limits.parallelism, current.active - 1)',
  ],
  [
    'a flow key begins a period when half of the one before is over',
    RULES,
    'now >= state.windowStartAt + periodMs)',
    'now >= state.windowStartAt + periodMs / 2)',
  ],
];

const PRIORITIES: readonly Bug[] = [
  ['a claim takes the oldest and looks at no priority', SQLITE, '{RANK}, seq LIMIT ?', "{'due_at'}, seq LIMIT ?"],
  ['a message of low priority does not age', RULES, 'const LEVEL_MS = 60_000;', 'const LEVEL_MS = 6_000_000;'],
  ['the messages of a queue do not get its priority', RULES, 'priority: priority ?? queue.priority,', 'priority,'],
  [
    'a change of the priority is answered and not made',
    RULES,
    'priority: newOr(change.priority, message.priority),',
    'priority: message.priority,',
  ],
];

const CHANGES: readonly Bug[] = [
  [
    'a change is made whatever version the message has',
    RULES,
    'change.versions !== null && !change',
    'change.versions === undefined && !change',
  ],
  [
    'a change of the expiry is answered and not made',
    RULES,
    'mustStartBefore: newOr(change.mustStartBefore, message.mustStartBefore),',
    'mustStartBefore: message.mustStartBefore,',
  ],
  [
    'the messages of a queue do not get its expiry',
    RULES,
    'mustStartBefore: mustStartInQueue({ mustStartBefore, dueAt }, queue.expiresMs),',
    'mustStartBefore,',
  ],
  [
    'a delivered message loses its deduplication id',
    SQLITE,
    "if (after.state === 'failed') forgetDeduplication",
    "if (after.state !== 'failed') forgetDeduplication",
  ],
  ['the jitter of a retry is twice what was asked for', RULES, '* (retryJitter / 100)', '* (retryJitter / 50)'],
];

const SCHEDULES: readonly Bug[] = [
  [
    'a node makes a tick that another has made',
    SQLITE,
    'account_id = ? AND id = ? AND next_at = ? AND is_paused = 0',
    'account_id = ? AND id = ? AND ? > 0 AND is_paused = 0',
  ],
  [
    'a tick is made from what its schedule was before a change',
    SQLITE,
    'AND created_at = ? AND version = ?',
    'AND created_at = ? AND ? >= 0',
  ],
  [
    'a schedule that skips makes a second message beside an open one',
    RULES,
    "overlap === 'skip' && open > 0;",
    "overlap === 'skip' && open > 1;",
  ],
  ['the jitter of a schedule is twice what was asked for', RULES, '* (jitterMs + 1));', '* 2 * (jitterMs + 1));'],
  [
    'a change of a schedule forgets its last message',
    RESOURCES,
    'jitter_ms = excluded.jitter_ms, version',
    'jitter_ms = excluded.jitter_ms, last_message_ids = excluded.last_message_ids, version',
  ],
  [
    'an interval is counted from now, and not from the creation',
    RULES,
    'const fromAt = Math.floor(createdAt / SECOND_MS)',
    'const fromAt = Math.floor(afterAt / SECOND_MS)',
  ],
  [
    'the second of a cron expression is not looked at',
    RULES,
    'if (texts.length === KINDS_WITH_SECOND.length) return texts;',
    "if (texts.length === KINDS_WITH_SECOND.length) return ['0', ...texts.slice(1)];",
  ],
];

const PARKING: readonly Bug[] = [
  [
    'a host is parked after a few failures',
    RULES,
    'export const FAILURES_TO_PARK = 10;',
    'export const FAILURES_TO_PARK = 4;',
  ],
  [
    'a response with a client error counts as a failure of its host',
    RULES,
    'return status >= 500 && status <= 599',
    'return status >= 400 && status <= 599',
  ],
  [
    'the first probe follows at once',
    RULES,
    'readonly number[] = [5_000, 10_000,',
    'readonly number[] = [500, 10_000,',
  ],
  [
    'several probes go to a parked host at once',
    RULES,
    'parking.probeAt && underWay === 0 ? 1 : 0;',
    'parking.probeAt ? 3 : 0;',
  ],
  [
    'a host that is back gets all that waits at once',
    RULES,
    'return Math.max(0, parking.step - underWay);',
    'return Number.POSITIVE_INFINITY;',
  ],
  [
    'a failed probe uses up a retry',
    RULES,
    'if (trial === null || !isHostDown(outcome)) return null;',
    "if (trial !== 'opening' || !isHostDown(outcome)) return null;",
  ],
  [
    'every node sends to a parked host',
    'server/src/upkeep/parking.ts',
    'const isOwned = ownedUntil !== null && now < ownedUntil;',
    'const isOwned = ownedUntil === null || now < ownedUntil || now >= 0;',
  ],
  [
    'an account with parked messages takes the turn of others',
    `${SQLITE}/deliveries/claim.ts`,
    'if (!budget.hasParked(accountId)) return true;',
    'if (!budget.hasParked(accountId) || budget.slots > 0) return true;',
  ],
];

const DEBOUNCING: readonly Bug[] = [
  [
    'a second message waits with the same debounce key',
    RULES,
    "return state === 'pending' && attempts === 0 && !isExpired(",
    "return state === 'pending' && attempts === 1 && !isExpired(",
  ],
  [
    'the older body wins',
    `${SQLITE}/messages/debounce.ts`,
    'namesOfChanges(before, message, isBodySame(database, row, body));',
    'namesOfChanges(before, message, isBodySame(database, row, body) || body.length > 0);',
  ],
  [
    'a message that is debounced again and again is never due',
    RULES,
    'const wanted = Math.min(dueAt, latestAt);',
    'const wanted = Math.max(dueAt, latestAt - latestAt);',
  ],
];

const ACKS: readonly Bug[] = [
  [
    'an ack counts for whatever attempt is under way',
    'server/src/acks/acks.ts',
    'if (open?.attempt !== attempt) break;',
    'if (!open) break;',
  ],
  [
    'an attempt that awaits its ack stays with its node, and ends with it',
    `${SQLITE}/messages/acks.ts`,
    'UPDATE messages SET node = ?, lease',
    'UPDATE messages SET node = iif(? IS NULL, NULL, node), lease',
  ],
  [
    'an extension is confirmed and not made',
    RULES,
    'return extendByMs === null ? deadlineAt',
    'return latestAt > 0 ? deadlineAt',
  ],
];

export const SIMULATION_BUGS: SeededBugs = {
  'An ack counts once, for its attempt': ACKS.map(noticed),
  'A parked host sees one probe at a time and no burst': PARKING.map(noticed),
  'One message waits for a debounce key, and it is the newest': DEBOUNCING.map(noticed),
  'Order keys and flow keys hold over faults': KEYS.map(noticed),
  'A priority orders what waits, and waiting raises it': PRIORITIES.map(noticed),
  'A change, an expiry, an id and a jitter are kept to': CHANGES.map(noticed),
  'A tick makes one message, and a schedule keeps its history': SCHEDULES.map(noticed),
};
