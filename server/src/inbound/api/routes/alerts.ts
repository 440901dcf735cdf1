// Alerts over the API: set, read, delete, and test the target. Reading needs the scope `manage` too, because the URL of
// a target may be a secret. Once a message was sent to that URL, the scope `read` shows it, as for any message.

import type { IncomingMessage } from 'node:http';
import { planAlertMessage } from '../../../publish/alert-messages.ts';
import { type Alert, alertBody, NEVER_NOTIFIED, nextEvaluationAt } from '../../../rules/alerts/alert.ts';
import { type AlertDefaults, readAlert, shownDefinition, shownRule } from '../../../rules/alerts/alert-rules.ts';
import { type Descent, NO_DESCENT } from '../../../rules/delivery/descent.ts';
import type { NewMessage } from '../../../rules/delivery/message.ts';
import { accountMax } from '../../../rules/limits/budgets.ts';
import { isName, NAME_RULE } from '../../../rules/requests/name.ts';
import type { Principal } from '../../../store/ports/access-store.ts';
import type { DeliveryStore } from '../../../store/ports/delivery-store.ts';
import type { ResourceStore } from '../../../store/ports/resource-store.ts';
import { descentOf } from '../../publish/descent-of.ts';
import { requireQuota, requireRoom } from '../../publish/quota.ts';
import type { Api, RouteContext } from '../api.ts';
import { ApiError } from '../errors.ts';
import { arrayPage, PageQuery } from '../lists/list-pages.ts';
import { AlertAnswer, AlertTestAnswer } from '../shapes/alert-answers.ts';
import { NothingAnswer } from '../shapes/answers.ts';
import Type from '../shapes/schema.ts';

const AlertId = Type.Object({ alertId: Type.String() });

/** The schema allows any content. `readAlert` checks it, so that one response names everything that is wrong. */
const AlertBody = Type.Object({
  rule: Type.Unknown({
    description:
      'An object with the `type` of the rule and its fields, such as {"type": "failureRate", "share": 0.1, "window": "5m"}.',
  }),
  target: Type.Unknown({
    description: 'An object with the `url` to notify, and its `format`: `json` (the default) or `slack`.',
  }),
  remindEvery: Type.Optional(Type.Unknown({ description: 'A duration, such as "1h". Without it: no reminders.' })),
});
const NewAlertBody = Type.Object({
  ...AlertBody.properties,
  alertId: Type.Optional(Type.Unknown({ description: 'Id of the alert. Without it, the service creates one.' })),
});

type Context = RouteContext<ResourceStore & Pick<DeliveryStore, 'accept'>>;

export function alertRoutes(api: Api, context: Context, defaults: AlertDefaults): void {
  readRoutes(api, context);
  changeRoutes(api, context, defaults);
  testRoutes(api, context);
}

function readRoutes(api: Api, context: Context): void {
  const { store } = context;

  api.add({
    method: 'GET',
    path: '/v2/alerts',
    scope: 'manage',
    summary: 'List alerts',
    query: PageQuery,
    answer: Type.Array(AlertAnswer),
    handle: async ({ principal, query, reply }) =>
      arrayPage(
        {
          name: 'alerts',
          read: (part) => store.listAlerts(principal.account.id, part),
          keyOf: ({ id }) => id,
          show: (alerts) => alerts.map(shown),
        },
        query,
        reply,
      ),
  });

  api.add({
    method: 'GET',
    path: '/v2/alerts/:alertId',
    scope: 'manage',
    params: AlertId,
    summary: 'Read an alert',
    answer: AlertAnswer,
    handle: async ({ principal, params }) => shown(await find(context, principal, params.alertId)),
  });
}

function changeRoutes(api: Api, context: Context, defaults: AlertDefaults): void {
  const { store, newId } = context;

  api.add({
    method: 'POST',
    path: '/v2/alerts',
    scope: 'manage',
    body: NewAlertBody,
    summary: 'Create an alert, or replace the one with the same id',
    answer: AlertAnswer,
    statuses: [201],
    handle: async ({ principal, body, reply, about }) => {
      requireNoDelivery(context, reply);
      const { alertId = null } = body;
      if (alertId !== null && typeof alertId !== 'string') throw badId();
      const id = alertId || newId('alr');
      about(id);
      const alert = await save(context, defaults, principal, id, body);
      reply.status(201);
      return alert;
    },
  });

  api.add({
    method: 'PUT',
    path: '/v2/alerts/:alertId',
    scope: 'manage',
    params: AlertId,
    body: AlertBody,
    summary: 'Create an alert with this id, or replace it; its last notification is kept',
    answer: AlertAnswer,
    handle: async ({ principal, params, body, reply }) => {
      requireNoDelivery(context, reply);
      if ('alertId' in body && body.alertId !== params.alertId) {
        throw new ApiError(
          'bad_parameter',
          'alertId: the body and the path name different alerts; leave it out of the body',
        );
      }
      return save(context, defaults, principal, params.alertId, body);
    },
  });

  api.add({
    method: 'DELETE',
    path: '/v2/alerts/:alertId',
    scope: 'manage',
    params: AlertId,
    summary: 'Delete an alert; its target gets no more messages',
    answer: NothingAnswer,
    handle: async ({ principal, params }) => {
      if (await store.deleteAlert(principal.account.id, params.alertId)) return {};
      throw unknownAlert(params.alertId);
    },
  });
}

