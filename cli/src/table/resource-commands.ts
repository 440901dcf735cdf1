// The commands about what people set up: queues, topics, schedules and flow keys; and the hosts that
// messages are sent to.

import type { ArgumentSpec, FlagSpec } from '../frame/arguments.ts';
import type { CommandSpec } from '../frame/command.ts';
import { YES_FLAG } from './flags.ts';
import { MESSAGE_FLAGS, PRIORITY } from './message-commands.ts';

const QUEUE: ArgumentSpec = { name: 'queue', about: 'the name of a queue' };
const TOPIC: ArgumentSpec = { name: 'topic', about: 'the name of a topic' };
const SCHEDULE: ArgumentSpec = { name: 'id', about: 'the id of a schedule' };
const KEY: ArgumentSpec = { name: 'key', about: 'a flow key' };
const HOST: ArgumentSpec = { name: 'host', about: 'a host, with its port unless that is 443 or 80' };

const QUEUES: readonly CommandSpec[] = [
  {
    name: 'queues list',
    summary: 'list queues and their number of open messages',
    isDefault: true,
    scope: 'read',
    load: async () => (await import('../commands/setup/queues.ts')).listQueues,
  },
  {
    name: 'queues get',
    summary: 'show a queue',
    arguments: [QUEUE],
    scope: 'read',
    load: async () => (await import('../commands/setup/queues.ts')).getQueue,
  },
  {
    name: 'queues set',
    summary: 'create a queue, or change it',
    arguments: [QUEUE],
    flags: [
      {
        name: 'parallelism',
        placeholder: '<number>',
        kind: 'number',
        about: 'How many messages of the queue may be in flight at once.',
      },
      {
        name: 'expires',
        placeholder: '<duration>',
        about: 'How long after it is due a message may start, if it has no expiry of its own; `none` removes it.',
      },
      {
        name: 'priority',
        placeholder: '<0-9>',
        about:
          'Of the messages to a host that wait for a free slot, those with the highest go first; `none` removes it.',
      },
      {
        name: 'outage',
        placeholder: '<what>',
        values: ['retry', 'park', 'none'],
        about:
          'What messages that say nothing themselves do while their host is down: retry, or park, which waits and uses up no retry; `none` leaves it to the account.',
      },
    ],
    scope: 'manage',
    load: async () => (await import('../commands/setup/queues.ts')).setQueue,
  },
  {
    name: 'queues pause',
    summary: 'pause a queue: it accepts messages, but starts none',
    arguments: [QUEUE],
    scope: 'manage',
    load: async () => (await import('../commands/setup/queues.ts')).pauseQueue,
  },
  {
    name: 'queues resume',
    summary: 'resume a queue',
    arguments: [QUEUE],
    scope: 'manage',
    load: async () => (await import('../commands/setup/queues.ts')).resumeQueue,
  },
  {
    name: 'queues delete',
    summary: 'delete a queue',
    arguments: [QUEUE],
    flags: [
      {
        name: 'force',
        about: 'Delete the queue even if it has open messages, which are cancelled. Asks for confirmation.',
      },
      YES_FLAG,
    ],
    scope: 'manage',
    load: async () => (await import('../commands/setup/queues.ts')).deleteQueue,
  },
];

const TOPICS: readonly CommandSpec[] = [
  {
    name: 'topics list',
    summary: 'list topics with their endpoints',
    isDefault: true,
    scope: 'read',
    load: async () => (await import('../commands/setup/topics.ts')).listTopics,
  },
  {
    name: 'topics get',
    summary: 'show a topic',
    arguments: [{ ...TOPIC, about: 'the name or id of a topic' }],
    scope: 'read',
    load: async () => (await import('../commands/setup/topics.ts')).getTopic,
  },
  {
    name: 'topics add',
    summary: 'add endpoints to a topic, which is created if it does not exist',
    arguments: [TOPIC, { name: 'endpoint', about: 'a URL, or name=URL', isRepeated: true }],
    scope: 'manage',
    examples: ['postrider topics add news https://a.example/hook shop=https://b.example/hook'],
    load: async () => (await import('../commands/setup/topics.ts')).addEndpoints,
  },
  {
    name: 'topics remove',
    summary: 'remove endpoints from a topic',
    about: 'Removes endpoints from a topic. With its last endpoint the topic is deleted.',
    arguments: [TOPIC, { name: 'endpoint', about: 'a URL, or the name of an endpoint', isRepeated: true }],
    scope: 'manage',
    load: async () => (await import('../commands/setup/topics.ts')).removeEndpoints,
  },
  {
    name: 'topics delete',
    summary: 'delete a topic',
    arguments: [TOPIC],
    scope: 'manage',
    load: async () => (await import('../commands/setup/topics.ts')).deleteTopic,
  },
];

