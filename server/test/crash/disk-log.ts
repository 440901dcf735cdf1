// The log that power-loss-shim.c writes, record by record.

export type DiskRecord = { readonly file: number; readonly start: number; readonly end: number } & (
  | { readonly kind: 'started' }
  | { readonly kind: 'found' | 'created' | 'unlinked'; readonly name: string }
  | { readonly kind: 'written'; readonly offset: number; readonly bytes: Buffer }
  | { readonly kind: 'truncated'; readonly size: number }
  | { readonly kind: 'flushed' | 'flushFailed' }
);

/** What `file` says when the directory itself was flushed. */
export const THE_DIRECTORY = 0xffffffff;

const HEADER_BYTES = 24;
const KINDS = [
  null,
  'started',
  'found',
  'created',
  'unlinked',
  'written',
  'truncated',
  'flushed',
  'flushFailed',
] as const;

/** A record that the end of the process cut off is not there. */
export function readDiskLog(log: Buffer): DiskRecord[] {
  const records: DiskRecord[] = [];
  for (let start = 0; start + HEADER_BYTES <= log.length; ) {
    const end = start + HEADER_BYTES + log.readUInt32LE(start + 16);
    if (end > log.length) break;
    records.push(readRecord(log, start, end));
    start = end;
  }
  return records;
}

function readRecord(log: Buffer, start: number, end: number): DiskRecord {
  const kind = KINDS[log.readUInt32LE(start)];
  const at = { file: log.readUInt32LE(start + 4), start, end };
  const offset = Number(log.readBigUInt64LE(start + 8));
  const bytes = log.subarray(start + HEADER_BYTES, end);
  switch (kind) {
    case 'started':
    case 'flushed':
    case 'flushFailed':
      return { ...at, kind };
    case 'found':
    case 'created':
    case 'unlinked':
      return { ...at, kind, name: bytes.toString() };
    case 'written':
      return { ...at, kind, offset, bytes };
    case 'truncated':
      return { ...at, kind, size: offset };
    default:
      throw new Error(`the log of the disk has an unknown record at ${start}`);
  }
}
