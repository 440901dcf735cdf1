// The commands about messages: sending them, following them, and showing their state.

import type { ArgumentSpec, FlagSpec } from '../frame/arguments.ts';
import type { CommandSpec } from '../frame/command.ts';
import { FILTER_FLAGS, LIMIT_FLAG, NON_LIVE_FILTER_FLAGS, YES_FLAG } from './flags.ts';

const DESTINATION: ArgumentSpec = { name: 'destination', about: 'a URL, or the name of a topic' };
const ID: ArgumentSpec = { name: 'id', about: 'the id of a message' };
const IDS: ArgumentSpec = {
  ...ID,
  about: 'ids of messages; without ids, filters select them',
  isOptional: true,
  isRepeated: true,
};
const DLQ_IDS: ArgumentSpec = { ...IDS, about: 'ids of dead letters; without ids, filters select them' };

const DATA: FlagSpec = {
  name: 'data',
  short: 'd',
  placeholder: '<body>',
  about:
    'The body: a text, @file for the content of a file, or - for standard input. A JSON object or list gets Content-Type: application/json automatically.',
};
const HEADER: FlagSpec = {
  name: 'header',
  short: 'H',
  placeholder: '<name: value>',
  isList: true,
  about:
    'A header of the delivery. Content-Type describes the body. A header of the service (Service-…) is a setting of the message and is not sent to the destination.',
};

/** Settings of a message. Schedules have them too. */
export const MESSAGE_FLAGS: readonly FlagSpec[] = [
  DATA,
  HEADER,
  { name: 'method', placeholder: '<method>', about: 'Method of the delivery. Default: POST.' },
  {
    name: 'delay',
    placeholder: '<duration>',
    kind: 'duration',
    about: 'Wait before the first delivery, such as 90s or 1d12h.',
  },
  {
    name: 'expires',
    placeholder: '<duration>',
    kind: 'duration',
    about: 'How long after its acceptance an attempt may start, such as 10m. Then the message fails as expired.',
  },
  { name: 'retries', placeholder: '<number>', kind: 'number', about: 'Retries after a failed delivery.' },
  {
    name: 'outage',
    placeholder: '<what>',
    values: ['retry', 'park'],
    about: 'While the host is down: retry, or park, which waits until it is back and uses up no retry.',
  },
  {
    name: 'await-ack',
    placeholder: '<duration>',
    kind: 'duration',
    about: 'A 202 means that the receiver has taken the message on: it has this long for its ack, such as 30m.',
  },
  {
    name: 'retry-delay',
    placeholder: '<expression>',
    about: 'Wait before a retry in milliseconds, such as "1000 * (1 + retried)".',
  },
  {
    name: 'retry-jitter',
    placeholder: '<percentage>',
    about: 'Share of this wait that is added to it at random, such as 20%.',
  },
  { name: 'timeout', placeholder: '<duration>', kind: 'duration', about: 'Deadline of one attempt.' },
  { name: 'callback', placeholder: '<url>', about: 'URL that is called after each attempt.' },
  { name: 'failure-callback', placeholder: '<url>', about: 'URL that is called when all retries are used up.' },
  { name: 'label', placeholder: '<label>', isList: true, about: 'A label to find the message by.' },
  {
    name: 'flow-key',
    placeholder: '<key>',
    about: 'Flow key: a key whose rate and parallelism limits apply across URLs.',
  },
  {
    name: 'flow-limit',
    placeholder: '<limit>',
    about: 'Limit of the flow key, such as "rate=10, period=1m, parallelism=3".',
  },
  {
    name: 'redact',
    placeholder: '<field>',
    isList: true,
    about: 'What the API must not show: body, headers or header[Name].',
  },
];

/** Not for messages of a queue. */
export const PRIORITY: FlagSpec = {
  name: 'priority',
  placeholder: '<0-9>',
  kind: 'number',
  about: 'Of the messages to a host that wait for a free slot, those with the highest go first. Default: 5.',
};
const EXPIRES_AT: FlagSpec = {
  name: 'expires-at',
  not: ['expires'],
  placeholder: '<time>',
  about: 'Time from which no attempt starts, such as 2026-01-31T12:10:00Z.',
};

