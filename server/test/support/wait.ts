// Waiting for what a test expects to happen, instead of for a time.

/** Only a failing test waits so long: a busy machine must not be taken for a fault. */
const LIMIT_MS = 120_000;
const PAUSE_MS = 3;

/** Looks again and again until `condition` holds and answers what it then gave. Says what it waited for when it gives up. */
export async function waitFor<T>(
  what: string,
  condition: () => T | Promise<T>,
): Promise<Exclude<T, false | null | undefined>> {
  const endsAt = performance.now() + LIMIT_MS;
  for (;;) {
    const found = await condition();
    if (found !== false && found !== null && found !== undefined) return found as Exclude<T, false | null | undefined>;
    if (performance.now() > endsAt) throw new Error(`waited in vain: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}
