// The commands about alerts.

import { RULE_TYPES } from '../../../server/src/rules/alerts/alert.ts';
import type { ArgumentSpec } from '../frame/arguments.ts';
import type { CommandSpec } from '../frame/command.ts';

const ALERT: ArgumentSpec = { name: 'id', about: 'the id of an alert' };

export const ALERT_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'alerts list',
    summary: 'list alerts with their state',
    isDefault: true,
    scope: 'manage',
    load: async () => (await import('../commands/setup/alerts.ts')).listAlerts,
  },
  {
    name: 'alerts get',
    summary: 'show an alert, and its last notification',
    arguments: [ALERT],
    scope: 'manage',
    load: async () => (await import('../commands/setup/alerts.ts')).getAlert,
  },
  {
    name: 'alerts create',
    summary: 'create an alert, or replace the one with the same id',
    about:
      'Creates an alert: a rule, and a URL that is notified when the rule begins to apply and when it no longer applies. diskLow needs the scope admin.',
    arguments: [{ name: 'rule', about: 'the type of the rule', values: RULE_TYPES }],
    flags: [
      { name: 'target', placeholder: '<url>', about: 'Required. The URL to notify.' },
      { name: 'slack', about: 'Send only {"text": …}, as Slack and other chats read it.' },
      { name: 'id', placeholder: '<id>', about: 'Id of the alert. An existing alert with this id is replaced.' },
      {
        name: 'remind-every',
        placeholder: '<duration>',
        kind: 'duration',
        about: 'While the alert is firing, notify again at this interval.',
      },
      { name: 'host', placeholder: '<host>', about: 'Only messages to this host.' },
      { name: 'queue', placeholder: '<name>', about: 'Only this queue.' },
      { name: 'label', placeholder: '<label>', about: 'Only messages with this label.' },
      { name: 'schedule', placeholder: '<id>', about: 'scheduleFailed: only this schedule.' },
      {
        name: 'count',
        placeholder: '<number>',
        kind: 'number',
        about: 'messageFailed: how many messages must fail within the window. Default: 1.',
      },
      {
        name: 'window',
        placeholder: '<duration>',
        kind: 'duration',
        about: 'messageFailed, failureRate: the time window. Default: 5m.',
      },
      {
        name: 'share',
        placeholder: '<share>',
        about: 'failureRate: share that must fail. Default: 10%. quotaNear: share of the daily quota. Default: 80%.',
      },
      {
        name: 'minimum',
        placeholder: '<number>',
        kind: 'number',
        about: 'failureRate: how many messages must have ended within the window. Default: 10.',
      },
      {
        name: 'older-than',
        placeholder: '<duration>',
        kind: 'duration',
        about: 'queueStalled: how long the oldest message has been due. Default: 5m.',
      },
      {
        name: 'attempts',
        placeholder: '<number>',
        kind: 'number',
        about: 'hostFailing: how many attempts must fail in a row. Default: 10.',
      },
      {
        name: 'free-bytes',
        placeholder: '<number>',
        kind: 'number',
        about: 'diskLow: fire when less than this is free. Default: twice --min-free-disk-bytes of the service.',
      },
    ],
    scope: 'manage',
    examples: [
      'postrider alerts create messageFailed --label bill --target https://example.com/alert --id bills',
      'postrider alerts create failureRate --share 5% --slack --target https://hooks.slack.com/services/T/B/X',
    ],
    load: async () => (await import('../commands/setup/alerts.ts')).createAlert,
  },
  {
    name: 'alerts test',
    summary: 'send a test message to the target of an alert',
    arguments: [ALERT],
    scope: 'manage',
    load: async () => (await import('../commands/setup/alerts.ts')).testAlert,
  },
  {
    name: 'alerts delete',
    summary: 'delete an alert; its target gets no more messages',
    arguments: [ALERT],
    scope: 'manage',
    load: async () => (await import('../commands/setup/alerts.ts')).deleteAlert,
  },
];
