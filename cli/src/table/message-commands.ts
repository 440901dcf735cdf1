// The commands about messages: sending them, following them, and showing their state.

import type { ArgumentSpec, FlagSpec } from '../frame/arguments.ts';
import type { CommandSpec } from '../frame/command.ts';
import { FILTER_FLAGS, LIMIT, MORE_FILTER_FLAGS, YES } from './flags.ts';

const DESTINATION: ArgumentSpec = { name: 'destination', about: 'a URL, or the name of a topic' };
const ID: ArgumentSpec = { name: 'id', about: 'the id of a message' };
const IDS: ArgumentSpec = {
  ...ID,
  about: 'ids of messages; without any, filters choose',
  isOptional: true,
  isRepeated: true,
};
const DLQ_IDS: ArgumentSpec = { ...IDS, about: 'ids of dead letters; without any, filters choose' };

const DATA: FlagSpec = {
  name: 'data',
  short: 'd',
  placeholder: '<body>',
  about:
    'The body: a text, @file for the content of a file, or - for standard input. JSON gets Content-Type: application/json automatically.',
};
const HEADER: FlagSpec = {
  name: 'header',
  short: 'H',
  placeholder: '<name: value>',
  isList: true,
  about: 'A header for the destination. Content-Type and headers of the service (Service-…) are used as they are.',
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
  { name: 'retries', placeholder: '<number>', kind: 'number', about: 'Retries after a failed delivery.' },
  {
    name: 'retry-delay',
    placeholder: '<expression>',
    about: 'Wait before a retry in milliseconds, such as "1000 * (1 + retried)".',
  },
  { name: 'timeout', placeholder: '<duration>', kind: 'duration', about: 'Deadline of one attempt.' },
  { name: 'callback', placeholder: '<url>', about: 'Called after each attempt.' },
  { name: 'failure-callback', placeholder: '<url>', about: 'Called when all retries are used up.' },
  { name: 'label', placeholder: '<label>', isList: true, about: 'A label to find it by.' },
  {
    name: 'flow-key',
    placeholder: '<key>',
    about: 'Flow key: a key whose rate and parallelism limits apply across URLs.',
  },
  {
    name: 'flow-limit',
    placeholder: '<limit>',
    about: 'Limit of that key, such as "rate=10, period=1m, parallelism=3".',
  },
  {
    name: 'redact',
    placeholder: '<field>',
    isList: true,
    about: 'What the API must not show: body, headers or header[Name].',
  },
];

const PUBLISH_FLAGS: readonly FlagSpec[] = [
  ...MESSAGE_FLAGS,
  {
    name: 'at',
    not: ['delay'],
    placeholder: '<time>',
    about: 'Time of the first delivery, such as 2026-01-31T12:00:00Z.',
  },
  {
    name: 'deduplication-id',
    placeholder: '<id>',
    about: 'While a message with this id is in the deduplication window, no other is accepted.',
  },
  {
    name: 'content-deduplication',
    not: ['deduplication-id'],
    about: 'Make that id from the destination, the body and the headers.',
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
  ...MORE_FILTER_FLAGS,
  { name: 'all', about: 'Select all, instead of filters.' },
  { name: 'dry-run', about: 'By filter: only count what matches.' },
  {
    name: 'per-second',
    placeholder: '<number>',
    kind: 'number',
    about: 'By filter: how many per second. Default: 100.',
  },
];
const BULK_FLAGS: readonly FlagSpec[] = [...BY_FILTER.map((flag) => ({ ...flag, by: 'filter' as const })), YES];

const SENDING: readonly CommandSpec[] = [
  {
    name: 'publish',
    summary: 'send a message to a URL or a topic',
    about:
      'Sends a message to a URL, or to every endpoint of a topic. Prints the id when the service has stored the message; with --quiet only the id.',
    arguments: [DESTINATION],
    flags: PUBLISH_FLAGS,
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
        about: 'Messages with the same key are delivered one after the other, others in parallel.',
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
          'What to do with lines that an earlier run has sent without getting a response, when the service no longer recognises them.',
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
      { name: 'message', placeholder: '<id>', isList: true, about: 'Of this message.' },
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
      ...MORE_FILTER_FLAGS,
      { name: 'text', placeholder: '<text>', about: 'In id, URL, queue, topic, labels or body.' },
      LIMIT,
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
    flags: [LIMIT],
    scope: 'read',
    load: async () => (await import('../commands/messages/messages.ts')).messageEvents,
  },
  {
    name: 'messages count',
    summary: 'count messages by state',
    flags: [...FILTER_FLAGS.filter(({ name }) => name !== 'state'), ...MORE_FILTER_FLAGS],
    scope: 'read',
    load: async () => (await import('../commands/messages/messages.ts')).countMessages,
  },
  {
    name: 'messages cancel',
    summary: 'cancel messages by id or by filter',
    about: 'Cancels messages: no further attempts start. By filter, it first counts them and asks for confirmation.',
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
    flags: [...FILTER_FLAGS.filter(({ name }) => name !== 'state'), ...MORE_FILTER_FLAGS, LIMIT],
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
      'Sends dead letters again as new messages. By id, parts of the message can be changed. By filter, it first counts them and asks for confirmation.',
    arguments: [DLQ_IDS],
    flags: [
      { ...DATA, by: 'id', about: 'By id: a new body.' },
      { ...HEADER, by: 'id', about: 'By id: a new header or setting.' },
      { name: 'new-url', by: 'id', placeholder: '<url>', about: 'By id: another destination.' },
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