const PUBLISH_FLAGS: readonly FlagSpec[] = [
  ...MESSAGE_FLAGS,
  {
    name: 'at',
    not: ['delay'],
    placeholder: '<time>',
    about: 'Time of the first delivery, such as 2026-01-31T12:00:00Z.',
  },
  EXPIRES_AT,
  {
    name: 'deduplication-id',
    placeholder: '<id>',
    about: 'Within the deduplication window, no second message with this id is accepted.',
  },
  {
    name: 'content-deduplication',
    not: ['deduplication-id'],
    about: 'Make the deduplication id from the destination, the body and the headers.',
  },
  {
    name: 'debounce-key',
    not: ['delay', 'at', 'deduplication-id', 'content-deduplication'],
    needs: 'debounce',
    placeholder: '<key>',
    about: 'A new message with the same key takes the place of the one that waits.',
  },
  {
    name: 'debounce',
    needs: 'debounce-key',
    placeholder: '<duration>',
    kind: 'duration',
    about: 'How long the message waits for others with the same key, such as 5s.',
  },
  {
    name: 'debounce-max',
    needs: 'debounce-key',
    placeholder: '<duration>',
    kind: 'duration',
    about: 'How long after the first message the newest is due at the latest.',
  },
  { name: 'wait', about: 'Follow the message until it has ended. Exits with 8 if it is not delivered.' },
  {
    name: 'wait-max',
    needs: 'wait',
    placeholder: '<duration>',
    kind: 'duration',
    about: 'With --wait: stop waiting after this time. The message continues.',
  },
];

const BY_FILTER: readonly FlagSpec[] = [
  ...FILTER_FLAGS,
  ...NON_LIVE_FILTER_FLAGS,
  { name: 'all', about: 'Instead of filters: select all of them.' },
  { name: 'dry-run', about: 'With filters or --all: only count what matches.' },
  {
    name: 'per-second',
    placeholder: '<number>',
    kind: 'number',
    about: 'With filters or --all: process at most this many messages per second. Default: 100.',
  },
];
const BULK_FLAGS: readonly FlagSpec[] = [...BY_FILTER.map((flag) => ({ ...flag, by: 'filter' as const })), YES_FLAG];

const SENDING: readonly CommandSpec[] = [
  {
    name: 'publish',
    summary: 'send a message to a URL or a topic',
    about:
      'Sends a message to a URL, or to every endpoint of a topic. Prints the id when the service has stored the message; with --quiet only the id.',
    arguments: [DESTINATION],
    flags: [...PUBLISH_FLAGS, PRIORITY],
    scope: 'publish',
    examples: [
      'postrider publish https://example.com/hook -d \'{"order":1}\' --retries 5 --wait',
      'postrider publish news -d @news.json --delay 1h',
    ],
    load: async () => (await import('../commands/messages/publish.ts')).publish,
  },
  {
    name: 'enqueue',
    summary: 'send a message through a queue, in order',
    arguments: [{ name: 'queue', about: 'the name of a queue, which is made on first use' }, DESTINATION],
    flags: [
      ...PUBLISH_FLAGS,
      {
        name: 'order-key',
        placeholder: '<key>',
        about: 'Messages with the same key are delivered one after the other, messages with other keys in parallel.',
      },
    ],
    scope: 'publish',
    examples: ['echo hello | postrider enqueue orders https://example.com/hook -d -'],
    load: async () => (await import('../commands/messages/publish.ts')).enqueue,
  },
  {
    name: 'batch',
    summary: 'send a file of messages, and continue where a stopped run ended',
    about:
      'Sends a file with one message on each line: {"destination": "https://…", "queue"?, "headers"?, "body"? or "bodyBase64"?}. The whole file is checked before anything is sent. The progress is saved in a file beside it: after a stop, a crash or an error, the same command continues. The progress file is kept when everything is sent, so that no line is sent again. Each message gets a deduplication id, so that none is accepted twice.',
    arguments: [{ name: 'file', about: 'the file, or - for standard input (which cannot be resumed)' }],
    flags: [
      { name: 'chunk', placeholder: '<number>', kind: 'number', about: 'Messages in one call. Default: 500.' },
      {
        name: 'progress-file',
        placeholder: '<file>',
        about: 'The file for the progress. Default: <file>.progress.',
      },
      {
        name: 'restart',
        about:
          'Send all lines from the first one on, whatever an earlier run has sent. Needed to send a file once more.',
      },
      {
        name: 'doubtful',
        not: ['restart'],
        placeholder: '<choice>',
        values: ['send', 'skip'],
        about:
          'What to do with lines that an earlier run has sent without a response, when the service no longer knows their deduplication ids: send them again, or skip them.',
      },
    ],
    scope: 'publish',
    examples: ['postrider batch orders.ndjson', 'jq -c ".[]" orders.json | postrider batch - --json'],
    load: async () => (await import('../commands/messages/batch.ts')).batch,
  },
  {
    name: 'tail',
    summary: 'show events as they happen',
    about:
      'Prints the events of messages as they happen, until Ctrl-C. After a lost connection it continues after the last event.',
    flags: [
      ...FILTER_FLAGS,
      { name: 'message', placeholder: '<id>', isList: true, about: 'Only events of this message.' },
      {
        name: 'since',
        placeholder: '<time>',
        kind: 'time',
        about: 'Print past events first, since this time: a date, or how long ago, such as 10m.',
      },
    ],
    scope: 'read',
    examples: ['postrider tail --queue orders', 'postrider tail --state FAILED --json | jq .url'],
    load: async () => (await import('../commands/messages/tail.ts')).tail,
  },
  {
    name: 'ack',
    summary: 'report how the work for a delivery has ended, or how far it is',
    about:
      'Reports to the ack URL of a delivery that its receiver has answered with 202. The URL is the only authority, so no token is needed.',
    arguments: [{ name: 'url', about: 'the ack URL, from the header Service-Ack-Url of the delivery' }],
    flags: [
      { name: 'ok', not: ['error', 'extend', 'progress', 'note'], about: 'The work has succeeded.' },
      {
        name: 'error',
        not: ['extend', 'progress', 'note'],
        placeholder: '<text>',
        about: 'The work has failed, for this reason. A retry follows as after any failed attempt.',
      },
      { name: 'no-retry', needs: 'error', about: 'No retry is to follow.' },
      {
        name: 'extend',
        placeholder: '<duration>',
        kind: 'duration',
        about: 'The ack comes within this time from now, such as 10m.',
      },
      { name: 'progress', placeholder: '<share>', about: 'How much is done, from 0 to 1.' },
      { name: 'note', placeholder: '<text>', about: 'What is being done, for people.' },
    ],
    examples: ['postrider ack "$ACK_URL" --progress 0.4 --extend 10m', 'postrider ack "$ACK_URL" --ok'],
    load: async () => (await import('../commands/messages/ack.ts')).ack,
  },
  {
    name: 'why',
    summary: 'say why a message is not delivered yet',
    arguments: [ID],
    scope: 'read',
    load: async () => (await import('../commands/messages/messages.ts')).why,
  },
];

