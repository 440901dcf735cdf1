// What alerts may cost, as rows of the table of budgets.

export const ALERT_BUDGETS = {
  alerts: {
    what: 'Alerts',
    unit: 'alerts',
    account: 50,
    beyond: '412 `limit_exceeded`',
  },
  dueAlerts: {
    what: 'Alerts that are evaluated in one step, those that have waited longest first',
    unit: 'alerts',
    each: 100,
    beyond: 'the others are evaluated in the next step; deliveries do not wait for them',
  },
  alertRows: {
    what: 'Failed messages, steps of the journal (both the newest ones), or queues (the first by name) that are read to evaluate the alerts of one account; for schedules, a tenth of it',
    unit: 'rows',
    each: 2000,
    beyond: 'the rest is not read; for messages and steps, the message of the alert says so with `isCut`',
  },
};
