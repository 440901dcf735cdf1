// The exit codes of every command. Scripts depend on them, so a code never changes its meaning.

export const EXIT = {
  done: 0,
  failed: 1,
  usage: 2,
  storeAway: 3,
  outdated: 4,
  unreachable: 5,
  denied: 6,
  notFound: 7,
  notDelivered: 8,
  different: 9,
  interrupted: 130,
  terminated: 143,
} as const;

export const EXIT_MEANINGS: readonly (readonly [code: number, meaning: string])[] = [
  [EXIT.done, 'success. Also when the reader of a pipe has ended (`| head -1`)'],
  [EXIT.failed, 'failure: the service refused the call, a check found a problem, or the start failed'],
  [
    EXIT.usage,
    'wrong usage: an unknown command or flag, a missing argument, a value that cannot be used. Nothing was done',
  ],
  [EXIT.storeAway, 'serve, dev: stopped, but the store did not respond at the end'],
  [EXIT.outdated, 'serve, dev: stopped, because a newer program took over the store'],
  [EXIT.unreachable, 'the service does not respond, or something else responds at its address'],
  [EXIT.denied, 'the token is missing, wrong, or lacks the scope'],
  [EXIT.notFound, 'the service has no such message, queue or other thing'],
  [EXIT.notDelivered, 'with --wait: the message has failed, was cancelled, or was not delivered in time'],
  [EXIT.different, 'apply --dry-run --exit-code: the file and the service differ'],
  [EXIT.interrupted, 'stopped by Ctrl-C'],
  [EXIT.terminated, 'stopped by SIGTERM'],
];

export function interruptedExit(signal: AbortSignal): number {
  return signal.reason === 'SIGTERM' ? EXIT.terminated : EXIT.interrupted;
}
