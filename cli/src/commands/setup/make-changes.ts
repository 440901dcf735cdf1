// Makes the changes of `postrider apply`, one call after the other.

import { type AlertRequest, type Client, calls, type PublishSettings } from 'postrider-sdk';
import type { Output } from '../../frame/output.ts';
import type { Change, ScheduleState, State } from './desired-state.ts';

export interface FailedChange {
  readonly kind: string;
  readonly name: string;
  readonly error: string;
}

export interface ChangeContext {
  readonly client: Client;
  readonly prefix: string;
  readonly desired: State;
  readonly actual: State;
  readonly out: Output;
}

/** Makes all changes. If one of them fails, the others are still made. */
export async function makeChanges(work: ChangeContext, changes: readonly Change[]): Promise<FailedChange[]> {
  const failed: FailedChange[] = [];
  // Schedules and alerts may need queues and topics, so they are created last and deleted first.
  const [deletes, others] = [
    changes.filter(({ action }) => action === 'delete'),
    changes.filter(({ action }) => action !== 'delete'),
  ];
  let made = 0;
  for (const change of [...others, ...deletes.toReversed()]) {
    try {
      await makeChange(work, change);
      made += 1;
    } catch (error) {
      const { status, message } = error as { status?: number; message: string };
      // Without a response, or without the required scope, the other changes would fail as well.
      if (status === undefined || status === 401 || status === 403) {
        work.out.warn(
          `stopped at ${change.kind} ${change.name}: ${made} of ${changes.length} changes were made; the others were not`,
        );
        throw error;
      }
      failed.push({ kind: change.kind, name: change.name, error: message });
    }
  }
  return failed;
}

type Kind = Change['kind'];

const DELETE: Readonly<Record<Kind, (client: Client, name: string) => Promise<unknown>>> = {
  queue: (client, name) => client.deleteQueue(name),
  topic: (client, name) => client.deleteTopic(name),
  schedule: (client, name) => client.deleteSchedule(name),
  alert: (client, name) => client.deleteAlert(name),
};

const SAVE: Readonly<Record<Kind, (work: ChangeContext, change: Change) => Promise<void>>> = {
  queue: saveQueue,
  topic: saveTopic,
  schedule: saveSchedule,
  alert: saveAlert,
};

async function makeChange(work: ChangeContext, change: Change): Promise<void> {
  const { action, kind, name } = change;
  if (action === 'delete') await DELETE[kind](work.client, name);
  else await SAVE[kind](work, change);
}

async function saveQueue({ client, desired }: ChangeContext, { name }: Change): Promise<void> {
  const { parallelism, paused, expires, priority, outage } = desired.queues!.find((each) => each.name === name)!;
  await client.saveQueue({
    queueName: name,
    ...(parallelism !== undefined && { parallelism }),
    ...(paused !== undefined && { paused }),
    ...(expires !== undefined && { expires }),
    ...(priority !== undefined && { priority }),
    ...(outage !== undefined && { outage }),
  });
}

async function saveTopic({ client, desired }: ChangeContext, { action, name }: Change): Promise<void> {
  const { endpoints, headers } = desired.topics!.find((each) => each.name === name)!;
  if (action === 'create') await client.addEndpoints(name, endpoints);
  if (action === 'update' || headers !== undefined)
    await client.changeTopic(name, { endpoints, ...(headers && { headers }) });
}

async function saveAlert({ client, desired }: ChangeContext, { name }: Change): Promise<void> {
  const { id: _id, ...alert } = desired.alerts!.find((each) => each.id === name)!;
  // The file was checked by the rules of the service, so `alert` is a valid request.
  await client.saveAlert(name, alert as unknown as AlertRequest);
}

async function saveSchedule(
  { client, prefix, desired, actual }: ChangeContext,
  { action, name, fields }: Change,
): Promise<void> {
  const schedule = desired.schedules!.find((each) => each.id === name)!;
  const isPauseAlone = action === 'update' && fields.every(({ field }) => field === 'paused');
  if (!isPauseAlone) await client.send(scheduleCall(schedule, prefix));
  // Replacing a schedule resumes it. So a schedule that was paused is paused again, unless the file says otherwise.
  const isPaused = schedule.paused ?? actual.schedules?.find(({ id }) => id === name)?.paused ?? false;
  if (isPaused) await client.pauseSchedule(name);
  else if (isPauseAlone) await client.resumeSchedule(name);
}

function scheduleCall(schedule: ScheduleState, prefix: string) {
  const {
    id,
    cron,
    destination,
    queue,
    overlap,
    jitter,
    method,
    headers = {},
    body,
    bodyBase64,
    settings = {},
  } = schedule;
  const bytes = bodyBase64 === undefined ? body : Buffer.from(bodyBase64, 'base64');
  const call = calls.createSchedule({
    destination,
    ...(bytes !== undefined && { body: Buffer.from(bytes) }),
    settings: {
      ...(settings as PublishSettings),
      Cron: cron,
      'Schedule-Id': id,
      ...(queue !== undefined && { 'Queue-Name': queue }),
      ...(overlap !== undefined && { 'Schedule-Overlap': overlap }),
      ...(jitter !== undefined && { 'Schedule-Jitter': jitter }),
      ...(method !== undefined && { Method: method }),
    },
  });
  const sent = Object.entries(headers).map(([name, value]) => [
    /^content-type$/i.test(name) ? name : `${prefix}Forward-${name}`,
    value,
  ]);
  return { ...call, headers: Object.fromEntries(sent) as Record<string, string> };
}
