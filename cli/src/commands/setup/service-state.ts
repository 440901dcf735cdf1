// Queues, topics, schedules and alerts of a service, in the format of a file of `postrider apply`.

import type { Alert, Client, Schedule } from 'postrider-sdk';
import type { AlertState } from './desired-alerts.ts';
import { jitterState, type ScheduleState, type State } from './desired-state.ts';

/** What the service has, in the format of the file. `leftOut` names the schedules that a file cannot hold. */
export async function readService(client: Client, wanted: State | null): Promise<{ state: State; leftOut: string[] }> {
  const isWanted = (section: keyof State) => wanted === null || wanted[section] !== undefined;
  const queues = isWanted('queues') ? await client.listQueues() : [];
  const topics = isWanted('topics') ? await client.listTopics() : [];
  const listed = isWanted('schedules') ? await client.listSchedules() : [];
  const schedules: Schedule[] = [];
  for (const each of listed) schedules.push(each.isBodyLeftOut ? await client.getSchedule(each.scheduleId) : each);
  const alerts = isWanted('alerts') ? await readAlerts(client, wanted !== null) : [];
  const leftOut = schedules.filter(isUnwritable).map(({ scheduleId }) => scheduleId);
  return {
    leftOut,
    state: {
      queues: queues.map(({ name, parallelism, paused, expires, priority, outage }) => ({
        name,
        parallelism,
        ...(paused && { paused }),
        ...(expires !== undefined && { expires }),
        ...(priority !== undefined && { priority }),
        ...(outage !== undefined && { outage }),
      })),
      topics: topics.map(({ name, endpoints, headers }) => ({
        name,
        endpoints: endpoints.map(({ url, name: called }) => ({ url, ...(called !== undefined && { name: called }) })),
        ...(headers && Object.keys(headers).length > 0 && { headers }),
      })),
      schedules: schedules.map(scheduleState),
      ...(alerts && { alerts: alerts.map(alertState) }),
    },
  };
}

/**
 * The alerts of the service. If the token may not read them, or the service does not know alerts, this throws when they
 * are needed, and otherwise returns null: an export leaves them out.
 */
async function readAlerts(client: Client, isNeeded: boolean): Promise<readonly Alert[] | null> {
  try {
    return await client.listAlerts();
  } catch (error) {
    const { status } = error as { status?: number };
    if (!isNeeded && (status === 403 || status === 404)) return null;
    throw error;
  }
}

function alertState({ alertId, rule, target, remindEvery }: Alert): AlertState {
  return { id: alertId, rule: { ...rule }, target: { ...target }, ...(remindEvery !== undefined && { remindEvery }) };
}

function scheduleState(schedule: Schedule): ScheduleState {
  const { method, queueName, isPaused, overlap, jitter = 0, body, bodyBase64, settings = {} } = schedule;
  const headers = Object.entries(schedule.header).map(([name, values]) => [name, values.join(', ')]);
  return {
    id: schedule.scheduleId,
    cron: schedule.cron,
    destination: schedule.destination,
    ...(queueName !== undefined && { queue: queueName }),
    ...(isPaused && { paused: true }),
    ...(overlap !== undefined && { overlap }),
    ...jitterState(jitter * 1000),
    ...(method !== 'POST' && { method }),
    ...(headers.length > 0 && { headers: Object.fromEntries(headers) as Record<string, string> }),
    ...(body !== undefined && body !== '' && { body }),
    ...(bodyBase64 !== undefined && { bodyBase64 }),
    ...(Object.keys(settings).length > 0 && { settings }),
  };
}

/** Whether a file cannot hold this schedule: its content is redacted, or it has a header more than once. */
function isUnwritable({ header, body }: Schedule): boolean {
  const values = [...Object.values(header), body === undefined ? [] : [body]];
  return values.some((each) => each.length > 1 || each.some((value) => value.startsWith('REDACTED:')));
}
