// How many PostgreSQL connections a node uses for accounts at once, as rows of the table of budgets. The other
// connections are reserved for the node's own work: accept, claim, settle, token look-ups and upkeep, whatever the load
// of accounts.

function databaseWork(what: string, node: number) {
  return {
    what: `${what}, on PostgreSQL`,
    unit: 'connections',
    node,
    beyond: 'the next one waits; accounts take turns',
  };
}

export const DATABASE_BUDGETS = {
  databaseLists: databaseWork('Lists, searches and counts', 2),
  databaseLookUps: databaseWork(
    'Single messages, queues, topics, schedules, bulk operations and stream positions that requests look up',
    2,
  ),
  databaseChanges: databaseWork('Changes through the API, except publishing', 3),
};
