// `postrider restore`: puts a backup into an empty directory, reads it back, and says what to do next.

import { restoreStore } from '../../../server/src/node/main.ts';
import type { Invocation } from '../frame/command.ts';
import { EXIT } from '../frame/exit-codes.ts';
import { Failure } from '../frame/failure.ts';
import { countOf } from '../frame/output.ts';
import { printable } from '../frame/printable.ts';
import { sizeText } from './size-text.ts';

const DIRECTORY_BY_DEFAULT = 'postrider-data';

export async function restore({ given, out, io }: Invocation): Promise<number> {
  if (!given.has('data') && io.env.POSTRIDER_STORE) {
    throw new Failure('POSTRIDER_STORE names a database, and this command is for a data directory', {
      exit: EXIT.usage,
      hint: 'PostgreSQL restores with its own tools: pg_restore, or a base backup with its log. Name a directory with --data otherwise.',
    });
  }
  if (given.text('data') === '') {
    throw new Failure('--data is empty: is a shell variable not set?', { exit: EXIT.usage });
  }
  const directory = given.text('data') ?? (io.env.POSTRIDER_DATA || DIRECTORY_BY_DEFAULT);
  // SQLite blocks this process while it reads, and a handler would run only afterwards. Without a handler, a signal
  // ends the process at once. That is safe: the copy gets the name of a database only after it was read.
  for (const signal of ['SIGINT', 'SIGTERM']) process.removeAllListeners(signal);
  let restored: ReturnType<typeof restoreStore>;
  try {
    restored = restoreStore(given.words[0]!, directory);
  } catch (error) {
    throw new Failure((error as Error).message, { hint: 'Nothing was restored.' });
  }
  const { path, bytes, rows } = restored;
  const counts = new Map(rows.map(({ table, rows: count }) => [table, count]));
  if (out.isJson) out.json({ path, bytes, rows: Object.fromEntries(counts) });
  else {
    out.line(
      `${printable(path)}: ${sizeText(bytes)}, ${countOf(counts.get('messages')!, 'message')} and ${countOf(counts.get('accounts')!, 'account')}, written and checked.`,
    );
    out.note(
      `Next: postrider serve --data ${directory}. The tokens are those of the backup.\n` +
        'Messages that were open at the backup are delivered, even if they were delivered since. Start the new service only when the old one no longer runs.',
    );
  }
  return EXIT.done;
}
