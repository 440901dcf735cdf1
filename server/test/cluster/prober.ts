// Asks nodes again and again, while their database is away and until they are well again, to publish and whether they
// are ready; and judges what they answered and how soon.

import { setTimeout as wait } from 'node:timers/promises';
import type { Publishers, Target } from '../crash/publishers.ts';

const PAUSE_MS = 50;
const ANSWER_MS_MAX = 10_000;

export interface Asked {
  readonly name: string;
  readonly target: Target;
}

interface Probe {
  readonly what: string;
  readonly askedMs: number;
  readonly endedMs: number;
  /** A word when there was no answer. */
  readonly status: number | string;
}

export interface Probed {
  readonly probes: number;
  /** The longest that anybody waited for an answer while the database was away. */
  readonly refusedMsMax: number;
  /** From the moment it was back until everybody asked was well again. */
  readonly wellMs: number;
  readonly problems: readonly string[];
}

export class Prober {
  readonly #publishers: Publishers;
  readonly #probes: Probe[] = [];
  readonly #loops: Promise<number>[];
  readonly #startedMs = performance.now();
  #backMs = Number.POSITIVE_INFINITY;
  #isGivenUp = false;

  private constructor(publishers: Publishers, asked: readonly Asked[]) {
    this.#publishers = publishers;
    this.#loops = asked.flatMap(({ name, target }) => [
      this.#run(`${name} publish`, () => this.#publish(target)),
      this.#run(`${name} readyz`, () => isReady(target)),
    ]);
  }

  /** Asks as long as `away` takes, at whose end the database is back, and on until everybody is well again. */
  static async during(
    publishers: Publishers,
    asked: readonly Asked[],
    away: () => Promise<void> = async () => {},
  ): Promise<Probed> {
    const prober = new Prober(publishers, asked);
    try {
      await away();
      return await prober.#well();
    } finally {
      prober.#isGivenUp = true;
    }
  }

  async #well(): Promise<Probed> {
    this.#backMs = performance.now();
    const wellMs = Math.max(0, ...(await Promise.all(this.#loops)).map((atMs) => atMs - this.#backMs));
    const away = this.#probes.filter(({ askedMs }) => askedMs < this.#backMs);
    return {
      probes: this.#probes.length,
      refusedMsMax: Math.max(0, ...away.map(({ askedMs, endedMs }) => endedMs - askedMs)),
      wellMs,
      problems: this.#probes.flatMap((probe) => this.#judge(probe)),
    };
  }

  #judge({ what, askedMs, endedMs, status }: Probe): string[] {
    const when = `${Math.round(askedMs - this.#startedMs)} ms into the outage`;
    if (isGood(status) ? endedMs < this.#backMs : status !== 503) return [`${what} answered ${status}, asked ${when}`];
    return [];
  }

  /** Answers when it was well: at the first good answer after the database is back. */
  async #run(what: string, ask: () => Promise<number | string>): Promise<number> {
    for (;;) {
      const askedMs = performance.now();
      const status = await ask();
      const endedMs = performance.now();
      this.#probes.push({ what, askedMs, endedMs, status });
      if (endedMs > this.#backMs && (isGood(status) || endedMs > this.#backMs + ANSWER_MS_MAX)) return endedMs;
      if (this.#isGivenUp) return endedMs;
      await wait(PAUSE_MS);
    }
  }

  async #publish(target: Target): Promise<number | string> {
    const answer = await this.#publishers.probe(target);
    return typeof answer === 'string' ? answer : answer.status;
  }
}

function isGood(status: number | string): boolean {
  return status === 200 || status === 201;
}

async function isReady({ api }: Target): Promise<number | string> {
  try {
    const response = await fetch(`${api}/readyz`, { signal: AbortSignal.timeout(ANSWER_MS_MAX) });
    await response.text();
    return response.status;
  } catch (error) {
    return (error as Error).name;
  }
}
