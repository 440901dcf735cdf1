// The thread that makes a backup. The main thread stays free, so that the command can react to a signal.

import { parentPort, workerData } from 'node:worker_threads';
import { type BackupAnswer, type BackupWork, copyStore } from './backup.ts';

const say = (answer: BackupAnswer) => parentPort!.postMessage(answer);

try {
  say({ kind: 'done', rows: copyStore(workerData as BackupWork) });
} catch (error) {
  say({ kind: 'failed', message: (error as Error).message });
}
