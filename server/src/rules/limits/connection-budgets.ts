// The rows of the table of budgets for the connections to destinations. The table is in budgets.ts.

export const CONNECTION_BUDGETS = {
  idleConnections: {
    what: 'Idle connections to destinations, kept a few seconds for the next message',
    unit: 'connections',
    node: 1024,
    beyond: 'the connection that has been idle longest is closed',
  },
  oneShotOrigins: {
    what: 'Destinations whose connections are not used again for a minute: they closed one right after its first response, or sent bytes without a request',
    unit: 'destinations',
    node: 1024,
    beyond: 'the oldest is forgotten',
  },
};
