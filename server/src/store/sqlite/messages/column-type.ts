// The column type for each kind of value.

import type { Kind } from '../../rows/message-fields.ts';

export function columnType(kind: Kind): string {
  if (kind === 'integer' || kind === 'bigint' || kind === 'flag') return 'INTEGER';
  return kind === 'bytes' ? 'BLOB' : 'TEXT';
}
