// Tests neither wait for a time nor measure one: a busy machine takes longer for everything. They wait for what they
// expect (support/wait.ts), move the clock (support/manual-clock.ts), or count work (support/processor-time.ts).

/** By the end of the path: the reason why time itself is what the test is about. */
const ALLOWED: ReadonlyMap<string, string> = new Map([
  ['server/test/lanes/frozen.test.ts', 'a frozen process cannot be told the time'],
  ['server/test/store/postgres/postgres-live-events.test.ts', 'random pauses between writers'],
  ['server/test/store/postgres/postgres-turns.test.ts', 'a limit that only a failing test reaches'],
  ['server/test/store/postgres/postgres-listener.test.ts', 'a silent connection is noticed by the time it is silent'],
  ['server/test/store/migrate-store-kill.test.ts', 'a kill at a random moment'],
  ['server/test/cluster/cancelled.test.ts', 'processes whose clocks nobody moves; nothing may arrive afterwards'],
  ['server/test/cluster/drain-away.test.ts', 'a limit that only a failing test reaches'],
  ['server/test/cluster/refused-writes.test.ts', 'a limit that only a failing test reaches'],
  ['server/test/cluster/roles.test.ts', 'promptness itself; it has sixty tries'],
  ['server/test/cluster/sharing.test.ts', 'a rate is kept: it may take longer, never less'],
  ['server/test/outside/isolation/uploads.test.ts', 'an upload at a steady pace'],
  ['server/test/outside/publish/one-connection.test.ts', 'a pause so that the parts of a request arrive by themselves'],
  ['console/test/hostile.test.ts', 'a script that must not run gets the time to run'],
]);

const WALL_TIME = /\bperformance\.now\(|\bsetTimeout\(|\bwaitForTimeout\(|\bsetTimeout as \w+/g;

export const isTestFile = (path: string) => /^(?:server|cli|sdk|console)\/test\/.*\.test\.ts$/.test(path);

export function findWallTime(path: string, code: string): { readonly at: number; readonly message: string }[] {
  if (ALLOWED.has(path)) return [];
  return [...code.matchAll(WALL_TIME)].map(({ index, 0: found }) => ({
    at: index,
    message: `${found}: wait for a condition, move the clock or count work; the machine may be busy`,
  }));
}
