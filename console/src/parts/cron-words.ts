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

/** The expression in words. Null when there are no simple words for it. */
export function cronWords(cron: string): string | null {
  const [, zone, expression] = /^(?:(?:CRON_)?TZ=(\S+)\s+)?(.*)$/s.exec(cron.trim()) ?? [];
  const fields = (NICKNAMES.get(expression ?? '') ?? expression ?? '').split(/\s+/);
  if (fields.length !== 5) return null;
  const [minute, hour, day, month, weekday] = fields as [string, string, string, string, string];
  const time = timeWords(minute, hour);
  const days = dayWords(day, month, weekday);
  if (time === null || days === null) return null;
  return `${time}${days === '' ? '' : `, ${days}`}${zone === undefined ? '' : `, in ${zone}`}`;
}

function timeWords(minute: string, hour: string): string | null {
  const every = /^\*\/(\d+)$/;
  const everyMinutes = every.exec(minute)?.[1];
  const everyHours = every.exec(hour)?.[1];
  if (minute === '*' && hour === '*') return 'Every minute';
  if (everyMinutes !== undefined && hour === '*') return `Every ${everyMinutes} minutes`;
  if (!/^\d+$/.test(minute)) return null;
  if (hour === '*') return minute === '0' ? 'Every hour' : `Every hour, at minute ${minute}`;
  if (everyHours !== undefined) return `Every ${everyHours} hours${minute === '0' ? '' : `, at minute ${minute}`}`;
  if (!/^\d+(?:,\d+)*$/.test(hour)) return null;
  return `At ${listWords(hour.split(',').map((each) => `${each.padStart(2, '0')}:${minute.padStart(2, '0')}`))}`;
}

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
