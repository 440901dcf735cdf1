// `postrider schedules …`.

import { calls, type PublishSettings, type Schedule } from 'postrider-sdk';
import type { Invocation } from '../../frame/command.ts';
import { EXIT } from '../../frame/exit-codes.ts';
import { Failure } from '../../frame/failure.ts';
import { printable } from '../../frame/printable.ts';
import { timeText } from '../../frame/time-text.ts';
import { readRequest, refuseDuplicateSettings } from '../messages/publish.ts';

const nextOf = ({ isPaused, nextScheduleTime }: Schedule) =>
  isPaused ? 'paused' : nextScheduleTime === undefined ? 'never' : timeText(nextScheduleTime);

export async function listSchedules({ out, connect }: Invocation): Promise<number> {
  const schedules = await connect().client.listSchedules();
  out.list(
    schedules,
    'There are no schedules. Make one: postrider schedules create <url> --cron "0 9 * * *"',
    [
      { title: 'SCHEDULE' },
      { title: 'CRON' },
      { title: 'NEXT' },
      { title: 'LAST', isExtra: true },
      { title: 'QUEUE', isExtra: true },
      { title: 'DESTINATION' },
    ],
    (schedule) => [
      schedule.scheduleId,
      schedule.cron,
      nextOf(schedule),
      schedule.lastScheduleTime === undefined ? '' : timeText(schedule.lastScheduleTime),
      schedule.queueName ?? '',
      schedule.destination,
    ],
  );
  return EXIT.done;
}

export async function getSchedule({ given, out, connect }: Invocation): Promise<number> {
  const schedule = await connect().client.getSchedule(given.words[0]!);
  if (out.isJson) {
    out.json(schedule);
    return EXIT.done;
  }
  const states = Object.entries(schedule.lastScheduleStates ?? {});
  out.facts([
    ['schedule', schedule.scheduleId],
    ['cron', schedule.cron],
    ['to', `${schedule.method} ${schedule.destination}`],
    ['queue', schedule.queueName],
    ['next', nextOf(schedule)],
    ['last', schedule.lastScheduleTime === undefined ? null : timeText(schedule.lastScheduleTime)],
    ['overlap', schedule.overlap],
    ['jitter', schedule.jitter === undefined ? null : `up to ${schedule.jitter} s`],
    ['skipped', schedule.skippedText],
    ['last messages', states.length === 0 ? null : states.map(([id, state]) => `${id} ${state}`).join(', ')],
    ['retries', String(schedule.retries)],
    ['labels', schedule.labels?.join(', ')],
    ['flow key', schedule.flowControlKey],
    ['callback', schedule.callback],
    ['on failure', schedule.failureCallback],
    ['created', timeText(schedule.createdAt)],
  ]);
  for (const line of timeLines(schedule)) out.line(line);
  for (const [name, values] of Object.entries(schedule.header)) {
    for (const value of values) out.line(`  ${printable(name)}: ${printable(value)}`);
  }
  if (schedule.body !== undefined) out.line(`body     ${printable(schedule.body)}`);
  return EXIT.done;
}

/** The last runs with their ends, and the next times. */
function timeLines({ lastRuns = [], nextScheduleTimes = [] }: Schedule): string[] {
  const runs = lastRuns.map(({ createdAt, messageId, state, endedAt }) => {
    const end = endedAt === undefined ? '' : `, ended ${timeText(endedAt)}`;
    return `  run ${timeText(createdAt)}  ${printable(messageId)}  ${state}${end}`;
  });
  return [...runs, ...nextScheduleTimes.map((at) => `  next ${timeText(at)}`)];
}

