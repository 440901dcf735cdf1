// The features that rely on undocumented behaviour of Node.js, undici, pg and pino. Each feature has a file in this
// folder, which says what it relies on, and a self-test. A feature that fails its self-test is not used: the service
// uses the documented way instead, and the log says so once.

import { systemWorld } from '../world.ts';

/** How long a self-test may take. It takes so long only if the feature does not work. */
const PATIENCE_S = 10;

/** What is different without each feature, as text for operators. */
export const FEATURES = {
  httpReader: 'every request is read by node:http, as with --http-reader node; a publish costs more CPU time',
  requestBody: 'bodies that node:http reads come through the events of a stream; a large publish costs more CPU time',
  halfOpen: 'a caller that closes its side of the connection after its request may get no response',
  writeQueue: 'a caller that reads one large response for longer than a minute may be disconnected',
  firstWrite: 'whether an attempt may still start is checked a moment earlier, before its request is written',
  answerGuard: 'responses of HTTPS destinations are read through one more stream; a delivery costs more CPU time',
  logLines: 'each attempt is written to the log with a separate call; a delivery costs more CPU time',
  databaseConnection: 'closing or checking a connection to the database takes one more message',
} as const;

export type Feature = keyof typeof FEATURES;

const broken = new Map<Feature, string>();
let report = (_feature: Feature, _why: string): void => {};

/** Ask once for each connection, not for each message: a self-test that runs later may still fail. */
export function isFeatureWorking(feature: Feature): boolean {
  return !broken.has(feature);
}

/** Calls `tell` for each feature that does not work, now or later. */
export function reportBrokenFeatures(tell: (feature: Feature, why: string) => void): void {
  report = tell;
  for (const [feature, why] of broken) tell(feature, why);
}

/**
 * Runs a self-test, which throws if the feature does not work. When `late` is aborted, the test has taken too long and
 * counts as failed. It must then close what it has opened: an open connection would keep the process alive.
 */
export async function testFeature(feature: Feature, test: (late: AbortSignal) => Promise<void> | void): Promise<void> {
  const patience = new Patience();
  try {
    await Promise.race([test(patience.late), patience.ended]);
  } catch (error) {
    if (broken.has(feature)) return;
    const why = error instanceof Error ? error.message : String(error);
    broken.set(feature, why);
    report(feature, why);
  } finally {
    patience.cancel();
  }
}

/**
 * Ends a self-test that takes too long. The time is counted in timers of one second, because after a pause of the
 * machine one long timer would end before the bytes that have arrived are read.
 */
class Patience {
  readonly #late = new AbortController();
  readonly ended: Promise<never>;
  cancel: () => void = () => {};

  constructor() {
    this.ended = new Promise((_, reject) => {
      this.late.addEventListener('abort', () => reject(this.late.reason), { once: true });
    });
    this.#wait(PATIENCE_S);
  }

  get late(): AbortSignal {
    return this.#late.signal;
  }

  #wait(seconds: number): void {
    this.cancel = systemWorld().clock.after(1000, () => {
      if (seconds > 1) this.#wait(seconds - 1);
      else this.#late.abort(new Error('something that was expected was not called'));
    });
  }
}

/** Fails a self-test unless `isSo`. */
export function expect(isSo: boolean, what: string): asserts isSo {
  if (!isSo) throw new Error(what);
}
