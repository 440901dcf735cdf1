// Prints on standard error why a command that works on a store has failed: as text, or with --json as the object that
// all other commands print.

export interface StoreFailure {
  /** The text for people, with the name of the command. */
  readonly text: string;
  readonly message: string;
  readonly hint?: string;
  readonly exit: number;
}

export function reportFailure({ text, message, hint, exit }: StoreFailure, isJson: boolean): number {
  const error = { message, ...(hint !== undefined && { hint }), exit };
  process.stderr.write(isJson ? `${JSON.stringify({ error })}\n` : `${text}\n`);
  return exit;
}
