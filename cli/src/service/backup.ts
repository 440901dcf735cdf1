// `postrider backup`: copies the store while a service runs, and reads the copy again before it gets its name. A signal
// removes the unfinished copy.

import { startBackup } from '../../../server/src/node/main.ts';
import type { Config } from '../../../server/src/node/settings/config.ts';
import { systemWorld } from '../../../server/src/runtime/world.ts';
import { EXIT } from '../frame/exit-codes.ts';
import { countOf } from '../frame/output.ts';
import { reportFailure } from './report-failure.ts';
import { sizeText } from './size-text.ts';

export async function runBackup(config: Config): Promise<number> {
  const { clock } = systemWorld();
  const startedMs = clock.monotonicMs();
  try {
    const backup = startBackup(config, clock.now());
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.once(signal, () => {
        backup.abandon();
        // The process ends by the signal itself, because an orderly exit would wait until SQLite has finished.
        process.kill(process.pid, signal);
      });
    }
    const { path, bytes, rows } = await backup.done;
    const seconds = (clock.monotonicMs() - startedMs) / 1000;
    const counts = Object.fromEntries(rows.map(({ table, rows: count }) => [table, count]));
    process.stdout.write(
      config.json
        ? `${JSON.stringify({ path, bytes, seconds, rows: counts })}\n`
        : `${path}: ${sizeText(bytes)}, ${countOf(counts.messages!, 'message')} and ${countOf(counts.accounts!, 'account')}, ` +
            `written and checked in ${seconds.toFixed(1)} s.\n` +
            'It contains message bodies and signing keys: protect it like the store itself.\n',
    );
    return 0;
  } catch (error) {
    const { message } = error as Error;
    const [text, hint] = [`postrider backup: ${message}. No backup was made.`, 'No backup was made.'];
    return reportFailure({ text, message, hint, exit: EXIT.failed }, config.json);
  }
}
