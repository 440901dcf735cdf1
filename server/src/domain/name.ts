// The one rule for the names users give to queues, topics and schedules. It judges the form only: whether something
// of that name exists is the store's to say.

export const NAME_LENGTH_MAX = 128;

/** The rule in words, for messages to people. */
export const NAME_RULE = `1 to ${NAME_LENGTH_MAX} letters, digits, "-", "_" or "."`;

const NAME = new RegExp(`^[A-Za-z0-9._-]{1,${NAME_LENGTH_MAX}}$`);

export function isName(text: string): boolean {
  return NAME.test(text);
}