const MESSAGES: readonly CommandSpec[] = [
  {
    name: 'messages list',
    summary: 'list messages that match filters, newest first',
    isDefault: true,
    flags: [
      ...FILTER_FLAGS,
      ...NON_LIVE_FILTER_FLAGS,
      { name: 'text', placeholder: '<text>', about: 'Only with this text in id, URL, queue, topic, labels or body.' },
      LIMIT_FLAG,
    ],
    scope: 'read',
    examples: [
      'postrider messages --state RETRY --host example.com',
      'postrider messages list --from 1h --limit 0 --json',
    ],
    load: async () => (await import('../commands/messages/messages.ts')).listMessages,
  },
  {
    name: 'messages get',
    summary: 'show a message with its attempts and their responses',
    arguments: [ID],
    scope: 'read',
    load: async () => (await import('../commands/messages/messages.ts')).getMessage,
  },
  {
    name: 'messages body',
    summary: 'print the body of a message, byte for byte',
    arguments: [ID],
    flags: [
      {
        name: 'output',
        short: 'o',
        placeholder: '<file>',
        about: 'File to create. An existing file is not overwritten.',
      },
    ],
    scope: 'read',
    examples: ['postrider messages body msg_… | sha256sum'],
    load: async () => (await import('../commands/messages/messages.ts')).messageBody,
  },
  {
    name: 'messages events',
    summary: 'list what has happened to messages, in order',
    arguments: [{ ...ID, isRepeated: true }],
    flags: [{ ...LIMIT_FLAG, about: 'Print at most this many events. Default: all.' }],
    scope: 'read',
    load: async () => (await import('../commands/messages/messages.ts')).messageEvents,
  },
  {
    name: 'messages count',
    summary: 'count messages by state',
    flags: [...FILTER_FLAGS.filter(({ name }) => name !== 'state'), ...NON_LIVE_FILTER_FLAGS],
    scope: 'read',
    load: async () => (await import('../commands/messages/messages.ts')).countMessages,
  },
  {
    name: 'messages cancel',
    summary: 'cancel messages by id or by filter',
    about: 'Cancels messages: no further attempts start. With filters, it first counts them and asks for confirmation.',
    arguments: [IDS],
    flags: BULK_FLAGS,
    scope: 'manage',
    examples: ['postrider messages cancel msg_…', 'postrider messages cancel --queue orders --yes'],
    load: async () => (await import('../commands/messages/messages.ts')).cancelMessages,
  },
  {
    name: 'messages retry',
    summary: 'deliver a waiting message now',
    arguments: [ID],
    scope: 'manage',
    load: async () => (await import('../commands/messages/messages.ts')).deliverMessageNow,
  },
  {
    name: 'messages update',
    summary: 'change a message that waits',
    about:
      'Changes a message that waits: its time, its URL, its body, its headers and its settings. What is not given stays as it is. A header to forward replaces all forwarded headers. Another URL or callback needs the scope read too.',
    arguments: [ID],
    flags: [
      ...MESSAGE_FLAGS.filter(({ name }) => !['data', 'delay', 'flow-key', 'flow-limit'].includes(name)),
      {
        ...DATA,
        about: 'The new body: a text, @file for the content of a file, or - for standard input.',
      },
      { name: 'new-url', placeholder: '<url>', about: 'Another destination.' },
      {
        name: 'delay',
        placeholder: '<duration>',
        kind: 'duration',
        about: 'Wait from now on before the next attempt, such as 90s or 1d12h.',
      },
      {
        name: 'at',
        not: ['delay'],
        placeholder: '<time>',
        about: 'Time of the next attempt, such as 2026-01-31T12:00:00Z.',
      },
      EXPIRES_AT,
      PRIORITY,
      {
        name: 'if-version',
        placeholder: '<version>',
        about: 'Only if the message still has this version, which `messages get` shows.',
      },
    ],
    scope: 'publish',
    examples: [
      'postrider messages update msg_… --delay 1h',
      'postrider messages update msg_… --new-url https://example.com/new -d @order.json --if-version 0-0',
    ],
    load: async () => (await import('../commands/messages/update.ts')).updateMessage,
  },
  {
    name: 'messages release',
    summary: 'release a held message',
    arguments: [ID],
    scope: 'manage',
    load: async () => (await import('../commands/messages/messages.ts')).releaseMessage,
  },
];

