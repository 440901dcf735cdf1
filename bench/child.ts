// A process of a measurement: what it last said, and what it has cost.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { wait } from './clock.ts';

const START_MS_MAX = 60_000;
/** None outlives the measurement. */
const LIVING = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of LIVING) child.kill('SIGKILL');
});

export interface ChildOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Node.js itself, unless given. */
  readonly command?: string;
  readonly cwd?: string;
}

export class Child {
  readonly process: ChildProcess;
  /** The fields of all lines of JSON it has written, the newest of each name. */
  readonly said: Record<string, unknown> = {};
  #stderr = '';
  /** There is no such command. */
  #isMissing = false;

  constructor(argv: readonly string[], { env = {}, command = process.execPath, cwd }: ChildOptions = {}) {
    this.process = spawn(command, argv, {
      env: { ...process.env, ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
      ...(cwd !== undefined && { cwd }),
    });
    this.process.stdin!.on('error', () => {});
    this.process.on('error', (error) => {
      this.#keep(`${error.message}\n`);
      this.#isMissing = true;
    });
    createInterface({ input: this.process.stdout! }).on('line', (line) => {
      if (line.startsWith('{')) Object.assign(this.said, JSON.parse(line));
      else this.#keep(`${line}\n`);
    });
    this.process.stderr!.setEncoding('utf8').on('data', (text: string) => this.#keep(text));
    LIVING.add(this.process);
    this.process.once('close', () => LIVING.delete(this.process));
  }

  async says<T>(name: string, isEnough: (value: unknown) => boolean = (value) => value !== undefined): Promise<T> {
    const deadline = performance.now() + START_MS_MAX;
    while (!isEnough(this.said[name])) {
      if (this.hasEnded) throw new Error(`it ended: ${this.#stderr}`);
      if (performance.now() > deadline) throw new Error(`the process did not print ${name} in time: ${this.#stderr}`);
      await wait(5);
    }
    return this.said[name] as T;
  }

  /** Closes a stretch of the measurement; what it then says is about that stretch. */
  async mark(): Promise<void> {
    const before = this.number('marks');
    this.process.stdin!.write('\n');
    await this.says('marks', (marks) => Number(marks ?? 0) > before);
  }

  number(name: string): number {
    return Number(this.said[name] ?? 0);
  }

  get hasEnded(): boolean {
    return this.#isMissing || this.process.exitCode !== null || this.process.signalCode !== null;
  }

  get output(): string {
    return this.#stderr;
  }

  get cpuMs(): number {
    return cpuMsOf(this.process.pid!);
  }

  get rssBytes(): number {
    return rssBytesOf(this.process.pid!);
  }

  async end(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    if (this.hasEnded) return;
    this.process.kill(signal);
    await once(this.process, 'close');
  }

  #keep(text: string): void {
    this.#stderr = (this.#stderr + text).slice(-2000);
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
  return childrenOf(pid).reduce((sum, child) => sum + cpuMsOf(child), 0);
}

export function childrenOf(pid: number): number[] {
  try {
    const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
    return text.trim().split(' ').filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

function rssBytesOf(pid: number): number {
  try {
    return Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}
