// The program with more migrations than it has, as a newer version of it: a copy of the sources in a folder of its own.

import { cpSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Cleanup } from '../support/receiver.ts';

const SERVER = join(import.meta.dirname, '..', '..');
const MIGRATIONS = join('src', 'store', 'postgres', 'migrations');

export class NewerProgram {
  readonly bin: string;
  readonly #migrations: string;
  #version: number;

  constructor(t: Cleanup) {
    const folder = mkdtempSync(join(tmpdir(), 'postrider-newer-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const server = join(folder, 'server');
    for (const part of ['bin', 'src', 'package.json'])
      cpSync(join(SERVER, part), join(server, part), { recursive: true });
    // Copied, not linked: a module is loaded from where a link leads, and so would be the service behind it.
    cpSync(join(SERVER, '..', 'cli', 'src'), join(folder, 'cli', 'src'), { recursive: true });
    cpSync(join(SERVER, '..', 'cli', 'package.json'), join(folder, 'cli', 'package.json'));
    for (const part of ['node_modules', 'console']) symlinkSync(join(SERVER, '..', part), join(folder, part));
    this.bin = join(server, 'bin', 'postrider.js');
    this.#migrations = join(server, MIGRATIONS);
    this.#version = readdirSync(this.#migrations).length;
  }

  /** Processes that were started before do not know it. */
  add(sql: string): void {
    this.#version += 1;
    writeFileSync(join(this.#migrations, `${String(this.#version).padStart(4, '0')}-newer.sql`), `${sql}\n`);
  }
}
