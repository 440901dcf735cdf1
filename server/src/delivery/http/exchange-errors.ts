// How an exchange on an established connection can fail, apart from errors of the system.

/** The response cannot be read as HTTP. The message continues "response is not HTTP:" and is for people. */
export class NotHttpError extends Error {}

/** The receiver closed the connection. */
export class ClosedError extends Error {}

/** A reused connection was closed before the request was written. Not a byte of it was sent. */
export class UnwrittenError extends Error {}