const SCHEDULE_FLAGS: readonly FlagSpec[] = [
  { name: 'queue', placeholder: '<name>', about: 'Queue that the messages of the schedule go to.' },
  {
    name: 'overlap',
    placeholder: '<how>',
    values: ['allow', 'skip'],
    about: 'allow or skip. With skip, a tick creates no message while one of the tick before is open. Default: allow.',
  },
  {
    name: 'jitter',
    placeholder: '<duration>',
    kind: 'duration',
    about: 'The messages of a tick are due up to this much later.',
  },
  ...MESSAGE_FLAGS,
  PRIORITY,
];

const SCHEDULES: readonly CommandSpec[] = [
  {
    name: 'schedules list',
    summary: 'list schedules with the time of their next run',
    isDefault: true,
    scope: 'read',
    load: async () => (await import('../commands/setup/schedules.ts')).listSchedules,
  },
  {
    name: 'schedules get',
    summary: 'show a schedule',
    arguments: [SCHEDULE],
    scope: 'read',
    load: async () => (await import('../commands/setup/schedules.ts')).getSchedule,
  },
  {
    name: 'schedules create',
    summary: 'create a schedule, or replace the one with the same id',
    arguments: [{ name: 'destination', about: 'a URL, or the name of a topic' }],
    flags: [
      {
        name: 'cron',
        placeholder: '<cron>',
        about:
          'Required. When it runs, such as "0 9 * * 1-5", "@daily", "@every 10s", with seconds "*/10 * * * * *", or "CRON_TZ=Europe/Berlin 0 9 * * *".',
      },
      {
        name: 'id',
        placeholder: '<id>',
        about: 'Id of the schedule. An existing schedule with this id is replaced and keeps its history.',
      },
      ...SCHEDULE_FLAGS,
    ],
    scope: 'manage',
    examples: ['postrider schedules create https://example.com/report --cron "0 6 * * *" --id report'],
    load: async () => (await import('../commands/setup/schedules.ts')).createSchedule,
  },
  {
    name: 'schedules change',
    summary: 'change parts of a schedule, which keeps its history',
    arguments: [SCHEDULE],
    flags: [
      { name: 'cron', placeholder: '<cron>', about: 'When it runs.' },
      { name: 'to', placeholder: '<destination>', about: 'A URL, or the name of a topic.' },
      {
        name: 'remove',
        placeholder: '<setting>',
        isList: true,
        about: 'A setting to remove, by its name in the API without the prefix, such as Retries or Queue-Name.',
      },
      ...SCHEDULE_FLAGS,
    ],
    scope: 'manage',
    examples: ['postrider schedules change report --cron "0 7 * * *" --overlap skip'],
    load: async () => (await import('../commands/setup/schedules.ts')).changeSchedule,
  },
  {
    name: 'schedules pause',
    summary: 'pause a schedule: its ticks are skipped',
    arguments: [SCHEDULE],
    scope: 'manage',
    load: async () => (await import('../commands/setup/schedules.ts')).pauseSchedule,
  },
  {
    name: 'schedules resume',
    summary: 'resume a schedule',
    arguments: [SCHEDULE],
    scope: 'manage',
    load: async () => (await import('../commands/setup/schedules.ts')).resumeSchedule,
  },
  {
    name: 'schedules run',
    summary: 'create the messages of a schedule now, in addition to its ticks',
    arguments: [SCHEDULE],
    scope: 'manage',
    load: async () => (await import('../commands/setup/schedules.ts')).runSchedule,
  },
  {
    name: 'schedules delete',
    summary: 'delete a schedule',
    arguments: [SCHEDULE],
    scope: 'manage',
    load: async () => (await import('../commands/setup/schedules.ts')).deleteSchedule,
  },
  {
    name: 'schedules next',
    summary: 'show the next times of a cron expression',
    arguments: [{ name: 'cron', about: 'a cron expression', isRepeated: true }],
    scope: 'read',
    examples: ['postrider schedules next "0 9 * * 1-5"'],
    load: async () => (await import('../commands/setup/schedules.ts')).cronTimes,
  },
];

