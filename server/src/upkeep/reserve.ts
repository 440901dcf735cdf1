// A file in the data directory that only reserves space. On a full disk it is deleted, so that deliveries can end and
// deletes can be written.

import { existsSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';

const NAME = 'reserve';
const PIECE_BYTES = 1024 * 1024;

export interface Reserve {
  isThere(): boolean;
  /** Creates the file. Leaves nothing behind if there is too little space. */
  make(): Promise<void>;
  release(): void;
}

/** `isMaker`: whether this lane creates the file; only one lane does. `onChange`: the file was created or released. */
export function reserveFile(
  directory: string,
  bytes: number,
  isMaker: boolean,
  onChange: (isThere: boolean) => void,
): Reserve {
  const path = join(directory, NAME);
  const remove = () => rmSync(path, { force: true });
  return {
    isThere: () => existsSync(path),
    async make() {
      if (!isMaker || bytes === 0) return;
      try {
        const file = await open(path, 'w', 0o600);
        try {
          // The file is written and not only set to its size: a sparse file reserves nothing.
          const piece = Buffer.alloc(Math.min(PIECE_BYTES, bytes), 1);
          // A disk that is nearly full may take a part of a piece.
          for (let at = 0; at < bytes; )
            at += (await file.write(piece, 0, Math.min(piece.length, bytes - at))).bytesWritten;
        } finally {
          await file.close();
        }
        onChange(true);
      } catch {
        // The disk became full meanwhile. The next try is when there is space.
        remove();
      }
    },
    release() {
      if (!existsSync(path)) return;
      remove();
      onChange(false);
    },
  };
}
