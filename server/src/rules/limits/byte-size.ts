// Sizes in bytes as people write them: `64MiB`, `10MB`, `512`. Binary units contain an "i", decimal units do not.

const UNITS: readonly (readonly [name: string, bytes: number])[] = [
  ['GiB', 1024 ** 3],
  ['MiB', 1024 ** 2],
  ['KiB', 1024],
  ['GB', 1e9],
  ['MB', 1e6],
  ['KB', 1e3],
  ['B', 1],
];

/** The number of bytes, or null when the text is not a size. The case of the unit does not matter. */
export function parseByteSize(text: string): number | null {
  const match = /^(\d{1,15}) ?([a-z]*)$/i.exec(text);
  if (!match) return null;
  const [, digits, unit = ''] = match;
  const factor = unit === '' ? 1 : UNITS.find(([name]) => name.toLowerCase() === unit.toLowerCase())?.[1];
  const bytes = Number(digits) * (factor ?? Number.NaN);
  return Number.isSafeInteger(bytes) ? bytes : null;
}

/** The shortest exact way to write a size in binary units: `100MiB`, or `1000` where no unit fits. */
export function formatByteSize(bytes: number): string {
  const fit = UNITS.find(([name, size]) => name.endsWith('iB') && bytes >= size && bytes % size === 0);
  return fit === undefined ? String(bytes) : `${bytes / fit[1]}${fit[0]}`;
}