const DEAD_LETTERS: readonly CommandSpec[] = [
  {
    name: 'dlq list',
    summary: 'list dead letters: messages whose retries are used up',
    isDefault: true,
    flags: [...FILTER_FLAGS.filter(({ name }) => name !== 'state'), ...NON_LIVE_FILTER_FLAGS, LIMIT_FLAG],
    scope: 'read',
    load: async () => (await import('../commands/messages/dlq.ts')).listDeadLetters,
  },
  {
    name: 'dlq groups',
    summary: 'count dead letters by host and reason',
    scope: 'read',
    load: async () => (await import('../commands/messages/dlq.ts')).groupDeadLetters,
  },
  {
    name: 'dlq get',
    summary: 'show a dead letter with the last response',
    arguments: [{ ...ID, about: 'the id of a dead letter' }],
    scope: 'read',
    load: async () => (await import('../commands/messages/dlq.ts')).getDeadLetter,
  },
  {
    name: 'dlq retry',
    summary: 'send dead letters again, by id or by filter',
    about:
      'Sends dead letters again as new messages. With ids, parts of the message can be changed. With filters, it first counts them and asks for confirmation.',
    arguments: [DLQ_IDS],
    flags: [
      { ...DATA, by: 'id', about: 'With ids: a new body.' },
      { ...HEADER, by: 'id', about: 'With ids: a new header or setting.' },
      { name: 'new-url', by: 'id', placeholder: '<url>', about: 'With ids: another destination.' },
      ...BULK_FLAGS.filter(({ name }) => name !== 'state'),
    ],
    scope: 'manage',
    examples: ['postrider dlq retry --host example.com --per-second 10'],
    load: async () => (await import('../commands/messages/dlq.ts')).retryDeadLetters,
  },
  {
    name: 'dlq delete',
    summary: 'delete dead letters, by id or by filter',
    arguments: [DLQ_IDS],
    flags: BULK_FLAGS.filter(({ name }) => name !== 'state'),
    scope: 'manage',
    load: async () => (await import('../commands/messages/dlq.ts')).deleteDeadLetters,
  },
];

export const MESSAGE_COMMANDS: readonly CommandSpec[] = [...SENDING, ...MESSAGES, ...DEAD_LETTERS];