export async function createSchedule({ given, out, io, connect }: Invocation): Promise<number> {
  const cron = given.text('cron');
  if (cron === undefined)
    throw new Failure('no cron expression is given: use --cron, as in "0 9 * * 1-5"', { exit: EXIT.usage });
  const { client, headerPrefix } = connect();
  const { request, headers } = await readRequest(given, io, headerPrefix);
  const id = given.text('id');
  const settings = {
    ...request.settings,
    Cron: cron,
    ...(id !== undefined && { 'Schedule-Id': id }),
    ...ownSettings(given),
  };
  refuseDuplicateSettings(new Map(Object.entries(headers)), settings, headerPrefix);
  const call = calls.createSchedule({ destination: given.words[0]!, ...request, settings });
  const answer = await client.send({ ...call, headers });
  out.result(answer, printable(answer.scheduleId));
  return EXIT.done;
}

/** The settings of a schedule that a message does not have. */
function ownSettings(given: Invocation['given']): PublishSettings {
  const [queue, overlap, jitter] = [given.text('queue'), given.text('overlap'), given.text('jitter')];
  return {
    ...(queue !== undefined && { 'Queue-Name': queue }),
    ...(overlap !== undefined && { 'Schedule-Overlap': overlap }),
    ...(jitter !== undefined && { 'Schedule-Jitter': jitter }),
  };
}

export async function changeSchedule({ given, out, io, connect }: Invocation): Promise<number> {
  const { client, headerPrefix } = connect();
  const { request, headers } = await readRequest(given, io, headerPrefix);
  const settings = { ...request.settings, ...ownSettings(given) };
  refuseDuplicateSettings(new Map(Object.entries(headers)), settings, headerPrefix);
  const named = [
    ...given.list('remove').map((name) => [headerPrefix + name, ''] as const),
    ...Object.entries(settings).map(([name, value]) => [headerPrefix + name, String(value)] as const),
    ...Object.entries(headers),
  ];
  const [cron, destination] = [given.text('cron'), given.text('to')];
  const change = {
    ...(cron !== undefined && { cron }),
    ...(destination !== undefined && { destination }),
    ...(named.length > 0 && { headers: Object.fromEntries(named) }),
    ...(request.body !== undefined && { bodyBase64: Buffer.from(request.body).toString('base64') }),
  };
  if (Object.keys(change).length === 0) {
    throw new Failure('nothing is changed: give a flag, such as --cron', { exit: EXIT.usage });
  }
  const schedule = await client.changeSchedule(given.words[0]!, change);
  out.result(schedule, `${printable(schedule.scheduleId)}  next ${nextOf(schedule)}`);
  return EXIT.done;
}

export async function pauseSchedule({ given, out, connect }: Invocation): Promise<number> {
  const answer = await connect().client.pauseSchedule(given.words[0]!);
  out.result(answer, `${printable(given.words[0]!)}  paused: ticks during the pause are skipped`);
  return EXIT.done;
}

export async function resumeSchedule({ given, out, connect }: Invocation): Promise<number> {
  const answer = await connect().client.resumeSchedule(given.words[0]!);
  out.result(answer, `${printable(given.words[0]!)}  is resumed`);
  return EXIT.done;
}

export async function runSchedule({ given, out, connect }: Invocation): Promise<number> {
  const published = await connect().client.runSchedule(given.words[0]!);
  if (out.isJson) out.json(published);
  else for (const { messageId, url } of published) out.line(`${printable(messageId)}  ${printable(url)}`);
  return EXIT.done;
}

export async function deleteSchedule({ given, out, connect }: Invocation): Promise<number> {
  const answer = await connect().client.deleteSchedule(given.words[0]!);
  out.result(answer, `${printable(given.words[0]!)}  deleted`);
  return EXIT.done;
}

export async function cronTimes({ given, out, connect }: Invocation): Promise<number> {
  const answer = await connect().client.cronTimes(given.words.join(' '));
  if (out.isJson) out.json(answer);
  else if (answer.times.length === 0) out.line('It never runs: no time matches this cron expression.');
  else for (const at of answer.times) out.line(timeText(at));
  return EXIT.done;
}
