// Runs tests in a copy of the project and tells which passed and which failed.

import { spawn } from 'node:child_process';

/** What a test has started may keep the run from ending. */
const RUN_MS_MAX = 300_000;

export interface TestRun {
  /** Below the copy. */
  readonly files: readonly string[];
  /** Only tests whose names contain one of these. All, if there is none. */
  readonly words: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** A bug may make a test wait for ever. */
  readonly testMsMax: number;
}

export interface Outcome {
  /** Also false when the run never ended. */
  readonly isPassed: boolean;
  readonly passed: readonly string[];
  readonly failed: readonly string[];
  readonly output: string;
}

export function runTests(copy: string, { files, words, env, testMsMax }: TestRun): Promise<Outcome> {
  const flags = [
    '--test',
    '--test-concurrency=2',
    `--test-timeout=${testMsMax}`,
    '--test-reporter=tap',
    '--test-force-exit',
  ];
  const named = words.map((each) => `--test-name-pattern=${RegExp.escape(each)}`);
  // A group of its own: what the tests have started ends with them.
  const child = spawn(process.execPath, [...flags, ...named, ...files], {
    cwd: copy,
    // To show how two large values differ may take all memory of the machine.
    env: { ...process.env, NODE_OPTIONS: '--max-old-space-size=2048', ...env },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const timer = setTimeout(() => endGroup(child.pid!), RUN_MS_MAX);
  return new Promise((resolve) => {
    child.once('close', (code) => {
      clearTimeout(timer);
      endGroup(child.pid!);
      resolve({ isPassed: code === 0, passed: namesOf(output, 'ok'), failed: namesOf(output, 'not ok'), output });
    });
  });
}

/** With what its tests have started and left behind. */
function endGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // Nothing is left of it.
  }
}

/** Of tests, suites and files, the innermost first. Those that were skipped or are to be done do not count. */
function namesOf(output: string, result: 'ok' | 'not ok'): string[] {
  const lines = output.matchAll(new RegExp(`^( *)${result} \\d+ - (.*)$`, 'gm'));
  return [...lines]
    .map(([, indent, name]) => ({ depth: indent!.length, name: name!.replaceAll('\\#', '#') }))
    .filter(({ name }) => !/ # (SKIP|TODO)/.test(name))
    .sort((a, b) => b.depth - a.depth)
    .map(({ name }) => name);
}