const FLOW: readonly CommandSpec[] = [
  {
    name: 'flow list',
    summary: 'list flow keys with their limits and waiting messages',
    isDefault: true,
    scope: 'read',
    load: async () => (await import('../commands/setup/flow.ts')).listFlowKeys,
  },
  {
    name: 'flow get',
    summary: 'show a flow key',
    arguments: [KEY],
    scope: 'read',
    load: async () => (await import('../commands/setup/flow.ts')).getFlowKey,
  },
  {
    name: 'flow pause',
    summary: 'pause a flow key: none of its messages start',
    arguments: [KEY],
    scope: 'manage',
    load: async () => (await import('../commands/setup/flow.ts')).pauseFlowKey,
  },
  {
    name: 'flow resume',
    summary: 'resume a flow key',
    arguments: [KEY],
    scope: 'manage',
    load: async () => (await import('../commands/setup/flow.ts')).resumeFlowKey,
  },
  {
    name: 'flow pin',
    summary: 'pin the limits of a flow key: messages no longer change them',
    arguments: [KEY],
    flags: [
      { name: 'parallelism', placeholder: '<number>', kind: 'number', about: 'Maximum of messages in flight.' },
      { name: 'rate', placeholder: '<number>', kind: 'number', about: 'Maximum of messages that start in a period.' },
      {
        name: 'period',
        needs: 'rate',
        placeholder: '<duration>',
        kind: 'duration',
        about: 'The period of the rate. Default: 1s.',
      },
    ],
    scope: 'manage',
    load: async () => (await import('../commands/setup/flow.ts')).pinFlowKey,
  },
  {
    name: 'flow unpin',
    summary: 'let messages change the limits of a flow key again',
    arguments: [KEY],
    scope: 'manage',
    load: async () => (await import('../commands/setup/flow.ts')).unpinFlowKey,
  },
  {
    name: 'flow reset-rate',
    summary: 'start a new period of a flow key now',
    arguments: [KEY],
    scope: 'manage',
    load: async () => (await import('../commands/setup/flow.ts')).resetFlowRate,
  },
];

const HOSTS: readonly CommandSpec[] = [
  {
    name: 'hosts list',
    summary: 'list hosts with the health of each in the last hour',
    isDefault: true,
    scope: 'read',
    load: async () => (await import('../commands/setup/hosts.ts')).listHosts,
  },
  {
    name: 'hosts get',
    summary: 'show the health of a host',
    arguments: [HOST],
    scope: 'read',
    load: async () => (await import('../commands/setup/hosts.ts')).getHost,
  },
  {
    name: 'hosts park',
    summary: 'park a host: messages that park wait until it is resumed',
    arguments: [HOST],
    scope: 'manage',
    load: async () => (await import('../commands/setup/hosts.ts')).parkHost,
  },
  {
    name: 'hosts resume',
    summary: 'resume a parked host: messages are sent to it again, in steps',
    arguments: [HOST],
    scope: 'manage',
    load: async () => (await import('../commands/setup/hosts.ts')).resumeHost,
  },
];

const AS_A_FILE: readonly CommandSpec[] = [
  {
    name: 'apply',
    summary: 'bring queues, topics, schedules and alerts to the state of a file',
    about:
      'Brings queues, topics, schedules and alerts to the state that a YAML or JSON file describes, and shows what changes. What the file does not name is unchanged, unless --prune is given. A schedule or an alert is replaced completely; fields of a queue or a topic that the file does not mention stay. docs/apply.md describes the file.',
    flags: [
      { name: 'file', short: 'f', placeholder: '<file>', about: 'Required. The file; - reads standard input.' },
      { name: 'dry-run', about: 'Only show what would change.' },
      { name: 'exit-code', needs: 'dry-run', about: 'With --dry-run: exit with 9 when something would change.' },
      { name: 'prune', about: 'Delete what the sections of the file do not name. Asks for confirmation.' },
      YES_FLAG,
    ],
    scope: 'manage',
    examples: ['postrider apply -f postrider.yaml --dry-run', 'postrider apply -f postrider.yaml --prune --yes'],
    load: async () => (await import('../commands/setup/apply.ts')).apply,
  },
  {
    name: 'export',
    summary: 'print queues, topics, schedules and alerts as a file for apply',
    about:
      'Prints queues, topics, schedules and alerts as a file for apply. Without the scope manage, alerts are left out.',
    flags: [
      { name: 'output', short: 'o', placeholder: '<file>', about: 'File to create. Only its owner can read it.' },
      { name: 'force', needs: 'output', about: 'Overwrite the file.' },
    ],
    scope: 'read',
    examples: ['postrider export > postrider.yaml'],
    load: async () => (await import('../commands/setup/apply.ts')).exportState,
  },
];

export const RESOURCE_COMMANDS: readonly CommandSpec[] = [
  ...QUEUES,
  ...TOPICS,
  ...SCHEDULES,
  ...FLOW,
  ...HOSTS,
  ...AS_A_FILE,
];
