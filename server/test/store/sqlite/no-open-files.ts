// Writes to a store while the process can open no further file, then when it can again. Prints the bytes of the database
// file that were moved while it could.

import { closeSync, openSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DATABASE_FILE } from '../../../src/store/sqlite/files/directory.ts';
import { threadExecutor } from '../../../src/store/sqlite/thread/executor.ts';
import type { Command } from '../../../src/store/sqlite/thread/verbs.ts';
import { ACCOUNT, KEYS, message, NOW } from '../../conformance/given.ts';
import { waitFor } from '../../support/wait.ts';

const MIB = 1024 * 1024;
const directory = process.argv[2]!;
const file = join(directory, DATABASE_FILE);
const executor = await threadExecutor(directory);
const account = { id: ACCOUNT, name: 'one', tier: 'free', createdAt: NOW };
await executor.execute([{ verb: 'createAccount', args: [account, KEYS] } satisfies Command], 'nod_a');
let written = 0;
/** The writer itself would move it only at 31 MiB. */
async function write(count: number): Promise<void> {
  for (let left = count; left > 0; left -= 1) {
    const messages = [message({ id: `msg_${written}`, body: Buffer.alloc(MIB, written) })];
    const accept: Command = { verb: 'accept', args: [{ messages, leases: [], node: 'nod_a', now: NOW, dayMax: null }] };
    await executor.execute([accept], 'nod_a');
    written += 1;
  }
}

const files: number[] = [];
try {
  while (true) files.push(openSync('/dev/null', 'r'));
} catch {
  // As many as it may.
}
await write(50);
await executor.emptyLog!();
const moved = statSync(file).size;
if (moved < 50 * MIB) throw new Error(`only ${moved} bytes are in the database`);
for (const each of files) closeSync(each);
await write(20);
await waitFor('the log is copied beside the writer', () => statSync(file).size > moved + 8 * MIB);
await executor.close();
console.log(`${written} written`);