function testRoutes(api: Api, context: Context): void {
  const { store, tiers, world } = context;

  api.add({
    method: 'POST',
    path: '/v2/alerts/:alertId/test',
    scope: 'manage',
    params: AlertId,
    makesMessages: true,
    summary: 'Send a test message to the target of an alert',
    answer: AlertTestAnswer,
    statuses: [201],
    handle: async ({ principal, params, reply }) => {
      const { account } = principal;
      const alert = await find(context, principal, params.alertId);
      const message = await testMessage(context, alert, principal, descentOf(reply.request.raw, context.rules));
      await requireRoom(context.room, account, [message]);
      const now = world.clock.now();
      const tier = tiers[account.tier];
      const { isOverQuota } = await store.accept([message], now, tier.messagesPerDayMax);
      requireQuota(isOverQuota, tier, now, (name, value) => reply.header(name, value));
      reply.status(201);
      return { messageId: message.id, url: message.url };
    },
  });
}

async function save(context: Context, defaults: AlertDefaults, principal: Principal, id: string, body: unknown) {
  const { store, world } = context;
  if (!isName(id)) throw badId();
  const read = readAlert(body, defaults);
  if ('problems' in read) throw new ApiError('bad_alert', read.problems.join('; '));
  if (read.definition.rule.type === 'diskLow' && !principal.token.scopes.includes('admin')) {
    throw new ApiError(
      'forbidden',
      'rule.type: diskLow is about the whole service; it needs a token with the scope "admin"',
    );
  }
  const now = world.clock.now();
  const alert: Alert = {
    ...read.definition,
    ...NEVER_NOTIFIED,
    id,
    accountId: principal.account.id,
    problem: null,
    evaluatedAt: null,
    nextAt: nextEvaluationAt(principal.account.id, now),
    createdAt: now,
    updatedAt: now,
    version: 0,
  };
  // A target that no publish could reach is refused now, and not only at its first notification.
  await testMessage(context, alert, principal, NO_DESCENT);
  const max = accountMax('alerts');
  const saved = await store.saveAlert(alert, max);
  if (!saved) throw new ApiError('limit_exceeded', `alerts: an account may have at most ${max}`);
  return shown(saved);
}

/**
 * An alert makes messages at its own times, long after this call. If a delivery could set an alert, it could delete and
 * set it again in an endless loop.
 */
function requireNoDelivery({ rules }: Context, reply: { readonly request: { readonly raw: IncomingMessage } }): void {
  if (descentOf(reply.request.raw, rules).hops === 0) return;
  throw new ApiError('loop_detected', 'a request that comes from a delivery cannot create or change an alert');
}

async function testMessage(
  context: Context,
  alert: Alert,
  { account }: Principal,
  descent: Descent,
): Promise<NewMessage> {
  const { publications, rules, world } = context;
  const body = alertBody(alert, shownRule(alert.rule), {
    event: 'test',
    text: 'This is a test of the alert. Nothing is wrong.',
    facts: {},
    at: world.clock.now(),
  });
  const planned = await planAlertMessage(publications, rules.headerPrefix, alert, account, body, descent);
  if ('problem' in planned) {
    const { code, message } = planned.problem;
    throw new ApiError(code, code === 'loop_detected' ? message : `target: ${message}`);
  }
  return planned.message;
}

async function find({ store }: Context, { account }: Principal, id: string): Promise<Alert> {
  const alert = await store.getAlert(account.id, id);
  if (!alert) throw unknownAlert(id);
  return alert;
}

function shown(alert: Alert) {
  return {
    alertId: alert.id,
    ...shownDefinition(alert),
    state: alert.state,
    ...(alert.sinceAt !== null && { since: alert.sinceAt }),
    ...(alert.notifiedAt !== null && { notifiedAt: alert.notifiedAt }),
    ...(alert.messageId !== null && { messageId: alert.messageId }),
    ...(alert.text !== null && { text: alert.text }),
    ...(alert.problem !== null && { problem: alert.problem }),
    ...(alert.evaluatedAt !== null && { evaluatedAt: alert.evaluatedAt }),
    createdAt: alert.createdAt,
    updatedAt: alert.updatedAt,
  };
}

function badId(): ApiError {
  return new ApiError('bad_parameter', `alertId: ${NAME_RULE}`);
}

function unknownAlert(id: string): ApiError {
  return new ApiError('alert_not_found', `there is no alert "${id}"`);
}
