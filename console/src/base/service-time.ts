// The current time of the service's clock. It is this machine's time, unless the service runs with a manual clock: then
// ages and countdowns use the manual clock.

import type { ServiceClock } from 'postrider-sdk';

let manual: { readonly at: number; readonly isRunning: boolean; readonly readAtMs: number } | null = null;

/** Takes over the clock from a response of the service. */
export function setServiceClock({ now, clock }: ServiceClock): void {
  manual = clock === 'real' ? null : { at: now, isRunning: clock === 'running', readAtMs: Date.now() };
}

export function serviceNow(): number {
  if (!manual) return Date.now();
  return manual.isRunning ? manual.at + Date.now() - manual.readAtMs : manual.at;
}
