// A process of a measurement: what it last said, and what it has cost.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

export class Child {
  readonly process: ChildProcess;
  /** The fields of all lines of JSON it has written, the newest of each name. */
  readonly said: Record<string, unknown> = {};
  #stderr = '';

  constructor(argv: readonly string[], env: Readonly<Record<string, string>> = {}) {
    this.process = spawn(process.execPath, argv, {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    createInterface({ input: this.process.stdout! }).on('line', (line) => Object.assign(this.said, JSON.parse(line)));
    this.process.stderr!.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-2000);
    });
  }

  async says<T>(name: string): Promise<T> {
    while (this.said[name] === undefined) {
      if (this.process.exitCode !== null) throw new Error(`it ended: ${this.#stderr}`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    return this.said[name] as T;
  }

  number(name: string): number {
    return Number(this.said[name] ?? 0);
  }

  get cpuMs(): number {
    return cpuMsOf(this.process.pid!);
  }

  async end(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return;
    this.process.kill(signal);
    await once(this.process, 'close');
  }
}

const TICK_MS = 10;

/** Of a process and those of its children that have ended, from Linux's own books; 0 elsewhere. */
export function cpuMsOf(pid: number): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
    return (Number(fields[11]) + Number(fields[12]) + Number(fields[13]) + Number(fields[14])) * TICK_MS;
  } catch {
    return 0;
  }
}

/** Of the children of a process, those that live. */
export function cpuMsOfChildren(pid: number): number {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean);
    return children.reduce((sum, child) => sum + cpuMsOf(Number(child)), 0);
  } catch {
    return 0;
  }
}
