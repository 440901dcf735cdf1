// The latest time that any lane of this process has used. Each lane checks the wall clock separately, and may start
// with an older time than the others have by now. Messages of one queue come in through all lanes, so their order needs
// one time.

export interface SharedTime {
  /** The later of `at` and every time that was returned before, in whichever lane. */
  atLeast(at: number): number;
}

/** `memory` has eight bytes, and all lanes share it. */
export function sharedTime(memory: SharedArrayBuffer): SharedTime {
  const cell = new BigInt64Array(memory);
  return {
    atLeast(at) {
      const own = BigInt(at);
      for (;;) {
        const latest = Atomics.load(cell, 0);
        if (latest >= own) return Number(latest);
        if (Atomics.compareExchange(cell, 0, latest, own) === latest) return at;
      }
    },
  };
}
