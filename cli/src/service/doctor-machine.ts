// Checks what the service needs of this machine: a runtime, a disk, a store that opens, and a port.

import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join, resolve } from 'node:path';
import { openStoreForCommand, storeLocation } from '../../../server/src/node/main.ts';
import type { Config } from '../../../server/src/node/settings/config.ts';
import { VERSION } from '../../../server/src/shipped-files.ts';
import { sizeText } from './size-text.ts';

export interface Finding {
  readonly name: string;
  readonly state: 'ok' | 'warning' | 'wrong' | 'skipped';
  readonly says: string;
  readonly todo?: string;
}

export function finding(name: string, state: Finding['state'], says: string, todo?: string): Finding {
  return { name, state, says, ...(todo !== undefined && { todo }) };
}

/** The disk is reported as nearly full if less than this multiple of `minFreeDiskBytes` is free. */
const SPARE_FACTOR = 16;

export function checkProgram(): Finding {
  const { node, sqlite } = process.versions;
  return finding(
    'program',
    'ok',
    `postrider ${VERSION}, Node.js ${node}, SQLite ${sqlite ?? 'none'}, ${process.platform} ${process.arch}`,
  );
}

export function checkDirectory(config: Config): Finding[] {
  if (config.store !== null) return [];
  let folder = resolve(config.data);
  while (!existsSync(folder)) folder = dirname(folder);
  const isMade = folder === resolve(config.data);
  try {
    if (!statSync(folder).isDirectory()) {
      return [finding('directory', 'wrong', `${folder} is a file`, 'Choose another directory with --data.')];
    }
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return [
      finding(
        'directory',
        'wrong',
        `this user cannot write ${folder} (${code})`,
        'Give it to the user of the service with chown, or choose another with --data.',
      ),
    ];
  }
  const says = isMade ? `${folder} can be written` : `${resolve(config.data)} does not exist yet and can be created`;
  return [finding('directory', 'ok', says), checkDisk(folder, config.minFreeDiskBytes)];
}

function checkDisk(folder: string, freeBytesMin: number): Finding {
  const { bavail, bsize, ffree, files } = statfsSync(folder);
  const free = bavail * bsize;
  const says = `${sizeText(free)} free at ${folder}`;
  if (files > 0 && ffree === 0)
    return finding(
      'disk',
      'wrong',
      'no file can be created: the file system is out of inodes',
      'Remove files, or use another disk.',
    );
  if (free < freeBytesMin) {
    return finding(
      'disk',
      'wrong',
      `${says}: publishing is refused below ${sizeText(freeBytesMin)}`,
      'Free some space, or use a larger disk.',
    );
  }
  return free < freeBytesMin * SPARE_FACTOR
    ? finding(
        'disk',
        'warning',
        `${says}: publishing is refused below ${sizeText(freeBytesMin)}`,
        'Free some space soon.',
      )
    : finding('disk', 'ok', says);
}

export async function checkStoreOpens(config: Config): Promise<Finding> {
  const location = storeLocation(config);
  const isFile = config.store === null;
  if (isFile && !existsSync(join(config.data, 'postrider.db'))) {
    const isLost = existsSync(join(config.data, 'postrider.store'));
    return isLost
      ? finding(
          'store',
          'wrong',
          `the database of ${location} is missing`,
          'Put postrider.db back, or restore a backup: postrider restore.',
        )
      : finding('store', 'ok', `there is no store in ${location} yet: serve creates it`);
  }
  try {
    const store = await openStoreForCommand(config);
    try {
      await store.listAccounts();
    } finally {
      await store.close();
    }
    const more = isFile ? `, ${sizeText(statSync(join(config.data, 'postrider.db')).size)}` : '';
    return finding('store', 'ok', `the store in ${location} opens${more}`);
  } catch (error) {
    const { message } = error as Error;
    // The text of this error already says what to do about a newer store, or a store of another user.
    if (/run the newer version|run this as the user/.test(message)) return finding('store', 'wrong', message);
    const todo = isFile
      ? 'postrider check checks all of it. Restore a backup if it is damaged.'
      : 'Check --store, and whether the database runs.';
    return finding('store', 'wrong', message, todo);
  }
}

/** Checks that the port is free, or used by the running service: `servicePort` is its port, or null if none runs. */
export async function checkPort(config: Config, servicePort: number | null): Promise<Finding> {
  const { host, port } = config;
  if (port === servicePort) return finding('port', 'ok', `the service listens on port ${port}`);
  const server = createServer();
  const failed = await new Promise<NodeJS.ErrnoException | null>((done) => {
    server.once('error', done);
    server.listen(port, host, () => server.close(() => done(null)));
  });
  if (failed === null) return finding('port', 'ok', `${host}, port ${port} is free to listen on`);
  const todo =
    failed.code === 'EADDRINUSE'
      ? 'Another program listens there. Choose another port with --port.'
      : failed.code === 'EACCES'
        ? 'Only privileged users may listen on ports below 1024. Choose another with --port, and put a proxy in front.'
        : 'Choose an address of this machine with --host.';
  return finding('port', 'wrong', `cannot listen on ${host}, port ${port} (${failed.code})`, todo);
}
