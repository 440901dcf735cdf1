// One clock for all processes of a measurement: microseconds of this machine's monotonic clock. A message carries the
// instant at which it was meant to be sent in its first bytes, so that whoever receives it knows how long it took.

const START_US = Number(process.hrtime.bigint() / 1000n) - performance.now() * 1000;

export const STAMP_LENGTH = 16;

export function nowUs(): number {
  return START_US + performance.now() * 1000;
}

export function stampOf(us: number): string {
  return String(Math.round(us)).padStart(STAMP_LENGTH, '0');
}

/** Null for a body that carries no instant. */
export function readStamp(text: string, at: number): number | null {
  const us = Number(text.slice(at, at + STAMP_LENGTH));
  return Number.isSafeInteger(us) && us > 0 ? us : null;
}

export function wait(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
