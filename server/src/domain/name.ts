// The one rule for the names users give to queues, topics and schedules. It judges the form only: whether something
// of that name exists is the store's to say.

export const NAME_LENGTH_MAX = 128;

/** The rule in words, for messages to people. */
export const NAME_RULE = `1 to ${NAME_LENGTH_MAX} letters, digits, "-", "_" or "."`;

const NAME = new RegExp(`^[A-Za-z0-9._-]{1,${NAME_LENGTH_MAX}}$`);

export function isName(text: string): boolean {
  return NAME.test(text);
}

/** What the public QStash clients may call an endpoint of a topic. Nobody has to write it into a path or a header. */
export const TEXT_NAME_RULE = `1 to ${NAME_LENGTH_MAX} characters, none of them a control character`;

export function isTextName(text: string): boolean {
  // Whole characters only: a half of one cannot be stored.
  return text.isWellFormed() && !/\p{Cc}/u.test(text) && text !== '' && [...text].length <= NAME_LENGTH_MAX;
}
