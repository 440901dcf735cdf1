// A cron expression in words, for the common forms. For any other, only its next times are shown.

const WEEKDAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'];
const MONTHS = [
  '',
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
];
const NICKNAMES: ReadonlyMap<string, string> = new Map([
  ['@hourly', '0 * * * *'],
  ['@daily', '0 0 * * *'],
  ['@midnight', '0 0 * * *'],
  ['@weekly', '0 0 * * 0'],
  ['@monthly', '0 0 1 * *'],
  ['@yearly', '0 0 1 1 *'],
  ['@annually', '0 0 1 1 *'],
]);

const UNITS: ReadonlyMap<string, string> = new Map([
  ['s', 'second'],
  ['m', 'minute'],
  ['h', 'hour'],
  ['d', 'day'],
]);

/** The expression in words. Null when there are no simple words for it. */
export function cronWords(cron: string): string | null {
  const [, zone, expression] = /^(?:(?:CRON_)?TZ=(\S+)\s+)?(.*)$/s.exec(cron.trim()) ?? [];
  const every = /^@every\s+(\S+)$/i.exec(expression ?? '')?.[1];
  if (every !== undefined) return intervalWords(every);
  const given = (NICKNAMES.get(expression ?? '') ?? expression ?? '').split(/\s+/);
  const fields = given.length === 6 ? given : ['0', ...given];
  if (fields.length !== 6) return null;
  const [second, minute, hour, day, month, weekday] = fields as [string, string, string, string, string, string];
  const time = second === '0' ? timeWords(minute, hour) : secondWords(second, minute, hour);
  const days = dayWords(day, month, weekday);
  if (time === null || days === null) return null;
  return `${time}${days === '' ? '' : `, ${days}`}${zone === undefined ? '' : `, in ${zone}`}`;
}

function timeWords(minute: string, hour: string): string | null {
  const every = /^\*\/(\d+)$/;
  const everyMinutes = every.exec(minute)?.[1];
  const everyHours = every.exec(hour)?.[1];
  if (minute === '*' && hour === '*') return 'Every minute';
  if (everyMinutes !== undefined && hour === '*') return everyWords(everyMinutes, 'minute');
  if (!/^\d+$/.test(minute)) return null;
  const atMinute = minute === '0' ? '' : `, at minute ${minute}`;
  if (hour === '*') return `Every hour${atMinute}`;
  if (everyHours !== undefined) return `${everyWords(everyHours, 'hour')}${atMinute}`;
  if (!/^\d+(?:,\d+)*$/.test(hour)) return null;
  return `At ${listWords(hour.split(',').map((each) => `${each.padStart(2, '0')}:${minute.padStart(2, '0')}`))}`;
}

function intervalWords(duration: string): string {
  const [, count, unit] = /^(\d+)([smhd])$/.exec(duration) ?? [];
  const name = unit && UNITS.get(unit);
  return count !== undefined && name ? everyWords(count, name) : `Every ${duration}`;
}

function secondWords(second: string, minute: string, hour: string): string | null {
  const everySeconds = second === '*' ? '1' : /^\*\/(\d+)$/.exec(second)?.[1];
  if (minute === '*' && hour === '*' && everySeconds !== undefined) return everyWords(everySeconds, 'second');
  if (![second, minute, hour].every((each) => /^\d+$/.test(each))) return null;
  return `At ${[hour, minute, second].map((each) => each.padStart(2, '0')).join(':')}`;
}

const everyWords = (count: string, unit: string) => (count === '1' ? `Every ${unit}` : `Every ${count} ${unit}s`);

function dayWords(day: string, month: string, weekday: string): string | null {
  const months = month === '*' ? '' : nameList(month, MONTHS);
  if (months === null) return null;
  const inMonths = months === '' ? '' : ` of ${months}`;
  if (day === '*' && weekday === '*') return months === '' ? '' : `every day${inMonths}`;
  if (day === '*') {
    const names = weekday === '1-5' ? 'Monday to Friday' : nameList(weekday, WEEKDAYS);
    return names === null
      ? null
      : `${weekday.includes('-') ? '' : 'on '}${names}${months === '' ? '' : ` in ${months}`}`;
  }
  if (weekday !== '*' || !/^\d+(?:,\d+)*$/.test(day)) return null;
  return `on day ${listWords(day.split(','))}${months === '' ? ' of the month' : inMonths}`;
}

function nameList(field: string, names: readonly string[]): string | null {
  const range = /^(\d+)-(\d+)$/.exec(field);
  if (range) {
    const [from, to] = [names[Number(range[1])], names[Number(range[2])]];
    return from && to ? `${from} to ${to}` : null;
  }
  const found = field.split(',').map((each) => (/^\d+$/.test(each) ? names[Number(each)] : undefined));
  return found.every((name) => name) ? listWords(found as string[]) : null;
}

function listWords(words: readonly string[]): string {
  if (words.length < 2) return words.join('');
  return `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;
}
