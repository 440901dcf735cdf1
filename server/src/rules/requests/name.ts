// The rule for the names that users give to queues, topics and schedules. It checks the form only: the store knows
// which names exist.

export const NAME_LENGTH_MAX = 128;

/** The rule as text, for error messages. */
export const NAME_RULE = `1 to ${NAME_LENGTH_MAX} letters, digits, "-", "_" or "."`;

const NAME = new RegExp(`^[A-Za-z0-9._-]{1,${NAME_LENGTH_MAX}}$`);

export function isName(text: string): boolean {
  return NAME.test(text);
}

/**
 * The rule for the name of a topic's endpoint, as the public QStash clients allow it. Such a name is never part of a
 * path or a header.
 */
export const ENDPOINT_NAME_RULE = `1 to ${NAME_LENGTH_MAX} characters, none of them a control character`;

export function isEndpointName(text: string): boolean {
  // An unpaired surrogate is refused, because it cannot be stored.
  return text.isWellFormed() && !/\p{Cc}/u.test(text) && text !== '' && [...text].length <= NAME_LENGTH_MAX;
}
